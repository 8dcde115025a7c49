#include "questions/two_devices/two_devices.hpp"
#include "runtime_questions.hpp"
#include "trace.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

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

const Sections *const lists[] = {&record::legacy::all,
                                 &record::per_thread::all,
                                 &record::legacy::all_of_runtime,
                                 &record::per_thread::all_of_runtime,
                                 &record::legacy::all_of_two_devices,
                                 &record::per_thread::all_of_two_devices};

// The limit for a section, so that a call that hangs does not prevent other sections.
constexpr unsigned int seconds_for_a_section = 120;

template <class Visitor>
void visit(Visitor visitor) {
    for (const Sections *list : lists) {
        for (unsigned int i = 0; i < list->count; ++i) {
            visitor(std::string(list->prefix) + list->first[i].name, list->first[i]);
        }
    }
}

// Runs in a child that has not used CUDA before, so that a sticky error does not affect later
// sections.
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
    int version = 0, count = 0;
    record::d.cuDriverGetVersion(&version);
    if (record::d.cuInit(0) == CUDA_SUCCESS) {
        record::d.cuDeviceGetCount(&count);
        record::d.cuDeviceGetName(name, sizeof name, 0);
    }
    std::printf("# %s, cuDriverGetVersion %d", name, version);
    std::puts(count > 1 ? (", " + std::to_string(count) + " devices").c_str() : "");
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

// Matches a whole name or its first words: "runtime" selects all sections about the runtime.
bool is_named(const std::string &section, const std::string &name) {
    return section == name || section.rfind(name + " ", 0) == 0;
}

bool is_wanted(const std::string &section, const std::vector<std::string> &names) {
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string &name) {
               return is_named(section, name);
           });
}

bool is_there(const std::string &name) {
    bool found = false;
    visit([&](const std::string &section, const Section &) {
        found = found || is_named(section, name);
    });
    return found;
}

int run_sections(const std::vector<std::string> &names) {
    if (!std::all_of(names.begin(), names.end(), is_there)) {
        std::fputs("no such section; `cushim-conformance list` prints all\n", stderr);
        return 1;
    }
    const rlimit none{0, 0}; // core files take seconds and change the reported status
    setrlimit(RLIMIT_CORE, &none);
    run_apart(print_head);
    visit([&](const std::string &name, const Section &section) {
        if (is_wanted(name, names)) {
            run(name, section);
        }
    });
    return 0;
}

int print_help(int status) {
    std::fputs("usage: cushim-conformance record [SECTION]...\n"
               "       cushim-conformance list\n"
               "Calls the CUDA driver of this machine and prints its results line by line.\n"
               "`list` prints the names of the sections. The first words of section names select\n"
               "all sections that begin with them.\n",
               status == 0 ? stdout : stderr);
    return status;
}

} // namespace

int main(int count, char **arguments) {
    const std::string command = count > 1 ? arguments[1] : "";
    if (command == "record") {
        return run_sections({arguments + 2, arguments + count});
    }
    if (command == "list" && count == 2) {
        visit([](const std::string &name, const Section &) { std::puts(name.c_str()); });
        return 0;
    }
    return print_help(command == "--help" ? 0 : 1);
}
