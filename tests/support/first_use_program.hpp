// The main of the programs that tests/bench and tests/gpu run: the time of one first use in a fresh
// process.
//
// usage: PROGRAM version|init|runtime|all [FILE WITH NAMES]
//
// Prints nanoseconds, and the result: the driver's version, the status of cuInit or of
// cudaDeviceSynchronize, or the number of names found.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// The part that each program implements.
struct Arguments {
    // File names, from FIRST_USE_DRIVER and FIRST_USE_RUNTIME.
    const char *driver = "libcuda.so.1";
    const char *runtime = nullptr;
    std::vector<std::string> names; // of all entry points
};
int first_version(const Arguments &arguments);
int first_init(const Arguments &arguments);
int first_runtime_call(const Arguments &arguments);
int resolve_all(const Arguments &arguments);

inline std::vector<std::string> lines_of(const char *file) {
    std::vector<std::string> lines;
    std::FILE *const open = std::fopen(file, "r");
    char line[256];
    while (open != nullptr && std::fscanf(open, "%255s", line) == 1) {
        lines.emplace_back(line);
    }
    return lines;
}

int main(int argc, char **argv) {
    using Clock = std::chrono::steady_clock;
    const auto is = [&](const char *word) { return argc > 1 && std::strcmp(argv[1], word) == 0; };
    int (*const use)(const Arguments &) = is("version")   ? first_version
                                          : is("init")    ? first_init
                                          : is("runtime") ? first_runtime_call
                                          : is("all")     ? resolve_all
                                                          : nullptr;
    if (use == nullptr) {
        return 2;
    }
    Arguments arguments;
    if (const char *driver = std::getenv("FIRST_USE_DRIVER")) {
        arguments.driver = driver;
    }
    arguments.runtime = std::getenv("FIRST_USE_RUNTIME");
    if (argc > 2) {
        arguments.names = lines_of(argv[2]);
    }
    (void)Clock::now(); // excludes the cost of the first use of the clock
    const auto begin = Clock::now();
    const int outcome = use(arguments);
    const auto passed = std::chrono::duration<double, std::nano>(Clock::now() - begin);
    std::printf("%.0f %d\n", passed.count(), outcome);
    return 0;
}
