// Looking up entry points by name. Expected values were measured with the drivers 470.256.02,
// 535.261.03, 550.163.01 and 580.159.04.
#include "handles.hpp"

#include <ostream>

using namespace sim_test;

namespace {

constexpr cuuint64_t legacy = 1, per_thread = 2;

// The result of a lookup, with the exported name of the address.
struct Found {
    int status;
    int query; // CUdriverProcAddressQueryResult; -1 if untouched or with the first version
    std::string name;
    bool operator==(const Found &) const = default;
};

[[maybe_unused]] std::ostream &operator<<(std::ostream &out, const Found &found) {
    return out << found.status << ' ' << found.query << ' ' << found.name;
}

char untouched;

std::string name_of(const std::string &library, void *address, const char *base) {
    if (address == &untouched) {
        return "untouched";
    }
    if (address == nullptr) {
        return "null";
    }
    for (const char *suffix :
         {"", "_v2", "_v3", "_v4", "_ptsz", "_ptds", "_v2_ptsz", "_v2_ptds", "_v3_ptsz"}) {
        const std::string name = std::string(base) + suffix;
        if (reinterpret_cast<void *>(exported(library, name.c_str())) == address) {
            return name;
        }
    }
    return "other";
}

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    REQUIRE(value != nullptr);
    return value;
}

using First = CUresult(CUDAAPI *)(const char *, void **, int, cuuint64_t);
using Second = CUresult(CUDAAPI *)(const char *, void **, int, cuuint64_t, int *);

// `library` is a variant of the driver.
Found first(const std::string &library, const char *symbol, int version, cuuint64_t flags = 0) {
    const auto function = exported_as<First>("cuGetProcAddress", library);
    void *address = &untouched;
    const int status = function(symbol, &address, version, flags);
    return {status, -1, name_of(library, address, symbol)};
}

Found second(const std::string &library, const char *symbol, int version, cuuint64_t flags = 0) {
    const auto function = exported_as<Second>("cuGetProcAddress_v2", library);
    void *address = &untouched;
    int query = -1;
    const int status = function(symbol, &address, version, flags, &query);
    return {status, query, name_of(library, address, symbol)};
}

std::string current_driver() {
    return variable("SIM_DRIVER_CURRENT");
}

// cuGetProcAddress_v2 came with CUDA 12.0.
[[maybe_unused]] Found second(const char *symbol, int version, cuuint64_t flags = 0) {
    return second(current_driver(), symbol, version, flags);
}

const Found not_found = {0, 1, "null"};
const Found not_sufficient = {0, 2, "null"};
constexpr int headers = CUDA_VERSION;

} // namespace

#if CUDA_VERSION >= 12000

TEST_CASE("a lookup returns the newest ABI of the requested version") {
    CHECK(second("cuMemAlloc", headers) == Found{0, 0, "cuMemAlloc_v2"});
    CHECK(second("cuMemAlloc", 3021) == Found{0, 0, "cuMemAlloc_v2"});
    CHECK(second("cuMemAlloc", 3019) == Found{0, 0, "cuMemAlloc"});
    CHECK(second("cuMemAlloc", 2000) == Found{0, 0, "cuMemAlloc"});
    CHECK(second("cuDeviceGetUuid", 11030) == Found{0, 0, "cuDeviceGetUuid"});
    CHECK(second("cuDeviceGetUuid", 11040) == Found{0, 0, "cuDeviceGetUuid_v2"});
    CHECK(second("cuInit", 2000) == Found{0, 0, "cuInit"});
    CHECK(second("cuGetProcAddress", 11030) == Found{0, 0, "cuGetProcAddress"});
    CHECK(second("cuGetProcAddress", 12000) == Found{0, 0, "cuGetProcAddress_v2"});
    CHECK(second("cuProfilerStart", headers) == Found{0, 0, "cuProfilerStart"});
    CHECK(second("cuGetExportTable", headers) == Found{0, 0, "cuGetExportTable"});
#if CUDA_VERSION >= 12030
    CHECK(second("cuGraphAddNode", 12020) == Found{0, 0, "cuGraphAddNode"});
    CHECK(second("cuGraphAddNode", 12030) == Found{0, 0, "cuGraphAddNode_v2"});
#endif
}

TEST_CASE("a lookup accepts exact base names only") {
    for (const char *name : {"cuMemAlloc_v2", "cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD_ptds",
                             "cuStreamQuery_ptsz", "cuGetProcAddress_v2", "", "nothing",
                             "cuNothing", "cumemalloc", "cuMemAlloc ", "cushim_sim_control"}) {
        INFO(name);
        CHECK(second(name, headers) == not_found);
        CHECK(second(name, headers, per_thread) == not_found);
        CHECK(second(name, 0) == not_found);
    }
}

TEST_CASE("a lookup with the per-thread flag returns the per-thread variant") {
    CHECK(second("cuMemcpyHtoD", headers) == Found{0, 0, "cuMemcpyHtoD_v2"});
    CHECK(second("cuMemcpyHtoD", headers, legacy) == Found{0, 0, "cuMemcpyHtoD_v2"});
    CHECK(second("cuMemcpyHtoD", headers, per_thread) == Found{0, 0, "cuMemcpyHtoD_v2_ptds"});
    CHECK(second("cuMemcpyHtoD", headers, legacy | per_thread) ==
          Found{0, 0, "cuMemcpyHtoD_v2_ptds"});
    CHECK(second("cuMemcpyHtoD", 7000, per_thread) == Found{0, 0, "cuMemcpyHtoD_v2_ptds"});
    CHECK(second("cuStreamQuery", headers, per_thread) == Found{0, 0, "cuStreamQuery_ptsz"});
    // A name without a per-thread variant.
    CHECK(second("cuMemAlloc", headers, per_thread) == Found{0, 0, "cuMemAlloc_v2"});
    // Per-thread variants newer than the requested version.
    CHECK(second("cuMemcpyHtoD", 6999, per_thread) == not_sufficient);
    CHECK(second("cuMemcpyHtoD", 2000, per_thread) == not_sufficient);
    CHECK(second("cuStreamQuery", 3000, per_thread) == not_sufficient);
}

TEST_CASE("a lookup with a version newer than the driver fails since CUDA 13") {
    CHECK(second("cuMemAlloc", headers + 10) ==
          (headers >= 13000 ? Found{1, -1, "untouched"} : Found{0, 0, "cuMemAlloc_v2"}));
    CHECK(first(current_driver(), "cuMemAlloc", 99000) ==
          (headers >= 13000 ? Found{1, -1, "untouched"} : Found{0, -1, "cuMemAlloc_v2"}));
    // A negative version is accepted.
    CHECK(second("cuMemAlloc", -1) == Found{0, 0, "cuMemAlloc_v2"});
    const std::string older = variable("SIM_DRIVER_12_0");
    CHECK(second(older, "cuMemAlloc", 99000) == Found{0, 0, "cuMemAlloc_v2"});
    CHECK(second(older, "nothing", 99000) == not_found);
    CHECK(first(older, "nothing", 99000) == Found{500, -1, "untouched"});
}

TEST_CASE("a lookup with a null name or result is a misuse") {
    const auto function = exported_as<Second>("cuGetProcAddress_v2");
    void *address = &untouched;
    check_misuse(function(nullptr, &address, headers, 0, nullptr), invalid, "cuGetProcAddress");
    CHECK(address == &untouched);
    check_misuse(function("cuInit", nullptr, headers, 0, nullptr), invalid, "cuGetProcAddress");
}

TEST_CASE("some entry points of the first ABI check an argument before they fail") {
    const std::string library = current_driver();
    constexpr auto refused = CUDA_ERROR_INVALID_CONTEXT;
    unsigned int out = 7;
    const auto poisoned = [&] { return std::exchange(out, 7u) == 0xbdbdbdbd; };
    char byte = 0;
    CHECK(call_exported(library, "cuDeviceTotalMem", &out, 99) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(poisoned());
    CHECK(call_exported(library, "cuDeviceTotalMem", &out, 0) == CUDA_SUCCESS);
    CHECK(!poisoned());
    CHECK(call_exported(library, "cuModuleGetGlobal", &out, &out, CUmodule(nullptr), "name") ==
          CUDA_ERROR_INVALID_HANDLE);
    CHECK(poisoned());
    CHECK(call_exported(library, "cuGraphicsResourceGetMappedPointer", &out, &out,
                        CUgraphicsResource(nullptr)) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(poisoned());
    const auto no_stream = reinterpret_cast<CUstream>(&byte);
    const auto copy_result = [&] {
        return call_exported(library, "cuMemcpyHtoDAsync", 1u, static_cast<const void *>(&byte), 1u,
                             no_stream);
    };
    CHECK(call_exported(library, "cuMemFree", 16u) == refused);
    CHECK(copy_result() == refused);
    require_ok(driver().cuCtxSetCurrent(nullptr));
    CHECK(call_exported(library, "cuMemFree", 16u) == invalid);
    CHECK(copy_result() == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("is not a stream handle");
}

TEST_CASE("with the setting driver=VERSION lookups find no newer names") {
    configure("driver=11040");
    CHECK(second("cuGetProcAddress", 11040) == Found{0, 0, "cuGetProcAddress"});
    CHECK(second("cuGetProcAddress", 12000) == Found{0, 0, "cuGetProcAddress"});
    CHECK(second("cuLibraryLoadData", 12000) == not_found);
}

TEST_CASE("a lookup of a name that the driver lacks fails") {
    const std::string lacking = variable("SIM_DRIVER_MISSING_ONE_NAME");
    // An older ABI does not replace it.
    CHECK(second(lacking, "cuMemFree", headers) == not_found);
    CHECK(second(lacking, "cuMemFree", 3020) == not_found);
    CHECK(second(lacking, "cuMemFree", 3019) == Found{0, 0, "cuMemFree"});
    CHECK(second(lacking, "cuMemAlloc", headers) == Found{0, 0, "cuMemAlloc_v2"});
}

#endif

TEST_CASE("the first version of a lookup fails with NOT_FOUND for a missing name") {
    const auto find = [](const char *symbol, int version, cuuint64_t flags = 0) {
        return first(variable("SIM_DRIVER_11_4"), symbol, version, flags);
    };
    CHECK(find("cuMemAlloc", 11040) == Found{0, -1, "cuMemAlloc_v2"});
    CHECK(find("cuMemAlloc", 3019) == Found{0, -1, "cuMemAlloc"});
    CHECK(find("cuMemAlloc", 99000) == Found{0, -1, "cuMemAlloc_v2"});
    CHECK(find("cuMemAlloc", -1) == Found{0, -1, "cuMemAlloc_v2"});
    CHECK(find("cuMemAlloc", 1999) == Found{500, -1, "untouched"});
    CHECK(find("cuMemAlloc_v2", 11040) == Found{500, -1, "untouched"});
    CHECK(find("cuMemcpyHtoD", 11040, per_thread) == Found{0, -1, "cuMemcpyHtoD_v2_ptds"});
    CHECK(find("cuMemcpyHtoD", 6999, per_thread) == Found{500, -1, "untouched"});
    CHECK(find("cuMemAlloc", 11040, 4) == Found{1, -1, "untouched"});
    CHECK(find("cuGetProcAddress", 12000) == Found{0, -1, "cuGetProcAddress"});
    // New in CUDA 12.
    CHECK(find("cuLibraryLoadData", 12000) == Found{500, -1, "untouched"});
}
