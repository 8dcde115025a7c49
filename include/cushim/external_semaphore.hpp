/* Imports semaphores of other APIs (Vulkan, Direct3D, NvSci). They order the work of the other API
 * with the work in CUDA streams.
 *
 *     CUSHIM_TRY(auto frame, TimelineSemaphore::import_fd(context, std::move(fd)));
 *     CUSHIM_TRY_VOID(frame.wait(stream, 2 * n + 1));      the other API has drawn frame n
 *     ...
 *     CUSHIM_TRY_VOID(frame.signal(stream, 2 * n + 2));    CUDA has processed frame n
 *
 * Each kind of semaphore has its own type, with the operations of that kind:
 *
 *     BinarySemaphore     signalled or not; each signal satisfies one wait
 *     TimelineSemaphore   an increasing value; a wait ends at a minimum value. Also Direct3D fences
 *     KeyedMutex          of Direct3D 11: acquired and released with a key
 *     NvSciSemaphore      an NvSciSyncObj
 *
 * signal() and wait() enqueue the operation and return at once. The stream must belong to the
 * context of the semaphore. If the operation fails later, a later call on the stream reports it.
 * Signals and waits can be captured into a graph.
 *
 * Lifetime: a semaphore must outlive the enqueued work that uses it. Semaphore nodes (graph.hpp)
 * keep an owned semaphore alive; captured signals and waits do not. import_fd(context,
 * std::move(fd)) takes the descriptor if it succeeds, and leaves `fd` unchanged if it fails.
 * The caller keeps Windows handles in either case.
 *
 * Threads: see handle.hpp, but const functions may run on several threads at the same time.
 * Context: see handle.hpp.
 * Errors of imports: invalid_argument for an invalid handle or descriptor; unsupported_platform for
 * descriptors on Windows and for Windows handles elsewhere; not_supported_by_device;
 * CUDA_ERROR_UNKNOWN (999) if the handle is of another kind.
 * Errors of signals and waits: invalid_argument for an empty semaphore or stream; wrong_context if
 * the stream belongs to another context; the status of the CUDA call, which may report a failure of
 * earlier asynchronous work.
 *
 * cuImportExternalSemaphore, cuDestroyExternalSemaphore, cuSignalExternalSemaphoresAsync,
 * cuWaitExternalSemaphoresAsync.
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

// One signal of a batch, made by the signaling() of a semaphore. The semaphore must outlive it.
class SemaphoreSignal {
  public:
    // Used by signaling() and by signal_semaphores(), not by programs.
    explicit SemaphoreSignal(const detail::SemaphoreOperation &operation) noexcept
        : operation_(operation) {}
    const detail::SemaphoreOperation &operation() const noexcept { return operation_; }

  private:
    detail::SemaphoreOperation operation_;
};

// One wait of a batch, made by the waiting() of a semaphore. The semaphore must outlive it.
class SemaphoreWait {
  public:
    // Used by waiting() and by wait_semaphores(), not by programs.
    explicit SemaphoreWait(const detail::SemaphoreOperation &operation) noexcept
        : operation_(operation) {}
    const detail::SemaphoreOperation &operation() const noexcept { return operation_; }

  private:
    detail::SemaphoreOperation operation_;
};

/* Enqueue all operations of the batch in one CUDA call. A batch of 0 operations makes no call.
 * Kinds may be mixed. If CUDA rejects one operation, none is enqueued.
 *
 *     signal_semaphores(stream, {frame.signaling(7), drawn.signaling()}); */
CUSHIM_API Result<void> signal_semaphores(const Stream &stream,
                                          std::span<const SemaphoreSignal> signals) noexcept;
CUSHIM_API Result<void> wait_semaphores(const Stream &stream,
                                        std::span<const SemaphoreWait> waits) noexcept;
CUSHIM_API Result<void> signal_semaphores(const Stream &stream,
                                          std::initializer_list<SemaphoreSignal> signals) noexcept;
CUSHIM_API Result<void> wait_semaphores(const Stream &stream,
                                        std::initializer_list<SemaphoreWait> waits) noexcept;

namespace detail {

// A batch of one. An error names the function. Declared here, as calls of the functions above take
// long to compile.
CUSHIM_API Result<void> signal_semaphore(const Stream &stream, const SemaphoreOperation &operation,
                                         const char *function) noexcept;
CUSHIM_API Result<void> wait_semaphore(const Stream &stream, const SemaphoreOperation &operation,
                                       const char *function) noexcept;

} // namespace detail

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
    // Windows: imports a global shared (KMT) handle. It has no name and does not keep the
    // semaphore alive.
    CUSHIM_API static Result<BinarySemaphore> import_win32_kmt(const Context &context,
                                                               void *handle) noexcept;

    // Takes ownership of a semaphore of this kind that was imported in this context.
    CUSHIM_API static Result<BinarySemaphore> adopt(const Context &context,
                                                    CUexternalSemaphore semaphore) noexcept;
    // Does not own; the lender must keep the semaphore and its context alive.
    CUSHIM_API static BinarySemaphore borrow(const Context &context,
                                             CUexternalSemaphore semaphore) noexcept;

    // Enqueues a signal. The semaphore must not be signalled already.
    Result<void> signal(const Stream &stream) const noexcept {
        return detail::signal_semaphore(stream, operation(), "BinarySemaphore::signal");
    }
    // Enqueues a wait until the semaphore is signalled. The wait resets the semaphore.
    Result<void> wait(const Stream &stream) const noexcept {
        return detail::wait_semaphore(stream, operation(), "BinarySemaphore::wait");
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

// A semaphore with a value that only increases: a Vulkan timeline semaphore (requires CUDA 11.2) or
// a Direct3D fence. The import of a Vulkan timeline semaphore fails with not_supported_by_device if
// the device attribute CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED is 0.
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
    // Windows: imports a fence, from ID3D11Fence::CreateSharedHandle.
    CUSHIM_API static Result<TimelineSemaphore> import_d3d11_fence(const Context &context,
                                                                   Win32Handle handle) noexcept;

    // See the functions of BinarySemaphore.
    CUSHIM_API static Result<TimelineSemaphore> adopt(const Context &context,
                                                      CUexternalSemaphore semaphore) noexcept;
    CUSHIM_API static TimelineSemaphore borrow(const Context &context,
                                               CUexternalSemaphore semaphore) noexcept;

    // Enqueues a signal, which sets the value to `fence_value`. It must exceed the previous value.
    Result<void> signal(const Stream &stream, unsigned long long fence_value) const noexcept {
        return detail::signal_semaphore(stream, operation(fence_value),
                                        "TimelineSemaphore::signal");
    }
    // Enqueues a wait until the value is at least `fence_value`.
    Result<void> wait(const Stream &stream, unsigned long long fence_value) const noexcept {
        return detail::wait_semaphore(stream, operation(fence_value), "TimelineSemaphore::wait");
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

// A keyed mutex of Direct3D 11: a release sets the key that the next acquire must pass. Windows
// only.
class KeyedMutex : public detail::Shared<KeyedMutex, detail::SemaphoreValue> {
  public:
    KeyedMutex() noexcept = default;

    // Imports a handle from IDXGIResource1::CreateSharedHandle.
    CUSHIM_API static Result<KeyedMutex> import_d3d11(const Context &context,
                                                      Win32Handle handle) noexcept;
    // Imports a handle from IDXGIResource::GetSharedHandle. It has no name and does not keep the
    // mutex alive.
    CUSHIM_API static Result<KeyedMutex> import_d3d11_kmt(const Context &context,
                                                          void *handle) noexcept;

    // See the functions of BinarySemaphore.
    CUSHIM_API static Result<KeyedMutex> adopt(const Context &context,
                                               CUexternalSemaphore semaphore) noexcept;
    CUSHIM_API static KeyedMutex borrow(const Context &context,
                                        CUexternalSemaphore semaphore) noexcept;

    static constexpr unsigned int no_timeout = 0xffffffff; // for wait(): no time limit (INFINITE)

    // Enqueues a release of the mutex with this key.
    Result<void> signal(const Stream &stream, unsigned long long key) const noexcept {
        return detail::signal_semaphore(stream, operation(key, 0), "KeyedMutex::signal");
    }
    // Enqueues an acquire, which waits until the mutex is released with this key. After
    // `timeout_ms` milliseconds it fails with CUDA_ERROR_TIMEOUT (909) and acquires nothing.
    Result<void> wait(const Stream &stream, unsigned long long key,
                      unsigned int timeout_ms = no_timeout) const noexcept {
        return detail::wait_semaphore(stream, operation(key, timeout_ms), "KeyedMutex::wait");
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
    // Skips the synchronization that makes imported NvSciBuf memory coherent with its other users.
    // That is faster, but they may not see each other's writes.
    bool skip_memory_sync = false;
};

// An NvSciSyncObj. Each signal writes a fence; a wait waits for such a fence. Tegra and QNX only.
class NvSciSemaphore : public detail::Shared<NvSciSemaphore, detail::SemaphoreValue> {
  public:
    NvSciSemaphore() noexcept = default;

    // Imports an NvSciSyncObj, which must outlive all owners of the import. Create it with the
    // attributes that cuDeviceGetNvSciSyncAttributes returns.
    CUSHIM_API static Result<NvSciSemaphore> import_from(const Context &context,
                                                         const void *nvscisync) noexcept;

    // See the functions of BinarySemaphore.
    CUSHIM_API static Result<NvSciSemaphore> adopt(const Context &context,
                                                   CUexternalSemaphore semaphore) noexcept;
    CUSHIM_API static NvSciSemaphore borrow(const Context &context,
                                            CUexternalSemaphore semaphore) noexcept;

    // Enqueues a signal. The call fills *fence, an NvSciSyncFence; other users of the
    // object wait for this fence.
    Result<void> signal(const Stream &stream, void *fence,
                        const NvSciOptions &options = {}) const noexcept {
        return detail::signal_semaphore(stream, operation(fence, options),
                                        "NvSciSemaphore::signal");
    }
    // Enqueues a wait for *fence, an NvSciSyncFence. The call reads it before it returns.
    Result<void> wait(const Stream &stream, void *fence,
                      const NvSciOptions &options = {}) const noexcept {
        return detail::wait_semaphore(stream, operation(fence, options), "NvSciSemaphore::wait");
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
