#include "record.hpp"
#include "row.hpp"
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

namespace {
bool in_row = false;
}

Row::Row(const std::string &name) {
    std::printf("  %-62s =", (title + name).c_str());
    std::fflush(stdout); // the next call may end the process
    in_row = true;
}

Row::~Row() {
    in_row = false;
    std::puts("");
    std::fflush(stdout);
}

Asked ask(const std::string &question, int status) {
    if (in_row) {
        std::printf(" %d", status);
    } else {
        std::printf("%-64s %d\n", (title + question).c_str(), status);
    }
    std::fflush(stdout); // the next call may end the process
    return {status};
}

void note_number(const std::string &what, long long value) {
    note_text(what, std::to_string(value).c_str());
}

void note_text(const std::string &what, const char *text) {
    if (in_row) {
        std::printf(" (%s)", text ? text : "null");
        std::fflush(stdout);
        return;
    }
    std::printf("  %-62s = %s\n", (title + what).c_str(), text ? text : "(null)");
    std::fflush(stdout);
}

std::vector<const Section *> &sections() {
    static std::vector<const Section *> all;
    return all;
}

Section::Section(std::string the_name, void (*the_run)(), bool (*the_begin)())
    : name(std::move(the_name)), run(the_run), begin(the_begin) {
    sections().push_back(this);
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
using record::sections;

// The limit for a section, so that a call that hangs does not prevent other sections.
constexpr unsigned int seconds_for_a_section = 120;

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

void run(const Section &section) {
    const int status = run_apart([&] {
        record::trace::install();
        std::printf("== %s\n", section.name.c_str());
        std::fflush(stdout);
        if (section.begin == nullptr || section.begin()) {
            section.run();
        }
        record::trace::print();
    });
    if (status != 0) {
        std::printf("-- the section ended with status %d\n", status);
    }
}

// Matches a whole name or its first words: "runtime" selects all sections about the runtime.
bool is_named(const Section &section, const std::string &name) {
    return section.name == name || section.name.rfind(name + " ", 0) == 0;
}

bool is_there(const std::string &name) {
    return std::any_of(sections().begin(), sections().end(),
                       [&](const Section *section) { return is_named(*section, name); });
}

bool is_wanted(const Section &section, const std::vector<std::string> &names) {
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string &name) {
               return is_named(section, name);
           });
}

int run_sections(const std::vector<std::string> &names) {
    if (!std::all_of(names.begin(), names.end(), is_there)) {
        std::fputs("no such section; `cushim-conformance list` prints all\n", stderr);
        return 1;
    }
    const rlimit none{0, 0}; // core files take seconds and change the reported status
    setrlimit(RLIMIT_CORE, &none);
    run_apart(print_head);
    for (const Section *section : sections()) {
        if (is_wanted(*section, names)) {
            run(*section);
        }
    }
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
        for (const Section *section : sections()) {
            std::puts(section->name.c_str());
        }
        return 0;
    }
    return print_help(command == "--help" ? 0 : 1);
}
