// NVIDIA's libraries, on a machine without a device. Each has its own process (meson.build),
// because the loader decides once.
//
// CUSHIM_RUNTIME_REAL names a libcudart, CUSHIM_REAL_LIBS a folder that contains
// drivers/<version>/libcuda.so.1; otherwise the tests are skipped.
#include "rows.hpp"

#include <cushim/init.hpp>
#include <cushim/loader.hpp>
#include <cushim/table.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "fake_library.hpp"

using namespace support;

namespace {

struct Branch {
    std::string name;
    cushim::Version cuda; // the version that it supports
    size_t resolved;      // entry points of the 13.0 headers that it has
};
const Branch branches[] = {
    {"470", cushim::Version::of(11, 4), 487},
    {"535", cushim::Version::of(12, 2), 555},
    {"550", cushim::Version::of(12, 4), 591},
};
constexpr size_t names_in_13_0 = 637;

struct Missing {
    const char *name;
    int introduced, status;
};
using AllMissing = std::vector<Missing>;

AllMissing missing_of(cushim_library library) {
    AllMissing missing;
    cushim_visit_entry_points(
        library,
        [](const cushim_entry_point *point, void *user) {
            if (point->status != 0) {
                static_cast<AllMissing *>(user)->push_back(
                    {point->name, point->introduced, point->status});
            }
        },
        &missing);
    return missing;
}

// Also prints the numbers.
size_t resolved_of(const Rows &rows, const AllMissing &missing) {
    const size_t resolved = rows.count - missing.size();
    std::cout << cushim_load_report(rows.library)->explanation << ": " << resolved << " of "
              << rows.count << " entry points\n";
    return resolved;
}

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

// The path of a driver of this branch.
std::string driver_of(const std::string &folder, const std::string &branch) {
    for (const auto &entry : std::filesystem::directory_iterator(folder + "/drivers")) {
        if (entry.path().filename().string().starts_with(branch + ".")) {
            return (entry.path() / "libcuda.so.1").string();
        }
    }
    throw std::runtime_error("no driver of branch " + branch + " in " + folder);
}

const Branch &branch_under_test() {
    const std::string name = required_variable("REAL_DRIVER_BRANCH");
    for (const Branch &branch : branches) {
        if (branch.name == name) {
            return branch;
        }
    }
    throw std::runtime_error("no branch " + name);
}

bool has_device_node() { // /dev/nvidia0, ...; many tools leave nvidiactl behind
    for (const auto &entry : std::filesystem::directory_iterator("/dev")) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("nvidia") && name.find_first_of("0123456789") == 6) {
            return true;
        }
    }
    return false;
}

// Calls of missing entry points return that status and write nothing.
void check_calls(const AllMissing &missing) {
    std::set<std::string> names;
    for (const Missing &entry : missing) {
        names.insert(entry.name);
    }
    size_t called = 0;
    for (const Row &row : driver_rows) {
        if (!names.contains(row.name)) {
            continue;
        }
        INFO(row.name);
        Call call(Way::member, Values::harmless, 0);
        row.call(call);
        CHECK(call.status() == 36);
        CHECK(call.outputs_untouched());
        CHECK_FALSE(row.resolved());
        ++called;
    }
    CHECK(called == missing.size());
}

// The statuses of those calls have names, which these drivers do not know.
void check_names() {
    for (const auto &[status, name] :
         {std::pair{36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER"},
          std::pair{302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"}}) {
        const char *text = nullptr;
        const auto code = static_cast<CUresult>(status);
        CHECK(cushim::driver().cuGetErrorName(code, &text) == CUDA_SUCCESS);
        CHECK(std::string(text != nullptr ? text : "") == name);
        CHECK(cushim::driver().cuGetErrorString(code, &text) == CUDA_SUCCESS);
    }
}

} // namespace

TEST_CASE("the runtime of the headers' release has every entry point", "[runtime]") {
    const std::string library = variable("CUSHIM_RUNTIME_REAL");
    if (library.empty()) {
        SKIP("CUSHIM_RUNTIME_REAL does not name a libcudart");
    }
    set_variable("CUSHIM_RUNTIME", library);
    REQUIRE(cushim::load_runtime());
    CHECK(std::filesystem::equivalent(cushim::load_report().runtime.path, library));
    // The runtime of CUDA 11 does not report its version without a driver.
    int version = 0;
    const cudaError_t status = cushim::runtime().cudaRuntimeGetVersion(&version);
    if (status == cudaSuccess) {
        CHECK(cushim::runtime_version().major_version() ==
              cushim::headers_version().major_version());
    } else {
        CHECK(status == cudaErrorInsufficientDriver);
    }
    CHECK(cushim::runtime_version() == cushim::Version(version));

    const AllMissing missing = missing_of(CUSHIM_LIBRARY_RUNTIME);
    const size_t resolved = resolved_of(runtime_rows, missing);
    const bool as_new_as_headers =
        !cushim::runtime_version() || cushim::runtime_version() >= cushim::headers_version();
    for (const Missing &entry : missing) {
        INFO(entry.name);
        CHECK(entry.status == 302);
        CHECK_FALSE(as_new_as_headers);
    }
    CHECK(resolved > 300);
    CHECK(cushim_resolve_all(CUSHIM_LIBRARY_RUNTIME) == resolved);
}

TEST_CASE("a driver has the entry points of its version and no newer ones", "[driver]") {
    const std::string folder = variable("CUSHIM_REAL_LIBS");
    if (folder.empty()) {
        SKIP("CUSHIM_REAL_LIBS does not name a folder with driver libraries");
    }
    const Branch &branch = branch_under_test();
    set_variable("CUSHIM_DRIVER", driver_of(folder, branch.name));
    REQUIRE(cushim::load_driver());
    CHECK(cushim::driver_version() == branch.cuda);

    const AllMissing missing = missing_of(CUSHIM_LIBRARY_DRIVER);
    const size_t resolved = resolved_of(driver_rows, missing);
    for (const Missing &entry : missing) {
        INFO(entry.name);
        CHECK(entry.status == 36);
        CHECK(cushim::Version(entry.introduced) > branch.cuda);
    }
    if (cushim::headers_version() <= branch.cuda) {
        CHECK(missing.empty());
    } else if (cushim::headers_version() == cushim::Version::of(13, 0)) {
        CHECK(driver_rows.count == names_in_13_0);
        CHECK(resolved == branch.resolved);
    } else { // other headers may lack names that these drivers have
        CHECK(resolved > 450);
        CHECK(resolved <= branch.resolved);
    }
    check_calls(missing);
    check_names();
}

TEST_CASE("a driver without its kernel module finds no device", "[no_device]") {
    const std::string folder = variable("CUSHIM_REAL_LIBS");
    if (folder.empty()) {
        SKIP("CUSHIM_REAL_LIBS does not name a folder with driver libraries");
    }
    if (has_device_node()) {
        SKIP("this machine has NVIDIA devices");
    }
    set_variable("CUSHIM_DRIVER", driver_of(folder, branch_under_test().name));
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_NO_DEVICE);
    CHECK(cushim::load_report().driver.state == CUSHIM_STATE_LOADED);
    const auto started = cushim::init();
    REQUIRE_FALSE(started);
    CHECK(started.error().kind() == cushim::ErrorKind::no_device);
}
