/* Semaphores of other APIs (Vulkan, Direct3D, NvSci), which order their work and that of CUDA streams.
 *
 *     CUSHIM_TRY(auto frame, TimelineSemaphore::import_fd(context, std::move(fd)));
 *     CUSHIM_TRY_VOID(frame.wait(stream, 2 * n + 1));      the other side has drawn
 *     ...
 *     CUSHIM_TRY_VOID(frame.signal(stream, 2 * n + 2));    this side has computed
 *
 * Each kind is a type of its own, so that what one cannot do does not compile:
 *
 *     BinarySemaphore     signalled or not; each signal lets one wait through
 *     TimelineSemaphore   a number that goes up; a wait is for at least a value. Also Direct3D's fences
 *     KeyedMutex          of Direct3D 11: acquired and released with a key
 *     NvSciSemaphore      an NvSciSyncObj
 *
 * signal() and wait() queue work in a stream of the semaphore's context, and return at once: the stream
 * gets there later, and a failure then is the stream's. They may be captured into a graph. A semaphore
 * must live until the work that names it is done, and as long as graphs that name it.
 *
 * Importing: a file descriptor is consumed where the import succeeds, and left as it is where it fails, so
 * that `fd` after import_fd(context, std::move(fd)) is empty or as before. Handles of Windows stay the
 * caller's in either case.
 *
 * Threads: the rules of handle.hpp; const functions may run on several threads at once. Nothing here
 * needs or changes a current context.
 *
 * Errors of imports: invalid_argument for a handle or a descriptor that is none; unsupported_platform for
 * descriptors on Windows and for Windows' handles elsewhere; not_supported_by_device; status 999 where the
 * handle is none of the kind. Errors of signals and waits: invalid_argument for an empty semaphore or stream;
 * wrong_context where the stream is of another context; what earlier work failed with.
 *
 * cuImportExternalSemaphore, cuDestroyExternalSemaphore, cuSignalExternalSemaphoresAsync,
 * cuWaitExternalSemaphoresAsync. Since CUDA 10.0 where nothing else is said.
 */
#ifndef CUSHIM_EXTERNAL_SEMAPHORE_HPP
#define CUSHIM_EXTERNAL_SEMAPHORE_HPP

#include <initializer_list>
#include <span>

#include <cushim/context.hpp>
#include <cushim/handle.hpp>
#include <cushim/unique_fd.hpp>
#include <cushim/win32_handle.hpp>

namespace cushim {

class Stream;

namespace detail {

struct SemaphoreValue {
    CUexternalSemaphore native = nullptr;
    CUcontext context = nullptr;
};

enum class SemaphoreKind : unsigned char { binary, timeline, keyed_mutex, nvsci };

// One signal or wait.
struct SemaphoreOperation {
    CUexternalSemaphore semaphore = nullptr;
    CUcontext context = nullptr;
    SemaphoreKind kind = SemaphoreKind::binary;
    bool skip_memory_sync = false; // nvsci
    unsigned int timeout_ms = 0;   // keyed_mutex, to wait
    unsigned long long value = 0;  // timeline: of the fence; keyed_mutex: the key
    void *fence = nullptr;         // nvsci
    State *state = nullptr;        // of the semaphore's owner
};

} // namespace detail

// One signal of a batch; a semaphore's signaling() makes it. Names its semaphore, and does not own it.
class SemaphoreSignal {
  public:
    explicit SemaphoreSignal(const detail::SemaphoreOperation &operation) noexcept
        : operation_(operation) {}
    const detail::SemaphoreOperation &operation() const noexcept { return operation_; }

  private:
    detail::SemaphoreOperation operation_;
};

// One wait of a batch; a semaphore's waiting() makes it. Names its semaphore, and does not own it.
class SemaphoreWait {
  public:
    explicit SemaphoreWait(const detail::SemaphoreOperation &operation) noexcept
        : operation_(operation) {}
    const detail::SemaphoreOperation &operation() const noexcept { return operation_; }

  private:
    detail::SemaphoreOperation operation_;
};

/* All of them by one call; nothing for none. Kinds may be mixed. What is refused refuses the batch.
 *
 *     signal_semaphores(stream, {frame.signaling(7), drawn.signaling()}); */
CUSHIM_API Result<void> signal_semaphores(const Stream &stream,
                                          std::span<const SemaphoreSignal> signals) noexcept;
CUSHIM_API Result<void> wait_semaphores(const Stream &stream,
                                        std::span<const SemaphoreWait> waits) noexcept;

inline Result<void> signal_semaphores(const Stream &stream,
                                      std::initializer_list<SemaphoreSignal> signals) noexcept {
    return signal_semaphores(stream, std::span(signals.begin(), signals.size()));
}
inline Result<void> wait_semaphores(const Stream &stream,
                                    std::initializer_list<SemaphoreWait> waits) noexcept {
    return wait_semaphores(stream, std::span(waits.begin(), waits.size()));
}

// Signalled, or not. Vulkan's binary semaphores.
class BinarySemaphore : public detail::Shared<BinarySemaphore, detail::SemaphoreValue> {
  public:
    BinarySemaphore() noexcept = default;

    // Linux: VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT.
    CUSHIM_API static Result<BinarySemaphore> import_fd(const Context &context,
                                                        UniqueFd &&fd) noexcept;
    // Windows: VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT.
    CUSHIM_API static Result<BinarySemaphore> import_win32(const Context &context,
                                                           Win32Handle handle) noexcept;
    // A globally shared handle of the older sort: it has no name, and does not keep the semaphore alive.
    CUSHIM_API static Result<BinarySemaphore> import_win32_kmt(const Context &context,
                                                               void *handle) noexcept;

    // Takes over a semaphore of this kind and of that context.
    CUSHIM_API static Result<BinarySemaphore> adopt(const Context &context,
                                                    CUexternalSemaphore semaphore) noexcept;
    // Does not own: the lender keeps it, and its context, alive.
    CUSHIM_API static BinarySemaphore borrow(const Context &context,
                                             CUexternalSemaphore semaphore) noexcept;

    // Signals it. It must not be signalled already.
    Result<void> signal(const Stream &stream) const noexcept {
        return signal_semaphores(stream, {signaling()});
    }
    // Waits until it is signalled, and makes it unsignalled again: one wait for each signal.
    Result<void> wait(const Stream &stream) const noexcept {
        return wait_semaphores(stream, {waiting()});
    }

    SemaphoreSignal signaling() const noexcept { return SemaphoreSignal(operation()); }
    SemaphoreWait waiting() const noexcept { return SemaphoreWait(operation()); }

  private:
    detail::SemaphoreOperation operation() const noexcept {
        return {.semaphore = native(),
                .context = value().context,
                .state = detail::Access::state(*this)};
    }
    using Shared::Shared;
};

inline Text to_text(const BinarySemaphore &semaphore) noexcept {
    return detail::text_of("BinarySemaphore", semaphore);
}

// A number that goes up. Vulkan's timeline semaphores (since CUDA 11.2), and the fences of Direct3D. A device
// whose CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED is 0 imports none of the former:
// not_supported_by_device, and the driver is not asked to (cuDeviceGetAttribute, cuCtxGetDevice).
class TimelineSemaphore : public detail::Shared<TimelineSemaphore, detail::SemaphoreValue> {
  public:
    TimelineSemaphore() noexcept = default;

    // Linux: VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT of a timeline.
    CUSHIM_API static Result<TimelineSemaphore> import_fd(const Context &context,
                                                          UniqueFd &&fd) noexcept;
    // Windows: VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT of a timeline.
    CUSHIM_API static Result<TimelineSemaphore> import_win32(const Context &context,
                                                             Win32Handle handle) noexcept;
    // Windows: of ID3D12Device::CreateSharedHandle.
    CUSHIM_API static Result<TimelineSemaphore> import_d3d12_fence(const Context &context,
                                                                   Win32Handle handle) noexcept;
    // Windows: of ID3D11Fence::CreateSharedHandle. Since CUDA 10.2.
    CUSHIM_API static Result<TimelineSemaphore> import_d3d11_fence(const Context &context,
                                                                   Win32Handle handle) noexcept;

    // As BinarySemaphore's.
    CUSHIM_API static Result<TimelineSemaphore> adopt(const Context &context,
                                                      CUexternalSemaphore semaphore) noexcept;
    CUSHIM_API static TimelineSemaphore borrow(const Context &context,
                                               CUexternalSemaphore semaphore) noexcept;

    // Sets it to the value, which must be above the one that it has then.
    Result<void> signal(const Stream &stream, unsigned long long fence_value) const noexcept {
        return signal_semaphores(stream, {signaling(fence_value)});
    }
    // Waits until it is at least the value.
    Result<void> wait(const Stream &stream, unsigned long long fence_value) const noexcept {
        return wait_semaphores(stream, {waiting(fence_value)});
    }

    SemaphoreSignal signaling(unsigned long long fence_value) const noexcept {
        return SemaphoreSignal(operation(fence_value));
    }
    SemaphoreWait waiting(unsigned long long fence_value) const noexcept {
        return SemaphoreWait(operation(fence_value));
    }

  private:
    detail::SemaphoreOperation operation(unsigned long long fence_value) const noexcept {
        return {.semaphore = native(),
                .context = value().context,
                .kind = detail::SemaphoreKind::timeline,
                .value = fence_value,
                .state = detail::Access::state(*this)};
    }
    using Shared::Shared;
};

inline Text to_text(const TimelineSemaphore &semaphore) noexcept {
    return detail::text_of("TimelineSemaphore", semaphore);
}

// A keyed mutex of Direct3D 11: whoever releases it says with which key it can be acquired next. Windows
// only; since CUDA 10.2.
class KeyedMutex : public detail::Shared<KeyedMutex, detail::SemaphoreValue> {
  public:
    KeyedMutex() noexcept = default;

    // Of IDXGIResource1::CreateSharedHandle.
    CUSHIM_API static Result<KeyedMutex> import_d3d11(const Context &context,
                                                      Win32Handle handle) noexcept;
    // Of IDXGIResource::GetSharedHandle: has no name, and does not keep the mutex alive.
    CUSHIM_API static Result<KeyedMutex> import_d3d11_kmt(const Context &context,
                                                          void *handle) noexcept;

    // As BinarySemaphore's.
    CUSHIM_API static Result<KeyedMutex> adopt(const Context &context,
                                               CUexternalSemaphore semaphore) noexcept;
    CUSHIM_API static KeyedMutex borrow(const Context &context,
                                        CUexternalSemaphore semaphore) noexcept;

    static constexpr unsigned int no_timeout = 0xffffffff; // Windows' INFINITE

    // Releases it with a key.
    Result<void> signal(const Stream &stream, unsigned long long key) const noexcept {
        return signal_semaphores(stream, {signaling(key)});
    }
    // Acquires it once it is released with that key. Status 909 (CUDA_ERROR_TIMEOUT), and nothing is
    // acquired, where that takes more than `timeout_ms` milliseconds.
    Result<void> wait(const Stream &stream, unsigned long long key,
                      unsigned int timeout_ms = no_timeout) const noexcept {
        return wait_semaphores(stream, {waiting(key, timeout_ms)});
    }

    SemaphoreSignal signaling(unsigned long long key) const noexcept {
        return SemaphoreSignal(operation(key, 0));
    }
    SemaphoreWait waiting(unsigned long long key,
                          unsigned int timeout_ms = no_timeout) const noexcept {
        return SemaphoreWait(operation(key, timeout_ms));
    }

  private:
    detail::SemaphoreOperation operation(unsigned long long key,
                                         unsigned int timeout_ms) const noexcept {
        return {.semaphore = native(),
                .context = value().context,
                .kind = detail::SemaphoreKind::keyed_mutex,
                .timeout_ms = timeout_ms,
                .value = key,
                .state = detail::Access::state(*this)};
    }
    using Shared::Shared;
};

inline Text to_text(const KeyedMutex &mutex) noexcept {
    return detail::text_of("KeyedMutex", mutex);
}

struct NvSciOptions {
    // Leaves out that all imported NvSciBuf memory is made coherent for its other users: quicker, and wrong
    // where one of them is to see what was written.
    bool skip_memory_sync = false;
};

// An NvSciSyncObj, whose fences say what is waited for. Since CUDA 10.2; Tegra and QNX.
class NvSciSemaphore : public detail::Shared<NvSciSemaphore, detail::SemaphoreValue> {
  public:
    NvSciSemaphore() noexcept = default;

    // The NvSciSyncObj must outlive the import. cuDeviceGetNvSciSyncAttributes says what it must be made
    // with.
    CUSHIM_API static Result<NvSciSemaphore> import_from(const Context &context,
                                                         const void *nvscisync) noexcept;

    // As BinarySemaphore's.
    CUSHIM_API static Result<NvSciSemaphore> adopt(const Context &context,
                                                   CUexternalSemaphore semaphore) noexcept;
    CUSHIM_API static NvSciSemaphore borrow(const Context &context,
                                            CUexternalSemaphore semaphore) noexcept;

    // Writes into *fence (an NvSciSyncFence), before it returns, what others wait for.
    Result<void> signal(const Stream &stream, void *fence,
                        const NvSciOptions &options = {}) const noexcept {
        return signal_semaphores(stream, {signaling(fence, options)});
    }
    // Waits for *fence (an NvSciSyncFence), which is read before it returns.
    Result<void> wait(const Stream &stream, void *fence,
                      const NvSciOptions &options = {}) const noexcept {
        return wait_semaphores(stream, {waiting(fence, options)});
    }

    SemaphoreSignal signaling(void *fence, const NvSciOptions &options = {}) const noexcept {
        return SemaphoreSignal(operation(fence, options));
    }
    SemaphoreWait waiting(void *fence, const NvSciOptions &options = {}) const noexcept {
        return SemaphoreWait(operation(fence, options));
    }

  private:
    detail::SemaphoreOperation operation(void *fence, const NvSciOptions &options) const noexcept {
        return {.semaphore = native(),
                .context = value().context,
                .kind = detail::SemaphoreKind::nvsci,
                .skip_memory_sync = options.skip_memory_sync,
                .fence = fence,
                .state = detail::Access::state(*this)};
    }
    using Shared::Shared;
};

inline Text to_text(const NvSciSemaphore &semaphore) noexcept {
    return detail::text_of("NvSciSemaphore", semaphore);
}

} // namespace cushim

#endif
