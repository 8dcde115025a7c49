// Copies of one row in all forms, byte by byte against a reference, in all modes.
#include "memory_kinds.hpp"

using namespace sim_test;

namespace {

constexpr std::size_t size = 4096;

} // namespace

TEST_CASE("cuMemcpy between every two kinds of memory") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Bytes from = pattern(size, 1), to = pattern(size, 2);
    for (const auto source_kind : Memory::kinds) {
        for (const auto target_kind : Memory::kinds) {
            for (const bool later : {false, true}) {
                Memory source(source_kind, from), target(target_kind, to);
                const CUstream stream = make_stream(non_blocking);
                const CUresult status =
                    later ? d.cuMemcpyAsync(target.address + 11, source.address + 3, 1000, stream)
                          : d.cuMemcpy(target.address + 11, source.address + 3, 1000);
                CHECK(status == good);
                synchronize();
                Bytes expected = to;
                std::copy(from.begin() + 3, from.begin() + 1003, expected.begin() + 11);
                CHECK((target.bytes() == expected));
                CHECK((source.bytes() == from));
                destroy(stream);
                source.end();
                target.end();
            }
        }
    }
}

TEST_CASE("the forms that say where take what an address says") {
    start();
    const Bytes from = pattern(size, 1), to = pattern(size, 2);
    const Stream stream(non_blocking);
    for (const auto source_kind : Memory::kinds) {
        for (const auto target_kind : Memory::kinds) {
            Memory source(source_kind, from), target(target_kind, to);
            const bool to_device = is_known(target_kind), from_device = is_known(source_kind);
            const auto expected = [](bool allowed) { return allowed ? good : invalid; };
            CHECK(d.cuMemcpyHtoD(target.address, as_host(source.address), 16) ==
                  expected(to_device));
            CHECK(d.cuMemcpyDtoH(as_host(target.address), source.address, 16) ==
                  expected(from_device));
            CHECK(d.cuMemcpyDtoD(target.address, source.address, 16) ==
                  expected(to_device && from_device));
            CHECK(d.cuMemcpyHtoDAsync(target.address, as_host(source.address), 16, stream) ==
                  expected(to_device));
            CHECK(d.cuMemcpyDtoHAsync(as_host(target.address), source.address, 16, stream) ==
                  expected(from_device));
            CHECK(d.cuMemcpyDtoDAsync(target.address, source.address, 16, stream) ==
                  expected(to_device && from_device));
            source.end();
            target.end();
        }
    }
}

TEST_CASE("copies that are refused at once") {
    start();
    const CUdeviceptr device = allocate(size);
    const Stream stream(non_blocking);
    char local[64] = {};
    CHECK(d.cuMemcpyHtoD(device, local, 0) == good);
    CHECK(d.cuMemcpyHtoD(0, local, 0) == good);
    CHECK(d.cuMemcpyHtoD(device, nullptr, 0) == good);
    CHECK(d.cuMemcpyHtoD(0x1234, local, 0) == good);
    CHECK(d.cuMemcpyHtoD(device, nullptr, 16) == invalid);
    CHECK(d.cuMemcpyDtoH(nullptr, device, 16) == invalid);
    CHECK(d.cuMemcpyHtoD(0x1234, local, 16) == invalid);
    CHECK(d.cuMemcpyHtoD(device + size - 8, local, 16) == invalid);
    CHECK(d.cuMemcpyHtoD(device + size, local, 1) == invalid);
    CHECK(d.cuMemcpyHtoD(device, local, ~std::size_t(0)) == invalid);
    CHECK(d.cuMemcpyDtoH(local, device + 1, ~std::size_t(0)) == invalid);
    CHECK(d.cuMemcpy(0, device, 16) == invalid);
    CHECK(d.cuMemcpy(device, 0, 16) == invalid);
    CHECK(d.cuMemcpy(device, 0, 0) == good);
    CHECK(d.cuMemcpyHtoDAsync(0x1234, local, 16, stream) == invalid);
    CHECK(d.cuMemcpyHtoDAsync(device, nullptr, 16, stream) == invalid);
    CHECK(d.cuMemcpyHtoDAsync(device + size - 8, local, 16, stream) == invalid);
    CHECK(d.cuMemcpyAsync(0, device, 16, stream) == invalid);
    CHECK(d.cuMemcpyHtoDAsync(device, local, 16, CU_STREAM_LEGACY) == good);
    CHECK(d.cuMemcpyHtoDAsync(device, local, 16, CU_STREAM_PER_THREAD) == good);
    // Memory that was freed is named.
    release(device);
    CHECK(d.cuMemcpyHtoD(device + 5, local, 16) == invalid);
    expect_misuse("use of memory that was freed: device memory");
    CHECK(d.cuMemcpyHtoDAsync(device, local, 16, stream) == invalid);
    expect_misuse("use of memory that was freed: device memory");
    // An address beside all allocations is nobody's host memory either.
    CHECK(d.cuMemcpy(as_device(local), device + 64 * MiB, 16) == invalid);
    synchronize();
}

TEST_CASE("host memory that is pinned in part") {
    start();
    const DeviceMemory device(size);
    std::vector<char> own(size);
    REQUIRE(d.cuMemHostRegister(own.data(), 1000, 0) == good);
    const PinnedMemory pinned(64);
    CHECK(d.cuMemcpyHtoD(device, own.data(), 1000) == good);
    CHECK(d.cuMemcpyHtoD(device, own.data(), size) == invalid);
    CHECK(d.cuMemcpyHtoD(device, own.data() + 992, 16) == invalid);
    CHECK(d.cuMemcpyDtoH(own.data() + 992, device, 16) == invalid);
    CHECK(d.cuMemcpyHtoD(device, own.data() + 1000, 16) == good);
    CHECK(d.cuMemcpyHtoD(device, static_cast<char *>(pinned.get()) + 56, 16) == invalid);
    REQUIRE(d.cuMemHostUnregister(own.data()) == good);
}

TEST_CASE("a context for copies") {
    start();
    const DeviceMemory device(size);
    const Stream stream(non_blocking);
    char local[64] = {};
    {
        const WithoutContext none;
        constexpr auto no_context = CUDA_ERROR_INVALID_CONTEXT;
        CHECK(d.cuMemcpy(device, device + 64, 16) == no_context);
        CHECK(d.cuMemcpy(as_device(local), as_device(local) + 32, 16) == no_context);
        CHECK(d.cuMemcpyHtoD(device, local, 16) == no_context);
        CHECK(d.cuMemcpyHtoD(0, nullptr, 0) == no_context);
        CHECK(d.cuMemcpyHtoDAsync(device, local, 16, nullptr) == no_context);
        CHECK(d.cuMemcpyHtoDAsync(device, local, 16, stream) == good);
        CHECK(d.cuMemcpyDtoHAsync(local, device, 16, stream) == good);
        CHECK(d.cuMemcpyAsync(device, as_device(local), 16, stream) == good);
        CUDA_MEMCPY2D copy{.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = local,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = device,
                           .WidthInBytes = 16,
                           .Height = 2};
        CHECK(d.cuMemcpy2D(&copy) == no_context);
        CHECK(d.cuMemcpy2DAsync(&copy, stream) == good);
    }
    synchronize();
}

TEST_CASE("when an asynchronous copy reads its source") {
    start(GENERATE("mode=adversarial;seed=1", "mode=adversarial;seed=2"));
    const DeviceMemory device(size);
    const Stream stream(non_blocking);
    const Bytes first = pattern(size, 1), second = pattern(size, 2);
    SECTION("pageable: at the call") {
        Bytes source = first;
        REQUIRE(d.cuMemcpyHtoDAsync(device, source.data(), size, stream) == good);
        source = second;
        REQUIRE(d.cuStreamSynchronize(stream) == good);
        CHECK((contents(device, size) == first));
    }
    SECTION("pinned: when it is its turn") {
        const PinnedMemory source(size);
        std::memcpy(source, first.data(), size);
        REQUIRE(d.cuMemcpyHtoDAsync(device, source, size, stream) == good);
        std::memcpy(source, second.data(), size); // too early: the copy gets these
        REQUIRE(d.cuStreamSynchronize(stream) == good);
        CHECK((contents(device, size) == second));
    }
    SECTION("to pageable memory: done when the call returns") {
        fill(device, first);
        Bytes target(size);
        REQUIRE(d.cuMemcpyDtoHAsync(target.data(), device, size, stream) == good);
        CHECK((target == first));
    }
    SECTION("to pinned memory: when it is its turn") {
        fill(device, first);
        auto *target = static_cast<unsigned char *>(allocate_pinned(size));
        std::memset(target, 0, size);
        REQUIRE(d.cuMemcpyDtoHAsync(target, device, size, stream) == good);
        CHECK((Bytes(target, target + size) == Bytes(size, 0)));
        REQUIRE(d.cuStreamSynchronize(stream) == good);
        CHECK((Bytes(target, target + size) == first));
        release(target);
    }
}

TEST_CASE("pageable memory is the client's again, however long the stream waits") {
    start(GENERATE("mode=immediate", "mode=threaded"));
    const DeviceMemory device(size), flag(4);
    std::memset(view(flag, 4), 0, 4);
    const Stream stream(non_blocking);
    const Bytes first = pattern(size, 1);
    Bytes source = first;
    REQUIRE(d.cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ) == good);
    REQUIRE(d.cuMemcpyHtoDAsync(device, source.data(), size, stream) == good);
    source.assign(size, 0);
    const Stream other(non_blocking);
    REQUIRE(d.cuMemsetD32Async(flag, 1, 1, other) == good);
    REQUIRE(d.cuStreamSynchronize(stream) == good);
    CHECK((contents(device, size) == first));
    synchronize();
}

TEST_CASE("what a synchronous copy does not wait for") {
    start("mode=adversarial");
    const DeviceMemory from(size), to(size);
    fill(from, pattern(size, 1));
    fill(to, Bytes(size, 0));
    SECTION("between devices nothing") {
        REQUIRE(d.cuMemcpyDtoD(to, from, size) == good);
        CHECK((contents(to, size) == Bytes(size, 0)));
        const unsigned int yes = 1;
        REQUIRE(d.cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, to) == good);
        fill(from, pattern(size, 2));
        REQUIRE(d.cuMemcpyDtoD(to, from, size) == good);
        CHECK((contents(to, size) == pattern(size, 2)));
    }
    SECTION("from pageable memory its end: the source is free") {
        Bytes source = pattern(size, 3);
        REQUIRE(d.cuMemcpyHtoD(to, source.data(), size) == good);
        source.assign(size, 9);
        CHECK((contents(to, size) == Bytes(size, 0)));
        synchronize();
        CHECK((contents(to, size) == pattern(size, 3)));
    }
    SECTION("from pinned memory all") {
        const PinnedMemory source(size);
        std::memset(source, 5, size);
        REQUIRE(d.cuMemcpyHtoD(to, source, size) == good);
        CHECK((contents(to, size) == Bytes(size, 5)));
    }
    SECTION("to the host all") {
        Bytes target(size);
        REQUIRE(d.cuMemcpyDtoH(target.data(), from, size) == good);
        CHECK((target == pattern(size, 1)));
    }
    synchronize();
}

TEST_CASE("copies between two devices") {
    start("devices=2;" + GENERATE_COPY(from_range(all_modes())));
    const CUcontext own = current();
    const DeviceMemory here(size);
    const OnDevice other(1);
    const DeviceMemory there(size);
    const Stream stream(non_blocking);
    const Bytes first = pattern(size, 1);
    fill(there, first);
    const auto arrives = [&](CUresult status) {
        CHECK(status == good);
        CHECK(d.cuStreamSynchronize(stream) == good);
        synchronize();
        CHECK((contents(here, size) == first));
        std::memset(view(here, size), 0, size);
    };
    arrives(d.cuMemcpyPeer(here, own, there, other.context, size));
    arrives(d.cuMemcpyPeer(here, nullptr, there, nullptr, size));
    arrives(d.cuMemcpyPeerAsync(here, own, there, other.context, size, stream));
    arrives(d.cuMemcpyDtoD(here, there, size));
    arrives(d.cuMemcpyDtoDAsync(here, there, size, stream));
    arrives(d.cuMemcpy(here, there, size));
    arrives(d.cuMemcpyAsync(here, there, size, stream));
    CUDA_MEMCPY3D_PEER copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = there;
    copy.srcContext = other.context;
    copy.dstDevice = here;
    copy.dstContext = own;
    copy.WidthInBytes = 64;
    copy.Height = 8;
    copy.Depth = 8;
    arrives(d.cuMemcpy3DPeer(&copy));
    arrives(d.cuMemcpy3DPeerAsync(&copy, stream));
    CHECK(d.cuMemcpyPeer(here, own, there, other.context, 0) == good);
    CHECK(d.cuMemcpyPeer(0, own, there, other.context, 16) == invalid);
    char local[16];
    CHECK(d.cuMemcpyPeer(as_device(local), own, there, other.context, 16) == invalid);
    // The measured driver does not mind, but the client has confused his pointers.
    arrives(d.cuMemcpyPeer(here, other.context, there, other.context, size));
    expect_misuse("cuMemcpyPeer names a context of device 1 for memory of device 0");
}

TEST_CASE("copies in a graph read pageable memory when they run") {
    start();
    const DeviceMemory device(size);
    const Stream stream(non_blocking);
    Bytes source = pattern(size, 1);
    CUgraph graph = nullptr;
    REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == good);
    REQUIRE(d.cuMemcpyHtoDAsync(device, source.data(), size, stream) == good);
    REQUIRE(d.cuStreamEndCapture(stream, &graph) == good);
    const Bytes later = pattern(size, 2);
    std::copy(later.begin(), later.end(), source.begin());
    const Executable runnable(graph);
    REQUIRE(d.cuGraphLaunch(runnable, stream) == good);
    REQUIRE(d.cuStreamSynchronize(stream) == good);
    CHECK((contents(device, size) == later));
    REQUIRE(d.cuGraphDestroy(graph) == good);
}

TEST_CASE("memory may be freed after a synchronous copy, in every mode") {
    start(GENERATE_COPY(from_range(all_modes())));
    unsigned int host[16] = {1, 2, 3};
    const DeviceMemory from(sizeof host);
    const DeviceMemory to(sizeof host);
    CHECK(d.cuMemcpyHtoD(from, host, sizeof host) == good);
    CHECK(d.cuMemcpyDtoD(to, from, sizeof host) == good);
    CHECK(d.cuMemsetD32(to, 7, 16) == good);
}
