// The tables against a real driver and a real runtime.
#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include <cushim/init.hpp>
#include <cushim/loader.hpp>
#include <cushim/override.hpp>
#include <cushim/table.hpp>

namespace entry = cushim::entry;

namespace {

struct Counts {
    size_t resolved = 0;
    std::vector<std::string> wrong; // missing although not newer than the library, or the reverse
};

Counts count(cushim_library library) {
    Counts counts;
    cushim_visit_entry_points(
        library,
        [](const cushim_entry_point *point, void *user) {
            Counts &all = *static_cast<Counts *>(user);
            const bool newer = point->introduced > cushim::driver_version().packed();
            if (point->status == 0) {
                ++all.resolved;
            }
            if ((point->status == 0) == newer || (newer && point->status != 36)) {
                all.wrong.push_back(point->name);
            }
        },
        &counts);
    return counts;
}

} // namespace

TEST_CASE("the driver loads and has a device", "[gpu]") {
    const auto loaded = cushim::load_driver();
    INFO((loaded ? "" : loaded.error().message()));
    REQUIRE(loaded);
    const auto ready = cushim::init();
    INFO((ready ? "" : ready.error().message()));
    REQUIRE(ready);
    int devices = 0;
    REQUIRE(cushim::driver().cuDeviceGetCount(&devices) == CUDA_SUCCESS);
    CHECK(devices > 0);
}

TEST_CASE("every entry point that the driver should have resolves", "[gpu]") {
    const Counts counts = count(CUSHIM_LIBRARY_DRIVER);
    for (const std::string &name : counts.wrong) {
        UNSCOPED_INFO(name);
    }
    CHECK(counts.wrong.empty());
    std::printf("driver %s: %zu of %zu entry points\n",
                cushim::to_text(cushim::driver_version()).c_str(), counts.resolved,
                cushim_visit_entry_points(CUSHIM_LIBRARY_DRIVER, nullptr, nullptr));
}

TEST_CASE("every entry point of the runtime resolves", "[gpu]") {
    if (!cushim::load_runtime()) {
        SKIP(cushim::load_report().runtime.explanation);
    }
    const size_t all = cushim_visit_entry_points(CUSHIM_LIBRARY_RUNTIME, nullptr, nullptr);
    const Counts counts = count(CUSHIM_LIBRARY_RUNTIME);
    std::printf("runtime %s: %zu of %zu entry points\n",
                cushim::to_text(cushim::runtime_version()).c_str(), counts.resolved, all);
    // A runtime older than the headers, of the same major version, lacks newer entry points.
    if (cushim::runtime_version() >= cushim::headers_version()) {
        CHECK(counts.resolved == all);
    } else {
        CHECK(counts.resolved > 0);
    }
}

TEST_CASE("table calls pass the driver's arguments, outputs and statuses unchanged", "[gpu]") {
    const auto cuda = cushim::driver();
    REQUIRE(cushim::init());
    CUdevice device = -1;
    CHECK(cuda.cuDeviceGet(&device, 1'000'000) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuda.cuDeviceGet(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuda.cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    char by_table[256] = "", by_pointer[256] = "";
    CHECK(cuda.cuDeviceGetName(by_table, sizeof by_table, device) == CUDA_SUCCESS);
    const auto get_name = cuda.pfn<entry::cuDeviceGetName>();
    REQUIRE(get_name);
    CHECK((*get_name)(by_pointer, sizeof by_pointer, device) == CUDA_SUCCESS);
    CHECK(std::string(by_table) == by_pointer);
    CHECK(std::string(by_table) != "");
    const char *name = nullptr;
    CHECK(cuda.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name) == CUDA_SUCCESS);
    CHECK(std::string(name) == "CUDA_ERROR_OUT_OF_MEMORY");
    CHECK(cuda.cuGetErrorName(static_cast<CUresult>(-5), &name) == CUDA_ERROR_INVALID_VALUE);
    CHECK(name == nullptr); // as cushim itself does without a driver
}

TEST_CASE("the runtime keeps its own last error", "[gpu]") {
    if (!cushim::load_runtime()) {
        SKIP(cushim::load_report().runtime.explanation);
    }
    const auto cuda = cushim::runtime();
    (void)cuda.cudaGetLastError();
    CHECK(cuda.cudaSetDevice(1'000'000) == cudaErrorInvalidDevice);
    CHECK(cuda.cudaPeekAtLastError() == cudaErrorInvalidDevice);
    CHECK(cuda.cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(cuda.cudaGetLastError() == cudaSuccess);
    CHECK(std::string(cuda.cudaGetErrorName(cudaErrorInvalidDevice)) == "cudaErrorInvalidDevice");
    const cudaChannelFormatDesc description =
        cuda.cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
    CHECK(description.x == 8);
    CHECK(description.y == 16);
    CHECK(description.f == cudaChannelFormatKindUnsigned);
}

TEST_CASE("an override replaces the driver's function only within its scope", "[gpu]") {
    int devices = -1;
    {
        const cushim::ScopedOverride<entry::cuDeviceGetCount> none([](int *count) {
            *count = 0;
            return CUDA_ERROR_NO_DEVICE;
        });
        CHECK(cushim::driver().cuDeviceGetCount(&devices) == CUDA_ERROR_NO_DEVICE);
        CHECK(devices == 0);
    }
    CHECK(cushim::driver().cuDeviceGetCount(&devices) == CUDA_SUCCESS);
    CHECK(devices > 0);
}
