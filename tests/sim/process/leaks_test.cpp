// The leak report, beyond objects that still exist: calls that were not undone, what ended with its
// context or stream, and what was lost with a context that failed.
#include "../support/contains.hpp"
#include "capture_tools.hpp"
#include "images.hpp"
#include "plan_fault.hpp"
#include "run_order.hpp"
#include "vmm_ranges.hpp"

#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

using namespace sim_test;
using support::contains;

namespace {

// The only leak, or "".
std::string leak() {
    const auto lines = leaks();
    CHECK(lines.size() <= 1);
    return lines.empty() ? "" : lines.front();
}

} // namespace

TEST_CASE("a primary context is a leak until each retain is released") {
    start("devices=2");
    retain_primary(1);
    CHECK(contains(leak(),
                   "primary context of device 1 retained by cuDevicePrimaryCtxRetain in call "));
    retain_primary(1);
    const auto two = leaks();
    REQUIRE(two.size() == 2);
    CHECK(two[0] != two[1]); // another call
    ok(driver().cuDevicePrimaryCtxRelease(1));
    CHECK(leak() == two[0]);
    ok(driver().cuDevicePrimaryCtxRelease(1));
    CHECK(leak().empty());
}

TEST_CASE("a reset primary context is not a leak") {
    start("devices=2");
    retain_primary(1);
    ok(driver().cuDevicePrimaryCtxReset(1));
    CHECK(leak().empty());
}

TEST_CASE("a primary context retained by the runtime is not a leak", "[fresh]") {
    require_ok(runtime().cudaFree(nullptr));
    unsigned int flags = 0;
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 1);
    CHECK(leak().empty());
}

TEST_CASE("a pushed context is a leak until it is popped") {
    const CUcontext context = current();
    require_ok(driver().cuCtxPushCurrent(context));
    CHECK(contains(leak(), "of device 0 pushed by cuCtxPushCurrent"));
    ok(driver().cuCtxSetCurrent(context)); // replaces it
    CHECK(contains(leak(), "pushed by cuCtxPushCurrent"));
    pop_current();
    CHECK(leak().empty());
    require_ok(driver().cuCtxPushCurrent(context));
    ok(driver().cuCtxSetCurrent(nullptr)); // pops it
    CHECK(leak().empty());
}

TEST_CASE("a destroyed context is no longer reported as pushed") {
    const CUcontext context = make_context();
    pop_current();
    require_ok(driver().cuCtxPushCurrent(context));
    CHECK(leaks().size() == 2); // and the context itself
    destroy(context);
    CHECK(leak().empty());
    // A context that becomes current later was not pushed.
    const CUcontext other = make_context();
    CHECK(contains(leak(), "context"));
    destroy(other);
}

TEST_CASE("a context that is destroyed while it is pushed is a leak until it is popped") {
    start("devices=2");
    require_ok(driver().cuCtxPushCurrent(retain_primary(1)));
    ok(driver().cuDevicePrimaryCtxRelease(1));
    CHECK(contains(leak(), "of device 1 pushed by cuCtxPushCurrent"));
    pop_current();
    CHECK(leak().empty());
}

TEST_CASE("memory that is not freed before its context ends is a leak") {
    const auto make_memory = [] {
        allocate(64);
        release(allocate(64));
        allocate_managed(64);
        allocate_pinned(64);
        const CUDA_ARRAY3D_DESCRIPTOR description{
            .Width = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
        got<CUarray>(&Driver::cuArray3DCreate, out, &description);
        got<CUmipmappedArray>(&Driver::cuMipmappedArrayCreate, out, &description, 1);
        // CUDA frees these with the context.
        make_stream();
        make_event();
        load_module(vector_image);
    };
    const auto sorted = [](std::vector<std::string> lines) {
        std::sort(lines.begin(), lines.end());
        for (std::string &line : lines) {
            line.resize(line.find(' '));
        }
        return lines;
    };
    const std::vector<std::string> left = {"array", "device", "managed", "mipmapped", "pinned"};
    SECTION("cuCtxDestroy") {
        const CUcontext context = make_context();
        make_memory();
        destroy(context);
        CHECK(contains(leaks().front(), ", ended by cuCtxDestroy"));
        CHECK(sorted(leaks()) == left);
    }
    SECTION("the last release") {
        start("devices=2");
        require_ok(driver().cuCtxSetCurrent(retain_primary(1)));
        make_memory();
        ok(driver().cuDevicePrimaryCtxRelease(1));
        CHECK(sorted(leaks()) == left);
    }
    SECTION("a reset by the runtime") {
        make_memory();
        ok(runtime().cudaDeviceReset());
        CHECK(contains(leaks().front(), ", ended by cudaDeviceReset in call "));
        CHECK(sorted(leaks()) == left);
    }
    allow_leaks();
}

TEST_CASE("a capture is a leak until it ends, or if its stream is destroyed before") {
    const Stream stream(non_blocking);
    require_ok(begin_capture(stream));
    CHECK(contains(leaks().back(), "begun by cuStreamBeginCapture"));
    CHECK(leaks().size() == 2); // and the stream
    {
        const Graph graph(end_capture(stream));
        CHECK(leaks().size() == 2);
        const CUstream other = make_stream(non_blocking);
        require_ok(begin_capture(other));
        CHECK(leaks().size() == 4);
        destroy(other);
    }
    expect_ended({"capture of stream"});
    CHECK(leaks().size() == 1);
}

TEST_CASE("what belongs to a context that failed is lost and is not a leak") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    const CUcontext failing = current();
    require_ok(driver().cuCtxSetCurrent(retain_primary(1)));
    const CUdeviceptr other = allocate(64);
    const CUgraph other_graph = make_graph();
    CHECK(leaks().size() == 3); // and the retained context
    require_ok(driver().cuCtxSetCurrent(failing));
    const CUstream stream = make_stream();
    const CUdeviceptr memory = allocate(64),
                      from_pool = got<CUdeviceptr>(&Driver::cuMemAllocAsync, out, 64, stream);
    make_graph();
    require_ok(driver().cuCtxPushCurrent(failing));
    fail_work("cuLaunchHostFunc", CUDA_ERROR_ILLEGAL_ADDRESS);
    RunOrder order;
    require_ok(order.launch(stream, 1));
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    driver().cuMemFree(memory);
    CHECK(driver().cuMemFreeAsync(from_pool, stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(leaks().size() == 3);
    const auto lost = lines_of(&cushim_sim::lost);
    CHECK(lost.size() == 5);
    for (const char *kind :
         {"stream", "pool memory", "graph", "primary context of device 0", "context"}) {
        INFO(kind);
        CHECK(std::any_of(lost.begin(), lost.end(),
                          [&](const std::string &line) { return line.starts_with(kind); }));
    }
    ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(leaks().size() == 3);
    require_ok(driver().cuCtxSetCurrent(retain_primary(1)));
    release(other);
    destroy(other_graph);
    ok(driver().cuDevicePrimaryCtxRelease(1));
    ok(driver().cuDevicePrimaryCtxRelease(1));
}

TEST_CASE("peer access is a leak until it is disabled or a context is released") {
    start("devices=2");
    const CUcontext other = retain_primary(1);
    require_ok(driver().cuCtxEnablePeerAccess(other, 0));
    REQUIRE(leaks().size() == 2);
    CHECK(contains(leaks()[1], "of device 1 enabled by cuCtxEnablePeerAccess in call "));
    ok(driver().cuCtxDisablePeerAccess(other));
    CHECK(leaks().size() == 1);
    require_ok(driver().cuCtxEnablePeerAccess(other, 0));
    ok(driver().cuDevicePrimaryCtxRelease(1));
    CHECK(leak().empty());
}

#ifndef _WIN32
TEST_CASE("an exported descriptor is a leak until it is closed") {
    const int descriptor = export_fd(PhysicalMemory(G, exportable()));
    CHECK(contains(leak(), "open descriptor " + std::to_string(descriptor) +
                               " exported by cuMemExportToShareableHandle in call "));
    close(descriptor);
    CHECK(leak().empty());
    // Another file may get the same number.
    REQUIRE(dup2(0, descriptor) == descriptor);
    CHECK(leak().empty());
    close(descriptor);
}

namespace {

constexpr std::size_t mapped_size = 2 * MiB;

void *map_and_register() {
    void *pages =
        mmap(nullptr, mapped_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    require_ok(driver().cuMemHostRegister(pages, mapped_size, 0));
    return pages;
}

} // namespace

TEST_CASE("memory that is unmapped before it is unregistered is a misuse") {
    void *pages = map_and_register();
    munmap(pages, mapped_size);
    ok(driver().cuMemHostUnregister(pages));
    expect_misuse("before it was unregistered: registered host memory");
}

TEST_CASE("enqueued work that uses registered memory after it was unmapped is a misuse") {
    start("mode=adversarial");
    void *pages = map_and_register();
    require_ok(driver().cuMemcpyHtoDAsync(allocate(mapped_size), pages, mapped_size, nullptr));
    munmap(pages, mapped_size);
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("use of registered memory that the program has unmapped");
}
#endif
