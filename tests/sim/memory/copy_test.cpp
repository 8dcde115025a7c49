// All forms of linear copies against a byte-wise reference, in all modes.
#include "memory_kinds.hpp"

using namespace sim_test;

namespace {

constexpr std::size_t size = 4096;

} // namespace

TEST_CASE("cuMemcpy copies between all kinds of memory") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Bytes from = pattern(size, 1), to = pattern(size, 2);
    for (const auto source_kind : Memory::kinds) {
        for (const auto target_kind : Memory::kinds) {
            for (const bool later : {false, true}) {
                Memory source(source_kind, from), target(target_kind, to);
                const Stream stream(non_blocking);
                const CUresult status =
                    later ? d.cuMemcpyAsync(target.address + 11, source.address + 3, 1000, stream)
                          : d.cuMemcpy(target.address + 11, source.address + 3, 1000);
                CHECK(status == good);
                synchronize();
                Bytes expected = to;
                std::copy(from.begin() + 3, from.begin() + 1003, expected.begin() + 11);
                CHECK((target.bytes() == expected));
                CHECK((source.bytes() == from));
            }
        }
    }
}

TEST_CASE("forms that name the kind of memory accept any address CUDA knows") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Bytes from = pattern(size, 1), to = pattern(size, 2);
    const Stream stream(non_blocking);
    for (const auto source_kind : Memory::kinds) {
        for (const auto target_kind : Memory::kinds) {
            Memory source(source_kind, from), target(target_kind, to);
            const CUdeviceptr in = source.address, at = target.address;
            const CUresult to_device = is_known(target_kind) ? good : invalid,
                           from_device = is_known(source_kind) ? good : invalid,
                           both = to_device == good ? from_device : invalid;
            CHECK(d.cuMemcpyHtoD(at, as_host(in), 16) == to_device);
            CHECK(d.cuMemcpyDtoH(as_host(at), in, 16) == from_device);
            CHECK(d.cuMemcpyDtoD(at, in, 16) == both);
            CHECK(d.cuMemcpyHtoDAsync(at, as_host(in), 16, stream) == to_device);
            CHECK(d.cuMemcpyDtoHAsync(as_host(at), in, 16, stream) == from_device);
            CHECK(d.cuMemcpyDtoDAsync(at, in, 16, stream) == both);
            synchronize();
        }
    }
}

TEST_CASE("arguments of copies are checked") {
    const CUdeviceptr device = allocate(size), end = device + size;
    const Stream stream(non_blocking);
    constexpr std::size_t most = ~std::size_t(0);
    char local[64] = {};
    const Calls to_device(&Driver::cuMemcpyHtoD);
    const Calls to_host(&Driver::cuMemcpyDtoH);
    const Calls later(&Driver::cuMemcpyHtoDAsync);
    to_device[good] = {{device, local, 0}, {0, local, 0}, {device, nullptr, 0}, {0x1234, local, 0}};
    to_device[invalid] = {{device, nullptr, 16}, {0x1234, local, 16},   {end - 8, local, 16},
                          {end, local, 1},       {device, local, most}, {0, local, 16}};
    to_host[invalid] = {{nullptr, device, 16}, {local, device + 1, most}};
    CHECK(d.cuMemcpy(0, device, 16) == invalid);
    CHECK(d.cuMemcpy(device, 0, 16) == invalid);
    CHECK(d.cuMemcpy(device, 0, 0) == good);
    CHECK(d.cuMemcpyAsync(0, device, 16, stream) == invalid);
    later[invalid] = {
        {0x1234, local, 16, stream}, {device, nullptr, 16, stream}, {end - 8, local, 16, stream}};
    later[good] = {{device, local, 16, CU_STREAM_LEGACY},
                   {device, local, 16, CU_STREAM_PER_THREAD}};
    // Freed memory is reported.
    release(device);
    const std::string freed = "use of memory that was freed: device memory";
    CHECK(reported(d.cuMemcpyHtoD(device + 5, local, 16), freed) == invalid);
    CHECK(reported(d.cuMemcpyHtoDAsync(device, local, 16, stream), freed) == invalid);
    // An unused device address does not count as host memory.
    CHECK(d.cuMemcpy(as_device(local), device + 64 * MiB, 16) == invalid);
    synchronize();
}

TEST_CASE("a copy must not exceed a registered range") {
    const DeviceMemory device(size);
    std::vector<char> own(size);
    char *const at = own.data();
    const RegisteredMemory begin(at, 1000);
    const PinnedMemory pinned(64);
    const Calls copy(&Driver::cuMemcpyHtoD);
    copy[good] = {{device, at, 1000}, {device, at + 1000, 16}};
    copy[invalid] = {{device, at, size},
                     {device, at + 992, 16},
                     {device, static_cast<char *>(pinned.get()) + 56, 16}};
    CHECK(d.cuMemcpyDtoH(at + 992, device, 16) == invalid);
}

TEST_CASE("only copies in an explicit stream work without a current context") {
    const DeviceMemory device(size);
    const Stream stream(non_blocking);
    char local[64] = {};
    CUDA_MEMCPY2D copy{.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = local,
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = device,
                       .WidthInBytes = 16,
                       .Height = 2};
    {
        const WithoutContext none;
        constexpr auto no_context = CUDA_ERROR_INVALID_CONTEXT;
        CHECK(d.cuMemcpy(device, device + 64, 16) == no_context);
        CHECK(d.cuMemcpy(as_device(local), as_device(local) + 32, 16) == no_context);
        CHECK(d.cuMemcpyHtoD(device, local, 16) == no_context);
        CHECK(d.cuMemcpyHtoD(0, nullptr, 0) == no_context);
        CHECK(d.cuMemcpyHtoDAsync(device, local, 16, nullptr) == no_context);
        CHECK(d.cuMemcpy2D(&copy) == no_context);
        CHECK(d.cuMemcpyHtoDAsync(device, local, 16, stream) == good);
        CHECK(d.cuMemcpyDtoHAsync(local, device, 16, stream) == good);
        CHECK(d.cuMemcpyAsync(device, as_device(local), 16, stream) == good);
        CHECK(d.cuMemcpy2DAsync(&copy, stream) == good);
    }
    synchronize();
}

TEST_CASE("an asynchronous copy accesses pinned memory when it runs, pageable memory at once") {
    start(GENERATE("mode=adversarial;seed=1", "mode=adversarial;seed=2"));
    const DeviceMemory device(size);
    const Stream stream(non_blocking);
    const Bytes first = pattern(size, 1), second = pattern(size, 2);
    // Pageable memory is read before the call returns.
    Bytes pageable = first;
    REQUIRE(d.cuMemcpyHtoDAsync(device, pageable.data(), size, stream) == good);
    pageable = second;
    REQUIRE(d.cuStreamSynchronize(stream) == good);
    CHECK((contents(device, size) == first));
    REQUIRE(d.cuMemcpyDtoHAsync(pageable.data(), device, size, stream) == good);
    CHECK((pageable == first));
    // Pinned memory is read when the copy runs.
    const PinnedMemory pinned(size);
    std::memcpy(pinned, first.data(), size);
    REQUIRE(d.cuMemcpyHtoDAsync(device, pinned, size, stream) == good);
    std::memcpy(pinned, second.data(), size); // the copy reads these bytes
    REQUIRE(d.cuStreamSynchronize(stream) == good);
    CHECK((contents(device, size) == second));
    std::memset(pinned, 0, size);
    REQUIRE(d.cuMemcpyDtoHAsync(pinned, device, size, stream) == good);
    CHECK((contents(as_device(pinned), size) == Bytes(size, 0)));
    REQUIRE(d.cuStreamSynchronize(stream) == good);
    CHECK((contents(as_device(pinned), size) == second));
}

TEST_CASE("pageable memory can be reused at once, even if the stream is blocked") {
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

TEST_CASE("synchronous copies to the host and from pinned memory wait, others do not") {
    start("mode=adversarial");
    const DeviceMemory from(size), to(size);
    fill(from, pattern(size, 1));
    fill(to, Bytes(size, 0));
    // To the host and from pinned memory: the copy has completed.
    Bytes target(size);
    REQUIRE(d.cuMemcpyDtoH(target.data(), from, size) == good);
    CHECK((target == pattern(size, 1)));
    const PinnedMemory pinned(size);
    std::memset(pinned, 5, size);
    REQUIRE(d.cuMemcpyHtoD(to, pinned, size) == good);
    CHECK((contents(to, size) == Bytes(size, 5)));
    // From pageable memory: the source was read, the copy may be pending.
    Bytes source = pattern(size, 3);
    REQUIRE(d.cuMemcpyHtoD(to, source.data(), size) == good);
    source.assign(size, 9);
    CHECK((contents(to, size) == Bytes(size, 5)));
    synchronize();
    CHECK((contents(to, size) == pattern(size, 3)));
    // Between devices: the copy may be pending.
    REQUIRE(d.cuMemcpyDtoD(to, from, size) == good);
    CHECK((contents(to, size) == pattern(size, 3)));
    const unsigned int yes = 1;
    REQUIRE(d.cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, to) == good);
    fill(from, pattern(size, 2));
    REQUIRE(d.cuMemcpyDtoD(to, from, size) == good);
    CHECK((contents(to, size) == pattern(size, 2)));
    synchronize();
}

TEST_CASE("all peer copies and plain copies work between two devices") {
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
    // The real driver accepts wrong contexts; the simulator reports them.
    arrives(d.cuMemcpyPeer(here, other.context, there, other.context, size));
    expect_misuse("cuMemcpyPeer names a context of device 1 for memory of device 0");
}

TEST_CASE("memory may be freed right after a synchronous copy, in every mode") {
    start(GENERATE_COPY(from_range(all_modes())));
    unsigned int host[16] = {1, 2, 3};
    const DeviceMemory from(sizeof host), to(sizeof host);
    CHECK(d.cuMemcpyHtoD(from, host, sizeof host) == good);
    CHECK(d.cuMemcpyDtoD(to, from, sizeof host) == good);
    CHECK(d.cuMemsetD32(to, 7, 16) == good);
}
