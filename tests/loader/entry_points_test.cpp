// Entry points, singly and all together, resolve to the function with the right ABI.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <vector>

#include "machine.hpp"

using namespace support;
namespace entry = cushim::entry;
using cushim::detail::first_of;
using cushim::detail::slot_of;

namespace {

// The record of proc_address_fake.c.
struct Asked {
    char name[128];
    int version;
    unsigned long long flags;
    int times;
};

const Asked *asked_of(const std::string &library) {
    return reinterpret_cast<const Asked *(*)()>(function_of(library, "proc_address_asked"))();
}

size_t count_available(cushim_library library) {
    size_t available = 0;
    cushim_visit_entry_points(
        library,
        [](const cushim_entry_point *point, void *user) {
            *static_cast<size_t *>(user) += point->status == 0;
        },
        &available);
    return available;
}

} // namespace

TEST_CASE("a name that dlsym does not find is requested from cuGetProcAddress with its own version",
          "[proc_address]") {
    set_variable("CUSHIM_DRIVER", required_variable("FAKE_DRIVER_PROC_ADDRESS"));
    const auto cuda = cushim::driver();
    CUdeviceptr memory = 0;
    CHECK(cuda.cuMemAlloc(&memory, 1) == static_cast<CUresult>(77));
    const Asked &asked = *asked_of(required_variable("FAKE_DRIVER_PROC_ADDRESS"));
    CHECK(std::string(asked.name) == "cuMemAlloc");
    CHECK(asked.version == 3020); // the version of cuMemAlloc_v2, not the installed 12.2
    CHECK(asked.flags == 1);      // legacy stream
    CHECK(cuda.cuMemcpyHtoD_v2_ptds(0, nullptr, 0) == static_cast<CUresult>(77));
    CHECK(std::string(asked.name) == "cuMemcpyHtoD");
    CHECK(asked.version == 7000);
    CHECK(asked.flags == 2); // per-thread default stream
    const int times = asked.times;
    CHECK(cuda.cuMemAlloc(&memory, 1) ==
          static_cast<CUresult>(77)); // resolved: not requested again
    CHECK(asked.times == times);
    // Known in another version, or unknown: the entry point is missing.
    CHECK(cuda.cuMemFree(0) == CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
    CHECK(cuda.cuMemcpyDtoD(0, 0, 0) == CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
#if CUDA_VERSION >= 12040
    // Newer than the driver: not requested, and the status says so.
    const int before = asked.times;
    CHECK(cuda.cuGreenCtxDestroy(nullptr) == static_cast<CUresult>(36));
    CHECK(asked.times == before);
    const auto missing = cuda.pfn<entry::cuGreenCtxDestroy>();
    REQUIRE_FALSE(missing);
    CHECK(missing.error().kind() == cushim::ErrorKind::requires_newer_driver);
    CHECK(missing.error().required() == cushim::Version::of(12, 4));
    CHECK(missing.error().installed() == cushim::Version::of(12, 2));
    CHECK(std::string(missing.error().entry_point()) == "cuGreenCtxDestroy");
#endif
}

TEST_CASE("cuGetErrorName names cushim's own statuses for an old driver", "[own_codes]") {
    set_variable("CUSHIM_DRIVER", required_variable("FAKE_DRIVER_OLD_CODES"));
    const auto cuda = cushim::driver();
    const auto name_of = [&](int status) {
        const char *text = nullptr;
        const CUresult result = cuda.cuGetErrorName(static_cast<CUresult>(status), &text);
        return result == CUDA_SUCCESS ? std::string(text) : "error " + std::to_string(result);
    };
    const auto words_of = [&](int status) {
        const char *text = nullptr;
        const CUresult result = cuda.cuGetErrorString(static_cast<CUresult>(status), &text);
        return result == CUDA_SUCCESS ? std::string(text) : "error " + std::to_string(result);
    };
    const bool all_at_once = GENERATE(false, true); // the second time with resolved slots
    if (all_at_once) {
        cushim::resolve_all();
    }
    CHECK(name_of(36) == "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER");
    CHECK(words_of(36) == "the CUDA driver is older than this function needs");
    CHECK(name_of(302) == "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND");
    CHECK(words_of(302) == "the CUDA library does not have this function");
    CHECK(name_of(303) == "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED");
    CHECK(name_of(34) == "CUDA_ERROR_STUB_LIBRARY");
    // All other names come from the driver.
    CHECK(name_of(1) == "old driver: 1");
    CHECK(words_of(1) == "old driver: 1");
    CHECK(words_of(303) == "old driver: 303"); // although cushim has words for it
    CHECK(name_of(35) == "error 1");
    CHECK(name_of(98765) == "error 1");
    CHECK(cuda.cuGetErrorName(static_cast<CUresult>(36), nullptr) == CUDA_ERROR_INVALID_VALUE);
    const auto pointer = cuda.pfn<entry::cuGetErrorName>();
    REQUIRE(pointer);
    const char *text = nullptr;
    CHECK((*pointer)(static_cast<CUresult>(36), &text) == CUDA_SUCCESS);
}

TEST_CASE("a driver without cuGetErrorName has built-in names", "[no_error_names]") {
    set_variable("CUSHIM_DRIVER", required_variable("FAKE_DRIVER_NO_CODES"));
    const char *text = nullptr;
    CHECK(cushim::driver().cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS);
    CHECK(std::string(text) == "CUDA_ERROR_OUT_OF_MEMORY");
    CHECK(cushim::driver().cuGetErrorString(static_cast<CUresult>(36), &text) == CUDA_SUCCESS);
    CHECK(std::string(text) == "the CUDA driver is older than this function needs");
}

TEST_CASE("resolve_all resolves every entry point that the libraries have", "[resolve_all]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    const size_t all = cushim::resolve_all();
    CHECK(all == count_available(CUSHIM_LIBRARY_DRIVER) + count_available(CUSHIM_LIBRARY_RUNTIME));
    CHECK(all == cushim_visit_entry_points(CUSHIM_LIBRARY_DRIVER, nullptr, nullptr) +
                     cushim_visit_entry_points(CUSHIM_LIBRARY_RUNTIME, nullptr, nullptr));
    CHECK(*slot_of<entry::cuInit>() != first_of<entry::cuInit>());
}

TEST_CASE("resolve_all without a library resolves nothing", "[resolve_none]") {
    set_variable("CUSHIM_DISABLE", "1");
    CHECK(cushim::resolve_all() == 0);
    CHECK(*slot_of<entry::cuInit>() == first_of<entry::cuInit>());
}

TEST_CASE("resolve_all leaves overrides alone", "[resolve_override]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    const cushim::ScopedOverride<entry::cuInit> scope(
        [](unsigned int) { return CUDA_ERROR_NO_DEVICE; });
    cushim::resolve_all();
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_NO_DEVICE);
}

TEST_CASE("an entry point can be found by name", "[find]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    cushim_entry_point point = {};
    REQUIRE(cushim_find_entry_point(CUSHIM_LIBRARY_DRIVER, "cuMemAlloc_v2", &point) == 1);
    CHECK(std::string(point.name) == "cuMemAlloc_v2");
    CHECK(point.status == 0);
    CHECK(point.introduced == 3020);
    CHECK(cushim::introduced_in<entry::cuMemAlloc>() == cushim::Version::of(3, 2));
    CHECK(cushim::introduced_in(entry::cuMemAlloc_v1{}) == cushim::Version::of(2, 0));
    CHECK(cushim_find_entry_point(CUSHIM_LIBRARY_DRIVER, "cuNoSuchThing", &point) == 0);
    CHECK(cushim_find_entry_point(CUSHIM_LIBRARY_DRIVER, "cudaMalloc", &point) == 0);
    CHECK(cushim_find_entry_point(CUSHIM_LIBRARY_RUNTIME, "cudaMalloc", &point) == 1);
    CHECK(point.introduced == 0);
}

TEST_CASE("an entry point that a driver of its version lacks is missing", "[find_missing]") {
    set_variable("CUSHIM_DRIVER", required_variable("FAKE_DRIVER_NO_CODES")); // of CUDA 12.2
    if (cushim::headers_version() < cushim::Version::of(12, 2)) {
        SKIP("these headers lack it");
    }
    cushim_entry_point point = {};
    REQUIRE(cushim_find_entry_point(CUSHIM_LIBRARY_DRIVER, "cuMemAdvise_v2", &point) == 1);
    CHECK(point.introduced == 12020);
    CHECK(point.status == CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
}

TEST_CASE("pfn returns the library's function", "[pfn]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    const auto pfn = cushim::driver().pfn<entry::cuCtxGetDevice_v1>();
    REQUIRE(pfn);
    CHECK(*pfn == *slot_of<entry::cuCtxGetDevice_v1>());
    CHECK(*pfn != first_of<entry::cuCtxGetDevice_v1>());
    static_assert(std::is_same_v<decltype(pfn)::value_type, entry::cuCtxGetDevice_v1::pfn>);
    CHECK(cushim::runtime().pfn<entry::cudaMalloc>());
    CHECK(cushim::is_available(entry::cudaMalloc{}));
}

TEST_CASE("pfn without a library fails with the reason", "[pfn_absent]") {
    set_variable("CUSHIM_DRIVER", "/nonexistent/driver");
    const auto pfn = cushim::driver().pfn<entry::cuInit>();
    REQUIRE_FALSE(pfn);
    CHECK(pfn.error().kind() == cushim::ErrorKind::library_not_found);
    CHECK(contains(pfn.error().message(), "/nonexistent/driver"));
    CHECK_FALSE(cushim::is_available<entry::cudaMalloc>());
}

TEST_CASE("the tables have every declaration of the headers", "[left_out]") {
    const char *const *left_out = nullptr;
    CHECK(cushim_left_out(CUSHIM_LIBRARY_DRIVER, &left_out) == 0);
    CHECK(left_out[0] == nullptr);
    CHECK(cushim_left_out(CUSHIM_LIBRARY_RUNTIME, nullptr) == 0);
}
