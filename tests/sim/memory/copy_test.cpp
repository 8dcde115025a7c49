// Copies of one row in all forms, byte by byte against a reference, in all modes.
#include "memory_kinds.hpp"

#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

using namespace sim_test;

namespace {

constexpr std::size_t size = 4096;

} // namespace

TEST_CASE("cuMemcpy between every two kinds of memory", "[copy]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Bytes from = pattern(size, 1), to = pattern(size, 2);
    for (const auto source_kind : Memory::kinds) {
        for (const auto target_kind : Memory::kinds) {
            for (const bool later : {false, true}) {
                Memory source(source_kind, from), target(target_kind, to);
                const CUstream stream = new_stream();
                const CUresult status =
                    later ? cu.cuMemcpyAsync(target.address + 11, source.address + 3, 1000, stream)
                          : cu.cuMemcpy(target.address + 11, source.address + 3, 1000);
                CHECK(status == good);
                synchronize();
                Bytes expected = to;
                std::copy(from.begin() + 3, from.begin() + 1003, expected.begin() + 11);
                CHECK((target.bytes() == expected));
                CHECK((source.bytes() == from));
                release(stream);
                source.end();
                target.end();
            }
        }
    }
}

TEST_CASE("the forms that say where take what an address says", "[copy]") {
    start();
    const Bytes from = pattern(size, 1), to = pattern(size, 2);
    const CUstream stream = new_stream();
    for (const auto source_kind : Memory::kinds) {
        for (const auto target_kind : Memory::kinds) {
            Memory source(source_kind, from), target(target_kind, to);
            const bool to_device = is_known(target_kind), from_device = is_known(source_kind);
            const auto expected = [](bool allowed) { return allowed ? good : invalid; };
            CHECK(cu.cuMemcpyHtoD(target.address, as_host(source.address), 16) ==
                  expected(to_device));
            CHECK(cu.cuMemcpyDtoH(as_host(target.address), source.address, 16) ==
                  expected(from_device));
            CHECK(cu.cuMemcpyDtoD(target.address, source.address, 16) ==
                  expected(to_device && from_device));
            CHECK(cu.cuMemcpyHtoDAsync(target.address, as_host(source.address), 16, stream) ==
                  expected(to_device));
            CHECK(cu.cuMemcpyDtoHAsync(as_host(target.address), source.address, 16, stream) ==
                  expected(from_device));
            CHECK(cu.cuMemcpyDtoDAsync(target.address, source.address, 16, stream) ==
                  expected(to_device && from_device));
            source.end();
            target.end();
        }
    }
    release(stream);
}

TEST_CASE("copies that are refused at once", "[copy]") {
    start();
    const CUdeviceptr device = allocate(size);
    const CUstream stream = new_stream();
    char local[64] = {};
    CHECK(cu.cuMemcpyHtoD(device, local, 0) == good);
    CHECK(cu.cuMemcpyHtoD(0, local, 0) == good);
    CHECK(cu.cuMemcpyHtoD(device, nullptr, 0) == good);
    CHECK(cu.cuMemcpyHtoD(0x1234, local, 0) == good);
    CHECK(cu.cuMemcpyHtoD(device, nullptr, 16) == invalid);
    CHECK(cu.cuMemcpyDtoH(nullptr, device, 16) == invalid);
    CHECK(cu.cuMemcpyHtoD(0x1234, local, 16) == invalid);
    CHECK(cu.cuMemcpyHtoD(device + size - 8, local, 16) == invalid);
    CHECK(cu.cuMemcpyHtoD(device + size, local, 1) == invalid);
    CHECK(cu.cuMemcpyHtoD(device, local, ~std::size_t(0)) == invalid);
    CHECK(cu.cuMemcpyDtoH(local, device + 1, ~std::size_t(0)) == invalid);
    CHECK(cu.cuMemcpy(0, device, 16) == invalid);
    CHECK(cu.cuMemcpy(device, 0, 16) == invalid);
    CHECK(cu.cuMemcpy(device, 0, 0) == good);
    CHECK(cu.cuMemcpyHtoDAsync(0x1234, local, 16, stream) == invalid);
    CHECK(cu.cuMemcpyHtoDAsync(device, nullptr, 16, stream) == invalid);
    CHECK(cu.cuMemcpyHtoDAsync(device + size - 8, local, 16, stream) == invalid);
    CHECK(cu.cuMemcpyAsync(0, device, 16, stream) == invalid);
    CHECK(cu.cuMemcpyHtoDAsync(device, local, 16, CU_STREAM_LEGACY) == good);
    CHECK(cu.cuMemcpyHtoDAsync(device, local, 16, CU_STREAM_PER_THREAD) == good);
    // Memory that was freed is named.
    release(device);
    CHECK(cu.cuMemcpyHtoD(device + 5, local, 16) == invalid);
    expect_misuse("use of memory that was freed: device memory");
    CHECK(cu.cuMemcpyHtoDAsync(device, local, 16, stream) == invalid);
    expect_misuse("use of memory that was freed: device memory");
    // An address beside all allocations is nobody's host memory either.
    CHECK(cu.cuMemcpy(as_device(local), device + 64 * MiB, 16) == invalid);
    synchronize();
    release(stream);
}

TEST_CASE("host memory that is pinned in part", "[copy]") {
    start();
    const CUdeviceptr device = allocate(size);
    std::vector<char> own(size);
    REQUIRE(cu.cuMemHostRegister(own.data(), 1000, 0) == good);
    void *pinned = allocate_pinned(64);
    CHECK(cu.cuMemcpyHtoD(device, own.data(), 1000) == good);
    CHECK(cu.cuMemcpyHtoD(device, own.data(), size) == invalid);
    CHECK(cu.cuMemcpyHtoD(device, own.data() + 992, 16) == invalid);
    CHECK(cu.cuMemcpyDtoH(own.data() + 992, device, 16) == invalid);
    CHECK(cu.cuMemcpyHtoD(device, own.data() + 1000, 16) == good);
    CHECK(cu.cuMemcpyHtoD(device, static_cast<char *>(pinned) + 56, 16) == invalid);
    REQUIRE(cu.cuMemHostUnregister(own.data()) == good);
    release(pinned);
    release(device);
}

TEST_CASE("a context for copies", "[copy]") {
    start();
    const CUdeviceptr device = allocate(size);
    const CUstream stream = new_stream();
    char local[64] = {};
    {
        const WithoutContext none;
        constexpr auto no_context = CUDA_ERROR_INVALID_CONTEXT;
        CHECK(cu.cuMemcpy(device, device + 64, 16) == no_context);
        CHECK(cu.cuMemcpy(as_device(local), as_device(local) + 32, 16) == no_context);
        CHECK(cu.cuMemcpyHtoD(device, local, 16) == no_context);
        CHECK(cu.cuMemcpyHtoD(0, nullptr, 0) == no_context);
        CHECK(cu.cuMemcpyHtoDAsync(device, local, 16, nullptr) == no_context);
        CHECK(cu.cuMemcpyHtoDAsync(device, local, 16, stream) == good);
        CHECK(cu.cuMemcpyDtoHAsync(local, device, 16, stream) == good);
        CHECK(cu.cuMemcpyAsync(device, as_device(local), 16, stream) == good);
        CUDA_MEMCPY2D copy{};
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = local;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = device;
        copy.WidthInBytes = 16;
        copy.Height = 2;
        CHECK(cu.cuMemcpy2D(&copy) == no_context);
        CHECK(cu.cuMemcpy2DAsync(&copy, stream) == good);
    }
    synchronize();
    release(stream);
    release(device);
}

TEST_CASE("when an asynchronous copy reads its source", "[copy]") {
    start(GENERATE("mode=adversarial;seed=1", "mode=adversarial;seed=2"));
    const CUdeviceptr device = allocate(size);
    const CUstream stream = new_stream();
    const Bytes first = pattern(size, 1), second = pattern(size, 2);
    SECTION("pageable: at the call") {
        Bytes source = first;
        REQUIRE(cu.cuMemcpyHtoDAsync(device, source.data(), size, stream) == good);
        source = second;
        REQUIRE(cu.cuStreamSynchronize(stream) == good);
        CHECK((contents(device, size) == first));
    }
    SECTION("pinned: when it is its turn") {
        void *source = allocate_pinned(size);
        std::memcpy(source, first.data(), size);
        REQUIRE(cu.cuMemcpyHtoDAsync(device, source, size, stream) == good);
        std::memcpy(source, second.data(), size); // too early: the copy gets these
        REQUIRE(cu.cuStreamSynchronize(stream) == good);
        CHECK((contents(device, size) == second));
        release(source);
    }
    SECTION("to pageable memory: done when the call returns") {
        fill(device, first);
        Bytes target(size);
        REQUIRE(cu.cuMemcpyDtoHAsync(target.data(), device, size, stream) == good);
        CHECK((target == first));
    }
    SECTION("to pinned memory: when it is its turn") {
        fill(device, first);
        auto *target = static_cast<unsigned char *>(allocate_pinned(size));
        std::memset(target, 0, size);
        REQUIRE(cu.cuMemcpyDtoHAsync(target, device, size, stream) == good);
        CHECK((Bytes(target, target + size) == Bytes(size, 0)));
        REQUIRE(cu.cuStreamSynchronize(stream) == good);
        CHECK((Bytes(target, target + size) == first));
        release(target);
    }
    release(stream);
    release(device);
}

TEST_CASE("pageable memory is the client's again, however long the stream waits", "[copy]") {
    start(GENERATE("mode=immediate", "mode=threaded"));
    const CUdeviceptr device = allocate(size), flag = allocate(4);
    std::memset(view(flag, 4), 0, 4);
    const CUstream stream = new_stream();
    const Bytes first = pattern(size, 1);
    Bytes source = first;
    REQUIRE(cu.cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ) == good);
    REQUIRE(cu.cuMemcpyHtoDAsync(device, source.data(), size, stream) == good);
    source.assign(size, 0);
    const CUstream other = new_stream();
    REQUIRE(cu.cuMemsetD32Async(flag, 1, 1, other) == good);
    REQUIRE(cu.cuStreamSynchronize(stream) == good);
    CHECK((contents(device, size) == first));
    synchronize();
    release(other);
    release(stream);
    release(flag);
    release(device);
}

TEST_CASE("what a synchronous copy does not wait for", "[copy]") {
    start("mode=adversarial");
    const CUdeviceptr from = allocate(size), to = allocate(size);
    fill(from, pattern(size, 1));
    fill(to, Bytes(size, 0));
    SECTION("between devices nothing") {
        REQUIRE(cu.cuMemcpyDtoD(to, from, size) == good);
        CHECK((contents(to, size) == Bytes(size, 0)));
        const unsigned int yes = 1;
        REQUIRE(cu.cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, to) == good);
        fill(from, pattern(size, 2));
        REQUIRE(cu.cuMemcpyDtoD(to, from, size) == good);
        CHECK((contents(to, size) == pattern(size, 2)));
    }
    SECTION("from pageable memory its end: the source is free") {
        Bytes source = pattern(size, 3);
        REQUIRE(cu.cuMemcpyHtoD(to, source.data(), size) == good);
        source.assign(size, 9);
        CHECK((contents(to, size) == Bytes(size, 0)));
        synchronize();
        CHECK((contents(to, size) == pattern(size, 3)));
    }
    SECTION("from pinned memory all") {
        void *source = allocate_pinned(size);
        std::memset(source, 5, size);
        REQUIRE(cu.cuMemcpyHtoD(to, source, size) == good);
        CHECK((contents(to, size) == Bytes(size, 5)));
        release(source);
    }
    SECTION("to the host all") {
        Bytes target(size);
        REQUIRE(cu.cuMemcpyDtoH(target.data(), from, size) == good);
        CHECK((target == pattern(size, 1)));
    }
    synchronize();
    release(from);
    release(to);
}

TEST_CASE("copies between two devices", "[copy]") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    CUcontext own = nullptr;
    REQUIRE(cu.cuCtxGetCurrent(&own) == good);
    const CUdeviceptr here = allocate(size);
    const OnDevice other(1);
    const CUdeviceptr there = allocate(size);
    const CUstream stream = new_stream();
    const Bytes first = pattern(size, 1);
    fill(there, first);
    const auto arrives = [&](CUresult status) {
        CHECK(status == good);
        CHECK(cu.cuStreamSynchronize(stream) == good);
        synchronize();
        CHECK((contents(here, size) == first));
        std::memset(view(here, size), 0, size);
    };
    arrives(cu.cuMemcpyPeer(here, own, there, other.context, size));
    arrives(cu.cuMemcpyPeer(here, nullptr, there, nullptr, size));
    arrives(cu.cuMemcpyPeerAsync(here, own, there, other.context, size, stream));
    arrives(cu.cuMemcpyDtoD(here, there, size));
    arrives(cu.cuMemcpyDtoDAsync(here, there, size, stream));
    arrives(cu.cuMemcpy(here, there, size));
    arrives(cu.cuMemcpyAsync(here, there, size, stream));
    CUDA_MEMCPY3D_PEER copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = there;
    copy.srcContext = other.context;
    copy.dstDevice = here;
    copy.dstContext = own;
    copy.WidthInBytes = 64;
    copy.Height = 8;
    copy.Depth = 8;
    arrives(cu.cuMemcpy3DPeer(&copy));
    arrives(cu.cuMemcpy3DPeerAsync(&copy, stream));
    CHECK(cu.cuMemcpyPeer(here, own, there, other.context, 0) == good);
    CHECK(cu.cuMemcpyPeer(0, own, there, other.context, 16) == invalid);
    char local[16];
    CHECK(cu.cuMemcpyPeer(as_device(local), own, there, other.context, 16) == invalid);
    // The measured driver does not mind, but the client has confused his pointers.
    arrives(cu.cuMemcpyPeer(here, other.context, there, other.context, size));
    expect_misuse("cuMemcpyPeer names a context of device 1 for memory of device 0");
    release(stream);
    release(there);
    release(here);
}

TEST_CASE("copies in a graph read pageable memory when they run", "[copy]") {
    start();
    const CUdeviceptr device = allocate(size);
    const CUstream stream = new_stream();
    Bytes source = pattern(size, 1);
    CUgraph graph = nullptr;
    REQUIRE(cu.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == good);
    REQUIRE(cu.cuMemcpyHtoDAsync(device, source.data(), size, stream) == good);
    REQUIRE(cu.cuStreamEndCapture(stream, &graph) == good);
    const Bytes later = pattern(size, 2);
    std::copy(later.begin(), later.end(), source.begin());
    CUgraphExec runnable = nullptr;
    REQUIRE(cu.cuGraphInstantiateWithFlags(&runnable, graph, 0) == good);
    REQUIRE(cu.cuGraphLaunch(runnable, stream) == good);
    REQUIRE(cu.cuStreamSynchronize(stream) == good);
    CHECK((contents(device, size) == later));
    REQUIRE(cu.cuGraphExecDestroy(runnable) == good);
    REQUIRE(cu.cuGraphDestroy(graph) == good);
    release(stream);
    release(device);
}

TEST_CASE("memory may be freed after a synchronous copy, in every mode", "[copy]") {
    start(GENERATE_COPY(from_range(all_modes())));
    CUdeviceptr from = 0, to = 0;
    unsigned int host[16] = {1, 2, 3};
    REQUIRE(cu.cuMemAlloc(&from, sizeof host) == CUDA_SUCCESS);
    REQUIRE(cu.cuMemAlloc(&to, sizeof host) == CUDA_SUCCESS);
    CHECK(cu.cuMemcpyHtoD(from, host, sizeof host) == CUDA_SUCCESS);
    CHECK(cu.cuMemcpyDtoD(to, from, sizeof host) == CUDA_SUCCESS);
    CHECK(cu.cuMemsetD32(to, 7, 16) == CUDA_SUCCESS);
    CHECK(cu.cuMemFree(from) == CUDA_SUCCESS);
    CHECK(cu.cuMemFree(to) == CUDA_SUCCESS);
}
