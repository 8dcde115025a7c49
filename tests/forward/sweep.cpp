// If a library lacks one name, only that call fails. Each row has its own process, because a loaded
// library stays.
#include "fake_library.hpp"
#include "patched_library.hpp"
#include "rows.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace support;

namespace {

// The library lacks `missing`, whose call must return `status`.
struct Expected {
    const Rows &rows;
    const Row &missing;
    int status;
};

// These behave normally while the fake is not armed, so their results are not the rows' own.
const std::set<std::string> behaving = {"cuDriverGetVersion", "cudaRuntimeGetVersion",
                                        "cuGetProcAddress", "cuGetProcAddress_v2"};

Call called(const Row &row) {
    Call call(Way::member, Values::harmless, 0);
    row.call(call);
    return call;
}

// These need no library. They return success for the arguments of harmless calls and without an
// earlier failure.
const std::set<std::string> answering = {"cuGetErrorName", "cuGetErrorString", "cudaGetLastError",
                                         "cudaPeekAtLastError"};

// The error of the call of a missing row, or an empty string.
std::string unforwarded_fault(const Row &row, int status) {
    const Call call = called(row);
    if (row.is_status) {
        constexpr int library_not_found = 303;
        const int expected =
            status == library_not_found && answering.contains(row.name) ? 0 : status;
        return call.status() == expected
                   ? ""
                   : std::string(row.name) + " returned " + std::to_string(call.status()) +
                         " instead of " + std::to_string(expected);
    }
    // Names and texts are never null; the description that harmless calls request is all zero.
    const bool description = row.name == std::string("cudaCreateChannelDesc");
    const std::string zero(call.answer_size, '\0');
    const bool is_zero = std::memcmp(call.answer, zero.data(), zero.size()) == 0;
    return description == is_zero ? "" : std::string(row.name) + " returned an unusable result";
}

std::string forwarded_fault(const Row &row, const fake_control &fake, unsigned int number) {
    const unsigned int before = fake.calls(number);
    const Call call = called(row);
    unsigned char answer[FAKE_MAX_RESULT];
    const unsigned int size = fake.answer(number, answer);
    const bool same = size == call.answer_size && std::memcmp(answer, call.answer, size) == 0;
    if (fake.calls(number) != before + 1 || (!same && !behaving.contains(row.name))) {
        return std::string(row.name) + " was not forwarded";
    }
    return "";
}

// In the child: the library in the environment lacks one name.
std::string fault_where_one_is_missing(const Expected &expected) {
    std::string fault = unforwarded_fault(expected.missing, expected.status);
    const fake_control &fake = *fake_control_of(cushim_load_report(expected.rows.library)->path);
    unsigned int number = 0;
    for (const Row &row : expected.rows) {
        if (&row != &expected.missing && fault.empty()) {
            fault = forwarded_fault(row, fake, number);
        }
        ++number;
    }
    return fault.empty() ? unforwarded_fault(expected.missing, expected.status) : fault;
}

// In the child: the library in the environment does not count as a CUDA library.
std::string fault_where_all_are_absent(const Expected &expected) {
    if (cushim_load(expected.rows.library) != CUSHIM_STATE_ABSENT) {
        return "the library was loaded";
    }
    const cushim_report &report = *cushim_load_report(expected.rows.library);
    if (report.candidate_count == 0 ||
        report.candidates[report.candidate_count - 1].outcome != CUSHIM_OUTCOME_NOT_CUDA) {
        return "the report does not say that it is not a CUDA library";
    }
    std::string fault;
    for (const Row &row : expected.rows) {
        if (fault.empty()) {
            fault = unforwarded_fault(row, expected.status);
        }
    }
    return fault;
}

// Runs a check in a child process and returns its result.
std::string in_child(std::string (*check)(const Expected &), const Expected &expected) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const std::string fault = check(expected);
        const auto written = write(ends[1], fault.data(), fault.size());
        _exit(written == static_cast<ssize_t>(fault.size()) ? 0 : 1);
    }
    close(ends[1]);
    std::string fault;
    char part[256];
    for (ssize_t size; (size = read(ends[0], part, sizeof part)) > 0;) {
        fault.append(part, static_cast<std::size_t>(size));
    }
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status == 0 ? fault : fault + " (the child ended with " + std::to_string(status) + ")";
}

// Replaces the library that a variable names by a copy, which this object may change.
class Swept {
  public:
    Swept(const char *variable_name, const std::string &suffix)
        : variable(variable_name), original(required_variable(variable_name)),
          copy(original, required_variable("SWEEP_FOLDER") + "/sweep-" + suffix + "-" +
                             std::to_string(getpid()) + ".so") {
        set_variable(variable, copy.path());
    }
    ~Swept() { set_variable(variable, original); }
    Swept(const Swept &) = delete;
    Swept &operator=(const Swept &) = delete;

    void take_out(const std::string &name) { copy.take_out(name); }

  private:
    const char *const variable;
    const std::string original;
    PatchedLibrary copy;
};

// A library without this row does not count as a driver.
bool decides_what_it_is(const Row &row) {
    return row.name == std::string("cuInit");
}

// Without these, statuses have their built-in names; tests/loader has a driver that lacks them.
bool names_statuses(const Row &row) {
    return row.name == std::string("cuGetErrorName") || row.name == std::string("cuGetErrorString");
}

// Removes one name after the other. The driver reports the version that version_for returns (0
// skips the row), and the call of the missing name must return `status`.
void sweep(const Rows &rows, Swept &library, int status, int (*version_for)(const Row &)) {
    const std::size_t stride = std::stoul(required_variable("SWEEP_STRIDE"));
    std::size_t checked = 0;
    for (std::size_t number = 0; number < rows.count; number += stride) {
        const Row &row = rows[number];
        const int version = version_for(row);
        if (version == 0 || names_statuses(row)) {
            continue;
        }
        INFO(row.name << " with version " << version);
        library.take_out(row.name);
        set_variable(FAKE_DRIVER_VERSION_VARIABLE, std::to_string(version));
        const auto check =
            decides_what_it_is(row) ? fault_where_all_are_absent : fault_where_one_is_missing;
        CHECK(in_child(check, {rows, row, decides_what_it_is(row) ? 303 : status}) == "");
        ++checked;
    }
    REQUIRE(checked > 0);
}

int headers(const Row &) {
    return cushim_headers_version();
}

// A driver that does not report its version does not count as older.
int before_introduced(const Row &row) {
    return row.name == std::string("cuDriverGetVersion") || row.introduced == 0
               ? 0
               : row.introduced - 1;
}

} // namespace

TEST_CASE("a call that the driver lacks although it is not newer fails with 302") {
    Swept library("CUSHIM_DRIVER", "driver");
    sweep(driver_rows, library, 302, headers);
}

TEST_CASE("a call that is newer than the driver fails with 36") {
    Swept library("CUSHIM_DRIVER", "old-driver");
    sweep(driver_rows, library, 36, before_introduced);
}

TEST_CASE("a call that the runtime lacks fails with 302") {
    Swept library("CUSHIM_RUNTIME", "runtime");
    sweep(runtime_rows, library, 302, headers);
}
