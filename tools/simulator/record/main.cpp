#include "record.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace record {

const Section sections[] = {
    {"process", process},
    {"devices", devices},
    {"attributes", attributes},
    {"contexts", contexts},
    {"primary_context", primary_context},
    {"limits", limits},
    {"memory", memory},
    {"host_memory", host_memory},
    {"copies", copies},
    {"virtual_memory", virtual_memory},
    {"descriptors", descriptors},
    {"ipc", ipc},
    {"pools", pools},
    {"streams", streams},
    {"events", events},
    {"no_context", no_context},
    {"capture", capture},
    {"graphs", graphs},
    {"graph_updates", graph_updates},
    {"modules", modules},
    {"launches", launches},
    {"resolution", resolution},
};
const unsigned int section_count = sizeof sections / sizeof *sections;

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

int run_section(const char *name) {
    for (unsigned int i = 0; i < record::section_count; ++i) {
        if (std::strcmp(record::sections[i].name, name) == 0) {
            std::printf("== %s\n", name);
            record::sections[i].run();
            return 0;
        }
    }
    std::fprintf(stderr, "no section named '%s'\n", name);
    return 1;
}

// Each in a process of its own: a sticky error of one must not be the next one's answer.
int run_all(const char *program) {
    int driver = 0;
    record::d.cuDriverGetVersion(&driver);
    std::printf("# cuDriverGetVersion %d\n", driver);
    std::fflush(stdout);
    for (unsigned int i = 0; i < record::section_count; ++i) {
        const std::string command = "\"" + std::string(program) + "\" " + record::sections[i].name;
        if (const int status = std::system(command.c_str()); status != 0) {
            std::printf("-- the section ended with status %d\n", status);
            std::fflush(stdout);
        }
    }
    return 0;
}

} // namespace

int main(int count, char **arguments) {
    if (count > 1 && std::strcmp(arguments[1], "--help") == 0) {
        std::puts(
            "usage: cushim-record [SECTION]\n"
            "Asks the CUDA driver of this machine what it answers, and prints it line by line.");
        return 0;
    }
    return count > 1 ? run_section(arguments[1]) : run_all(arguments[0]);
}
