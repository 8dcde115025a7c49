// Short forms for tests of two processes that share memory, events and semaphores. Each fails the
// test case if the driver fails. POSIX only.
#pragma once

#include "../support/child_process.hpp"
#include "memory_tools.hpp"

#include <sys/mman.h>

namespace sim_test {

constexpr unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
constexpr unsigned int interprocess = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

inline CUdeviceptr allocated(std::size_t size, int value) {
    const CUdeviceptr address = allocate(size);
    require_ok(driver().cuMemsetD8(address, static_cast<unsigned char>(value), size));
    require_ok(driver().cuCtxSynchronize());
    return address;
}

struct Filled : Owned<CUdeviceptr, release> {
    Filled(std::size_t size, int value) : Owned(allocated(size, value)) {}
};

inline CUipcMemHandle handle_of(CUdeviceptr address) {
    return got<CUipcMemHandle>(&Driver::cuIpcGetMemHandle, out, address);
}

inline CUipcEventHandle handle_of(CUevent event) {
    return got<CUipcEventHandle>(&Driver::cuIpcGetEventHandle, out, event);
}

inline CUresult open(CUdeviceptr &address, const CUipcMemHandle &handle) {
    return driver().cuIpcOpenMemHandle(&address, handle, lazy);
}

inline CUdeviceptr opened(const CUipcMemHandle &handle) {
    return got<CUdeviceptr>(&Driver::cuIpcOpenMemHandle, out, handle, lazy);
}

inline void close_memory(CUdeviceptr address) {
    ok(driver().cuIpcCloseMemHandle(address));
}

struct Opened : Owned<CUdeviceptr, close_memory> {
    explicit Opened(const CUipcMemHandle &handle) : Owned(opened(handle)) {}
};

inline int byte_at(CUdeviceptr address) {
    return got<unsigned char>(&Driver::cuMemcpyDtoH, out, address, 1);
}

inline void set_byte(CUdeviceptr address, int value) {
    const auto byte = static_cast<unsigned char>(value);
    require_ok(driver().cuMemcpyHtoD(address, &byte, 1));
    require_ok(driver().cuCtxSynchronize()); // visible to other processes
}

inline void end(CUstream stream) {
    ok(driver().cuStreamSynchronize(stream));
    ok(driver().cuStreamDestroy(stream));
}

// The child has ended without a failure.
inline void ended(Child &child) {
    CHECK(child.passed());
}

// Another API's view of a timeline.
class Gate : Unique {
  public:
    explicit Gate(std::uint64_t initial) : fd(sim_control().make_semaphore_fd(initial)) {
        REQUIRE(fd >= 0);
        state = static_cast<cushim_sim_semaphore *>(
            mmap(nullptr, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        REQUIRE(state != MAP_FAILED);
        REQUIRE(state->magic == CUSHIM_SIM_SEMAPHORE_MAGIC);
    }
    ~Gate() {
        munmap(state, sizeof *state);
        close(fd);
    }
    std::uint64_t value() const { return std::atomic_ref(state->value).load(); }
    void set(std::uint64_t value) { std::atomic_ref(state->value).store(value); }

    int fd;
    cushim_sim_semaphore *state = nullptr;
};

inline CUevent opened_event(const CUipcEventHandle &handle) {
    return got<CUevent>(&Driver::cuIpcOpenEventHandle, out, handle);
}

} // namespace sim_test
