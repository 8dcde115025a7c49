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
                    later ? driver().cuMemcpyAsync(target.address + 11, source.address + 3, 1000,
                                                   stream)
                          : driver().cuMemcpy(target.address + 11, source.address + 3, 1000);
                CHECK(status == CUDA_SUCCESS);
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
            const CUresult to_device = is_known(target_kind) ? CUDA_SUCCESS : invalid,
                           from_device = is_known(source_kind) ? CUDA_SUCCESS : invalid,
                           both = to_device == CUDA_SUCCESS ? from_device : invalid;
            CHECK(driver().cuMemcpyHtoD(at, as_host(in), 16) == to_device);
            CHECK(driver().cuMemcpyDtoH(as_host(at), in, 16) == from_device);
            CHECK(driver().cuMemcpyDtoD(at, in, 16) == both);
            CHECK(driver().cuMemcpyHtoDAsync(at, as_host(in), 16, stream) == to_device);
            CHECK(driver().cuMemcpyDtoHAsync(as_host(at), in, 16, stream) == from_device);
            CHECK(driver().cuMemcpyDtoDAsync(at, in, 16, stream) == both);
            synchronize();
        }
    }
}

TEST_CASE("a copy must not exceed its memory or a registered range") {
    const CUdeviceptr device = allocate(size);
    const Stream stream(non_blocking);
    std::vector<char> own(size);
    char *const at = own.data();
    const Calls to_device(&Driver::cuMemcpyHtoD);
    {
        const RegisteredMemory begin(at, 1000);
        const PinnedMemory pinned(64);
        to_device[CUDA_SUCCESS] = {{device, at, 1000}, {device, at + 1000, 16}};
        to_device[invalid] = {{device, at, size},
                              {device, at + 992, 16},
                              {device, static_cast<char *>(pinned.get()) + 56, 16}};
        CHECK(driver().cuMemcpyDtoH(at + 992, device, 16) == invalid);
    }
    to_device[invalid] = {{device + size - 8, at, 16}, {device, at, ~std::size_t(0)}};
    CHECK(driver().cuMemcpyDtoH(at, device + 1, ~std::size_t(0)) == invalid);
    CHECK(driver().cuMemcpyHtoDAsync(device + size - 8, at, 16, stream) == invalid);
    // Freed memory is reported.
    release(device);
    const std::string freed = "use of memory that was freed: device memory";
    CHECK(reported(driver().cuMemcpyHtoD(device + 5, at, 16), freed) == invalid);
    CHECK(reported(driver().cuMemcpyHtoDAsync(device, at, 16, stream), freed) == invalid);
    // An unused device address does not count as host memory.
    CHECK(driver().cuMemcpy(as_device(at), device + 64 * MiB, 16) == invalid);
}

TEST_CASE("an asynchronous copy accesses pinned memory when it runs, pageable memory at once") {
    start(GENERATE("mode=adversarial;seed=1", "mode=adversarial;seed=2"));
    const DeviceMemory device(size);
    const Stream stream(non_blocking);
    const Bytes first = pattern(size, 1), second = pattern(size, 2);
    // Pageable memory is read before the call returns.
    Bytes pageable = first;
    require_ok(driver().cuMemcpyHtoDAsync(device, pageable.data(), size, stream));
    pageable = second;
    require_ok(driver().cuStreamSynchronize(stream));
    CHECK((contents(device, size) == first));
    require_ok(driver().cuMemcpyDtoHAsync(pageable.data(), device, size, stream));
    CHECK((pageable == first));
    // Pinned memory is read when the copy runs.
    const PinnedMemory pinned(size);
    std::memcpy(pinned, first.data(), size);
    require_ok(driver().cuMemcpyHtoDAsync(device, pinned, size, stream));
    std::memcpy(pinned, second.data(), size); // the copy reads these bytes
    require_ok(driver().cuStreamSynchronize(stream));
    CHECK((contents(device, size) == second));
    std::memset(pinned, 0, size);
    require_ok(driver().cuMemcpyDtoHAsync(pinned, device, size, stream));
    CHECK((contents(as_device(pinned), size) == Bytes(size, 0)));
    require_ok(driver().cuStreamSynchronize(stream));
    CHECK((contents(as_device(pinned), size) == second));
}

TEST_CASE("pageable memory can be reused at once, even if the stream is blocked") {
    start(GENERATE("mode=immediate", "mode=threaded"));
    const DeviceMemory device(size), flag(4);
    std::memset(view(flag, 4), 0, 4);
    const Stream stream(non_blocking);
    const Bytes first = pattern(size, 1);
    Bytes source = first;
    require_ok(driver().cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    require_ok(driver().cuMemcpyHtoDAsync(device, source.data(), size, stream));
    source.assign(size, 0);
    const Stream other(non_blocking);
    require_ok(driver().cuMemsetD32Async(flag, 1, 1, other));
    require_ok(driver().cuStreamSynchronize(stream));
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
    require_ok(driver().cuMemcpyDtoH(target.data(), from, size));
    CHECK((target == pattern(size, 1)));
    const PinnedMemory pinned(size);
    std::memset(pinned, 5, size);
    require_ok(driver().cuMemcpyHtoD(to, pinned, size));
    CHECK((contents(to, size) == Bytes(size, 5)));
    // From pageable memory: the source was read, the copy may be pending.
    Bytes source = pattern(size, 3);
    require_ok(driver().cuMemcpyHtoD(to, source.data(), size));
    source.assign(size, 9);
    CHECK((contents(to, size) == Bytes(size, 5)));
    synchronize();
    CHECK((contents(to, size) == pattern(size, 3)));
    // Between devices: the copy may be pending.
    require_ok(driver().cuMemcpyDtoD(to, from, size));
    CHECK((contents(to, size) == pattern(size, 3)));
    const unsigned int yes = 1;
    require_ok(driver().cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, to));
    fill(from, pattern(size, 2));
    require_ok(driver().cuMemcpyDtoD(to, from, size));
    CHECK((contents(to, size) == pattern(size, 2)));
    synchronize();
}

// The real driver accepts wrong contexts.
TEST_CASE("a peer copy that names a context of another device than its memory is reported") {
    start("devices=2");
    const DeviceMemory here(size);
    const OnDevice other(1);
    const DeviceMemory there(size);
    char local[16];
    ok(reported(driver().cuMemcpyPeer(here, other.context, there, other.context, size),
                "cuMemcpyPeer names a context of device 1 for memory of device 0"));
    CHECK(driver().cuMemcpyPeer(as_device(local), nullptr, there, other.context, 16) == invalid);
    synchronize();
}

TEST_CASE("memory may be freed right after a synchronous copy, in every mode") {
    start(GENERATE_COPY(from_range(all_modes())));
    unsigned int host[16] = {1, 2, 3};
    const DeviceMemory from(sizeof host), to(sizeof host);
    ok(driver().cuMemcpyHtoD(from, host, sizeof host));
    ok(driver().cuMemcpyDtoD(to, from, sizeof host));
    ok(driver().cuMemsetD32(to, 7, 16));
}
