#include "runtime_questions.hpp"
#include "trace.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/wait.h>

namespace record {

void ask(const char *question, CUresult status) {
    std::printf("%-64s %d\n", question, static_cast<int>(status));
    std::fflush(stdout);
}

void note(const char *what, long long value) {
    std::printf("  %-62s = %lld\n", what, value);
    std::fflush(stdout);
}

void note(const char *what, const char *text) {
    std::printf("  %-62s = %s\n", what, text ? text : "(null)");
    std::fflush(stdout);
}

namespace {
CUcontext primary = nullptr;
}

bool start() {
    if (d.cuInit(0) != CUDA_SUCCESS || d.cuDevicePrimaryCtxRetain(&primary, 0) != CUDA_SUCCESS) {
        return false;
    }
    return d.cuCtxSetCurrent(primary) == CUDA_SUCCESS;
}

CUcontext context() {
    return primary;
}

} // namespace record

namespace {

using record::Section;
using record::Sections;

const Sections *const lists[] = {&record::legacy::all, &record::per_thread::all,
                                 &record::legacy::all_of_runtime,
                                 &record::per_thread::all_of_runtime};

// A question that hangs must not keep the others from being asked.
constexpr unsigned int seconds_for_a_section = 120;

template <class Visitor>
void visit(Visitor visitor) {
    for (const Sections *list : lists) {
        for (unsigned int i = 0; i < list->count; ++i) {
            visitor(std::string(list->prefix) + list->first[i].name, list->first[i]);
        }
    }
}

// In a child that has called nothing of CUDA before: a sticky error of one section must not be the next one's
// answer.
template <class Body>
int run_apart(Body body) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(seconds_for_a_section);
        body();
        std::exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

void print_head() {
    char name[256] = "no device";
    int version = 0;
    record::d.cuDriverGetVersion(&version);
    if (record::d.cuInit(0) == CUDA_SUCCESS) {
        record::d.cuDeviceGetName(name, sizeof name, 0);
    }
    std::printf("# %s, cuDriverGetVersion %d\n", name, version);
}

void run(const std::string &name, const Section &section) {
    const int status = run_apart([&] {
        record::trace::install();
        std::printf("== %s\n", name.c_str());
        std::fflush(stdout);
        section.run();
        record::trace::print();
    });
    if (status != 0) {
        std::printf("-- the section ended with status %d\n", status);
    }
}

bool is_wanted(const std::string &name, int count, char **names) {
    for (int i = 0; i < count; ++i) {
        if (name == names[i]) {
            return true;
        }
    }
    return count == 0;
}

int run_sections(int count, char **names) {
    const rlimit none{0, 0}; // a core file takes seconds, and changes the status that is told
    setrlimit(RLIMIT_CORE, &none);
    run_apart(print_head);
    int found = 0;
    visit([&](const std::string &name, const Section &section) {
        if (is_wanted(name, count, names)) {
            run(name, section);
            ++found;
        }
    });
    if (count > found) {
        std::fputs("there is no such section: see `cushim-conformance list`\n", stderr);
        return 1;
    }
    return 0;
}

int print_help(int status) {
    std::fputs("usage: cushim-conformance record [SECTION]...\n"
               "       cushim-conformance list\n"
               "Asks the CUDA driver of this machine what it answers, and prints it line by line;\n"
               "`list` names the sections of these questions.\n",
               status == 0 ? stdout : stderr);
    return status;
}

} // namespace

int main(int count, char **arguments) {
    const std::string command = count > 1 ? arguments[1] : "";
    if (command == "record") {
        return run_sections(count - 2, arguments + 2);
    }
    if (command == "list" && count == 2) {
        visit([](const std::string &name, const Section &) { std::puts(name.c_str()); });
        return 0;
    }
    return print_help(command == "--help" ? 0 : 1);
}
