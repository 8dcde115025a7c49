/* Semaphores of other APIs (Vulkan, Direct3D, NvSci), which order their work with that of CUDA
 * streams.
 *
 *     CUSHIM_TRY(auto frame, TimelineSemaphore::import_fd(context, std::move(fd)));
 *     CUSHIM_TRY_VOID(frame.wait(stream, 2 * n + 1));      the other side has drawn
 *     ...
 *     CUSHIM_TRY_VOID(frame.signal(stream, 2 * n + 2));    this side has computed
 *
 * Each kind is a type of its own, so that unsupported operations do not compile:
 *
 *     BinarySemaphore     signalled or not; each signal satisfies one wait
 *     TimelineSemaphore   an increasing number; a wait is for a minimum. Also Direct3D fences
 *     KeyedMutex          of Direct3D 11: acquired and released with a key
 *     NvSciSemaphore      an NvSciSyncObj
 *
 * signal() and wait() enqueue the operation in a stream that belongs to the same context as the
 * semaphore, and return at once. A later failure is reported by the stream. They can be captured
 * into a graph.
 *
 * Lifetime: a semaphore must outlive the enqueued work that uses it. Semaphore nodes (graph.hpp)
 * keep an owned semaphore alive; captured signals and waits do not. A successful import owns the
 * file descriptor. If the import fails, `fd` is unchanged after import_fd(context, std::move(fd)).
 * The caller keeps Windows handles in either case.
 *
 * Threads: see handle.hpp; const functions may run on several threads at the same time.
 * Context: none required, none changed.
 * Errors of imports: invalid_argument for an invalid handle or descriptor; unsupported_platform for
 * descriptors on Windows and for Windows handles elsewhere; not_supported_by_device; status 999 if
 * the handle is of another kind.
 * Errors of signals and waits: invalid_argument for an empty semaphore or stream; wrong_context if
 * the stream belongs to another context; the status of the CUDA call, which may report a failure of
 * earlier asynchronous work.
 *
 * cuImportExternalSemaphore, cuDestroyExternalSemaphore, cuSignalExternalSemaphoresAsync,
 * cuWaitExternalSemaphoresAsync. Requires CUDA 10.0 unless stated otherwise.
 */
#ifndef CUSHIM_EXTERNAL_SEMAPHORE_HPP
#define CUSHIM_EXTERNAL_SEMAPHORE_HPP

#include <initializer_list>
#include <span>

#include <cushim/context.hpp>
#include <cushim/detail/owner_values.hpp>
#include <cushim/detail/semaphore_operation.hpp>
#include <cushim/handle.hpp>
#include <cushim/unique_fd.hpp>
#include <cushim/win32_handle.hpp>

namespace cushim {

class Stream;

// One signal of a batch, from the signaling() of a semaphore, which must outlive it.
class SemaphoreSignal {
  public:
    // For the signaling() of semaphores, and for cushim, which reads the operation.
    explicit SemaphoreSignal(const detail::SemaphoreOperation &operation) noexcept
        : operation_(operation) {}
    const detail::SemaphoreOperation &operation() const noexcept { return operation_; }

  private:
    detail::SemaphoreOperation operation_;
};

// One wait of a batch, from the waiting() of a semaphore, which must outlive it.
class SemaphoreWait {
  public:
    // For the waiting() of semaphores, and for cushim, which reads the operation.
    explicit SemaphoreWait(const detail::SemaphoreOperation &operation) noexcept
        : operation_(operation) {}
    const detail::SemaphoreOperation &operation() const noexcept { return operation_; }

  private:
    detail::SemaphoreOperation operation_;
};

/* Enqueue all operations of the batch in one CUDA call; an empty batch makes none. Kinds may be
 * mixed. If one operation is rejected, none is enqueued.
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

// A Vulkan binary semaphore: signalled or not.
class BinarySemaphore : public detail::Shared<BinarySemaphore, detail::SemaphoreValue> {
  public:
    BinarySemaphore() noexcept = default;

    // Linux: imports a descriptor from Vulkan (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT).
    CUSHIM_API static Result<BinarySemaphore> import_fd(const Context &context,
                                                        UniqueFd &&fd) noexcept;
    // Windows: imports a handle from Vulkan
    // (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT).
    CUSHIM_API static Result<BinarySemaphore> import_win32(const Context &context,
                                                           Win32Handle handle) noexcept;
    // Windows: imports a global shared (KMT) handle. It has no name, and does not keep the
    // semaphore alive.
    CUSHIM_API static Result<BinarySemaphore> import_win32_kmt(const Context &context,
                                                               void *handle) noexcept;

    // Owns a semaphore of this kind and of that context.
    CUSHIM_API static Result<BinarySemaphore> adopt(const Context &context,
                                                    CUexternalSemaphore semaphore) noexcept;
    // Does not own; the lender must keep it and its context alive.
    CUSHIM_API static BinarySemaphore borrow(const Context &context,
                                             CUexternalSemaphore semaphore) noexcept;

    // Enqueues a signal. The semaphore must not be signalled already.
    Result<void> signal(const Stream &stream) const noexcept {
        return signal_semaphores(stream, {signaling()});
    }
    // Enqueues a wait until the semaphore is signalled, which resets it: one wait for each signal.
    Result<void> wait(const Stream &stream) const noexcept {
        return wait_semaphores(stream, {waiting()});
    }

    // A signal or a wait for a batch: see signal_semaphores() and wait_semaphores().
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

// A semaphore whose value only increases: a Vulkan timeline semaphore (requires CUDA 11.2) or a
// Direct3D fence. Importing a timeline semaphore fails with not_supported_by_device if the
// attribute CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED of the device is 0.
// cuDeviceGetAttribute, cuCtxGetDevice.
class TimelineSemaphore : public detail::Shared<TimelineSemaphore, detail::SemaphoreValue> {
  public:
    TimelineSemaphore() noexcept = default;

    // Linux: imports a descriptor of a Vulkan timeline semaphore
    // (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT).
    CUSHIM_API static Result<TimelineSemaphore> import_fd(const Context &context,
                                                          UniqueFd &&fd) noexcept;
    // Windows: imports a handle of a Vulkan timeline semaphore
    // (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT).
    CUSHIM_API static Result<TimelineSemaphore> import_win32(const Context &context,
                                                             Win32Handle handle) noexcept;
    // Windows: imports a fence, from ID3D12Device::CreateSharedHandle.
    CUSHIM_API static Result<TimelineSemaphore> import_d3d12_fence(const Context &context,
                                                                   Win32Handle handle) noexcept;
    // Windows: imports a fence, from ID3D11Fence::CreateSharedHandle. Since CUDA 10.2.
    CUSHIM_API static Result<TimelineSemaphore> import_d3d11_fence(const Context &context,
                                                                   Win32Handle handle) noexcept;

    // See the functions of BinarySemaphore.
    CUSHIM_API static Result<TimelineSemaphore> adopt(const Context &context,
                                                      CUexternalSemaphore semaphore) noexcept;
    CUSHIM_API static TimelineSemaphore borrow(const Context &context,
                                               CUexternalSemaphore semaphore) noexcept;

    // Enqueues a signal, which sets the semaphore to `fence_value`. That must exceed its value.
    Result<void> signal(const Stream &stream, unsigned long long fence_value) const noexcept {
        return signal_semaphores(stream, {signaling(fence_value)});
    }
    // Enqueues a wait until the value of the semaphore is at least `fence_value`.
    Result<void> wait(const Stream &stream, unsigned long long fence_value) const noexcept {
        return wait_semaphores(stream, {waiting(fence_value)});
    }

    // A signal or a wait for a batch: see signal_semaphores() and wait_semaphores().
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

// A keyed mutex of Direct3D 11: a release sets the key that the next acquire requires. Windows
// only. Requires CUDA 10.2.
class KeyedMutex : public detail::Shared<KeyedMutex, detail::SemaphoreValue> {
  public:
    KeyedMutex() noexcept = default;

    // Imports a handle from IDXGIResource1::CreateSharedHandle.
    CUSHIM_API static Result<KeyedMutex> import_d3d11(const Context &context,
                                                      Win32Handle handle) noexcept;
    // Imports a handle from IDXGIResource::GetSharedHandle. It has no name, and does not keep the
    // mutex alive.
    CUSHIM_API static Result<KeyedMutex> import_d3d11_kmt(const Context &context,
                                                          void *handle) noexcept;

    // See the functions of BinarySemaphore.
    CUSHIM_API static Result<KeyedMutex> adopt(const Context &context,
                                               CUexternalSemaphore semaphore) noexcept;
    CUSHIM_API static KeyedMutex borrow(const Context &context,
                                        CUexternalSemaphore semaphore) noexcept;

    static constexpr unsigned int no_timeout = 0xffffffff; // wait() waits without limit; INFINITE

    // Enqueues a release of the mutex with this key.
    Result<void> signal(const Stream &stream, unsigned long long key) const noexcept {
        return signal_semaphores(stream, {signaling(key)});
    }
    // Enqueues an acquire, which waits until the mutex is released with this key. After
    // `timeout_ms` milliseconds it fails with status 909 (CUDA_ERROR_TIMEOUT) and acquires nothing.
    Result<void> wait(const Stream &stream, unsigned long long key,
                      unsigned int timeout_ms = no_timeout) const noexcept {
        return wait_semaphores(stream, {waiting(key, timeout_ms)});
    }

    // A signal or a wait for a batch: see signal_semaphores() and wait_semaphores().
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

// Options of an operation on an NvSciSemaphore.
struct NvSciOptions {
    // Skips making imported NvSciBuf memory coherent for its other users. That is faster, and wrong
    // if one of them must see what was written.
    bool skip_memory_sync = false;
};

// An NvSciSyncObj. Each signal makes a fence, and a wait is for a fence. Requires CUDA 10.2; Tegra
// and QNX.
class NvSciSemaphore : public detail::Shared<NvSciSemaphore, detail::SemaphoreValue> {
  public:
    NvSciSemaphore() noexcept = default;

    // Imports an NvSciSyncObj, which must outlive the import. Create it with the attributes that
    // cuDeviceGetNvSciSyncAttributes returns.
    CUSHIM_API static Result<NvSciSemaphore> import_from(const Context &context,
                                                         const void *nvscisync) noexcept;

    // See the functions of BinarySemaphore.
    CUSHIM_API static Result<NvSciSemaphore> adopt(const Context &context,
                                                   CUexternalSemaphore semaphore) noexcept;
    CUSHIM_API static NvSciSemaphore borrow(const Context &context,
                                            CUexternalSemaphore semaphore) noexcept;

    // Enqueues a signal. Before the call returns, it writes the fence that others wait for to
    // *fence (an NvSciSyncFence).
    Result<void> signal(const Stream &stream, void *fence,
                        const NvSciOptions &options = {}) const noexcept {
        return signal_semaphores(stream, {signaling(fence, options)});
    }
    // Enqueues a wait for *fence (an NvSciSyncFence), which is read before the call returns.
    Result<void> wait(const Stream &stream, void *fence,
                      const NvSciOptions &options = {}) const noexcept {
        return wait_semaphores(stream, {waiting(fence, options)});
    }

    // A signal or a wait for a batch: see signal_semaphores() and wait_semaphores().
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
