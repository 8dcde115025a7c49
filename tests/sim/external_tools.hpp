// External memory and semaphores for tests. POSIX only.
#pragma once

#include "process_tools.hpp"

#include <unistd.h>

namespace sim_test {

constexpr auto timeline = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
constexpr auto binary = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;

inline CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC semaphore_of(int fd,
                                                        CUexternalSemaphoreHandleType type) {
    return {.type = type, .handle = {.fd = fd}};
}
inline CUexternalSemaphore import_semaphore(int fd, CUexternalSemaphoreHandleType type = timeline) {
    const auto description = semaphore_of(fd, type);
    return got<CUexternalSemaphore>(&Driver::cuImportExternalSemaphore, out, &description);
}
inline void end(CUexternalSemaphore semaphore) {
    ok(driver().cuDestroyExternalSemaphore(semaphore));
}
// The import takes ownership of the descriptor.
struct Semaphore : Owned<CUexternalSemaphore, end> {
    explicit Semaphore(int fd, CUexternalSemaphoreHandleType type = timeline)
        : Owned(import_semaphore(fd, type)) {}
    // Imports a copy of the descriptor.
    explicit Semaphore(const Gate &gate, CUexternalSemaphoreHandleType type = timeline)
        : Semaphore(dup(gate.fd), type) {}
};

inline CUresult signal(CUexternalSemaphore semaphore, std::uint64_t value, CUstream stream) {
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS parameters{.params = {.fence = {.value = value}}};
    return driver().cuSignalExternalSemaphoresAsync(&semaphore, &parameters, 1, stream);
}
inline CUresult wait(CUexternalSemaphore semaphore, std::uint64_t value, CUstream stream) {
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS parameters{.params = {.fence = {.value = value}}};
    return driver().cuWaitExternalSemaphoresAsync(&semaphore, &parameters, 1, stream);
}

inline CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory_of(int fd, std::size_t size) {
    constexpr auto type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    return {.type = type, .handle = {.fd = fd}, .size = size};
}
inline CUexternalMemory import_memory(int fd, std::size_t size) {
    const auto description = memory_of(fd, size);
    return got<CUexternalMemory>(&Driver::cuImportExternalMemory, out, &description);
}
inline void end(CUexternalMemory memory) {
    ok(driver().cuDestroyExternalMemory(memory));
}
// The import takes ownership of the descriptor.
struct ExternalMemory : Owned<CUexternalMemory, end> {
    ExternalMemory(int fd, std::size_t size) : Owned(import_memory(fd, size)) {}
};

inline CUresult map(CUdeviceptr &address, CUexternalMemory memory, unsigned long long offset,
                    unsigned long long size, unsigned int flags = 0) {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{.offset = offset, .size = size, .flags = flags};
    return driver().cuExternalMemoryGetMappedBuffer(&address, memory, &description);
}
inline CUdeviceptr mapped(CUexternalMemory memory, unsigned long long offset,
                          unsigned long long size) {
    CUdeviceptr address = 0;
    require_ok(map(address, memory, offset, size));
    return address;
}

// Another API's mapping of the memory.
template <class T>
class Theirs : Unique {
  public:
    Theirs(int fd, std::size_t size) : size_(size) {
        void *pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        REQUIRE(pages != MAP_FAILED);
        values_ = static_cast<T *>(pages);
    }
    ~Theirs() { munmap(values_, size_); }
    T &operator[](std::size_t index) const { return values_[index]; }

  private:
    std::size_t size_;
    T *values_ = nullptr;
};

} // namespace sim_test
