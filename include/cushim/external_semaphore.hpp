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
 * Threads: const functions may run on several threads at the same time.
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

#include <concepts>
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

namespace detail {

// SemaphoreSignal or SemaphoreWait.
template <bool is_signal>
class SemaphoreStep {
  public:
    explicit SemaphoreStep(const SemaphoreOperation &operation) noexcept : operation_(operation) {}
    const SemaphoreOperation &operation() const noexcept { return operation_; }

  private:
    SemaphoreOperation operation_;
};

} // namespace detail

// One signal of a batch, made by the signaling() of a semaphore. The semaphore must outlive it.
using SemaphoreSignal = detail::SemaphoreStep<true>;
// One wait of a batch, made by the waiting() of a semaphore. The semaphore must outlive it.
using SemaphoreWait = detail::SemaphoreStep<false>;

/* Enqueue all operations of the batch in one CUDA call. A batch of 0 operations makes no call.
 * Kinds may be mixed. If CUDA rejects one operation, none is enqueued.
 *
 *     signal_semaphores(stream, {frame.signaling(7), drawn.signaling()}); */
CUSHIM_API Result<void> signal_semaphores(const Stream &stream,
                                          std::span<const SemaphoreSignal> operations) noexcept;
CUSHIM_API Result<void> wait_semaphores(const Stream &stream,
                                        std::span<const SemaphoreWait> operations) noexcept;
inline Result<void> signal_semaphores(const Stream &stream,
                                      std::initializer_list<SemaphoreSignal> operations) noexcept {
    return signal_semaphores(stream, std::span(operations.begin(), operations.size()));
}
inline Result<void> wait_semaphores(const Stream &stream,
                                    std::initializer_list<SemaphoreWait> operations) noexcept {
    return wait_semaphores(stream, std::span(operations.begin(), operations.size()));
}

namespace detail {

// A semaphore of any kind. Errors name `function`.
using SemaphoreOwner = Owner<SemaphoreValue>;
CUSHIM_API Result<SemaphoreOwner> import_semaphore(const char *function, const Context &context,
                                                   CUexternalSemaphoreHandleType type,
                                                   UniqueFd &fd) noexcept;
CUSHIM_API Result<SemaphoreOwner> import_semaphore(const char *function, const Context &context,
                                                   CUexternalSemaphoreHandleType type,
                                                   Win32Handle handle) noexcept;
CUSHIM_API Result<SemaphoreOwner> import_nvscisync(const Context &context,
                                                   const void *nvscisync) noexcept;
CUSHIM_API Result<SemaphoreOwner> adopt_semaphore(const char *function, const Context &context,
                                                  CUexternalSemaphore semaphore) noexcept;

// What all kinds have in common.
template <class Derived>
class Semaphore : public Shared<Derived, SemaphoreValue> {
  public:
    // An empty semaphore.
    Semaphore() noexcept = default;
    // Owns what was imported or adopted; not for programs. Not from a semaphore of another kind.
    template <std::same_as<SemaphoreOwner> Imported>
    Semaphore(Imported &&owner) noexcept {
        static_cast<SemaphoreOwner &>(*this) = static_cast<SemaphoreOwner &&>(owner);
    }

    // Does not own; the lender must keep the semaphore and its context alive.
    static Derived borrow(const Context &context, CUexternalSemaphore semaphore) noexcept {
        Derived borrowed;
        Access::set(borrowed, {semaphore, context.native()}, nullptr);
        return borrowed;
    }

  protected:
    // An operation; the kind adds its members.
    SemaphoreOperation operation_of(SemaphoreKind kind) const noexcept {
        return {.semaphore = this->native(),
                .context = this->value().context,
                .kind = kind,
                .state = Access::state(*this)};
    }
};

} // namespace detail

// A Vulkan binary semaphore: signalled or not.
class BinarySemaphore : public detail::Semaphore<BinarySemaphore> {
  public:
    using Semaphore::Semaphore;

    // Linux: imports a descriptor from Vulkan (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT).
    static Result<BinarySemaphore> import_fd(const Context &context, UniqueFd &&fd) noexcept {
        return detail::import_semaphore("BinarySemaphore::import_fd", context,
                                        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, fd);
    }
    // Windows: imports a handle from Vulkan
    // (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT).
    static Result<BinarySemaphore> import_win32(const Context &context,
                                                Win32Handle handle) noexcept {
        return detail::import_semaphore("BinarySemaphore::import_win32", context,
                                        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32, handle);
    }
    // Windows: imports a global shared (KMT) handle. It has no name and does not keep the
    // semaphore alive.
    static Result<BinarySemaphore> import_win32_kmt(const Context &context, void *handle) noexcept {
        return detail::import_semaphore("BinarySemaphore::import_win32_kmt", context,
                                        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT,
                                        Win32Handle::handle(handle));
    }

    // Takes ownership of a semaphore of this kind that was imported in this context.
    static Result<BinarySemaphore> adopt(const Context &context,
                                         CUexternalSemaphore semaphore) noexcept {
        return detail::adopt_semaphore("BinarySemaphore::adopt", context, semaphore);
    }

    // Enqueues a signal. The semaphore must not be signalled already.
    Result<void> signal(const Stream &stream) const noexcept {
        return detail::named("BinarySemaphore::signal", signal_semaphores(stream, {signaling()}));
    }
    // Enqueues a wait until the semaphore is signalled. The wait resets the semaphore.
    Result<void> wait(const Stream &stream) const noexcept {
        return detail::named("BinarySemaphore::wait", wait_semaphores(stream, {waiting()}));
    }

    // A signal or a wait for a batch: see signal_semaphores() and wait_semaphores().
    SemaphoreSignal signaling() const noexcept {
        return SemaphoreSignal(operation_of(detail::SemaphoreKind::binary));
    }
    SemaphoreWait waiting() const noexcept {
        return SemaphoreWait(operation_of(detail::SemaphoreKind::binary));
    }
};

inline Text to_text(const BinarySemaphore &semaphore) noexcept {
    return detail::text_of("BinarySemaphore", semaphore);
}

// A semaphore with a value that only increases: a Vulkan timeline semaphore (requires CUDA 11.2) or
// a Direct3D fence. The import of a Vulkan timeline semaphore fails with not_supported_by_device if
// the device attribute CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED is 0.
// cuDeviceGetAttribute, cuCtxGetDevice.
class TimelineSemaphore : public detail::Semaphore<TimelineSemaphore> {
  public:
    using Semaphore::Semaphore;

    // Linux: imports a descriptor of a Vulkan timeline semaphore
    // (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT).
    static Result<TimelineSemaphore> import_fd(const Context &context, UniqueFd &&fd) noexcept {
        return detail::import_semaphore("TimelineSemaphore::import_fd", context,
                                        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
                                        fd);
    }
    // Windows: imports a handle of a Vulkan timeline semaphore
    // (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT).
    static Result<TimelineSemaphore> import_win32(const Context &context,
                                                  Win32Handle handle) noexcept {
        return detail::import_semaphore("TimelineSemaphore::import_win32", context,
                                        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32,
                                        handle);
    }
    // Windows: imports a fence, from ID3D12Device::CreateSharedHandle.
    static Result<TimelineSemaphore> import_d3d12_fence(const Context &context,
                                                        Win32Handle handle) noexcept {
        return detail::import_semaphore("TimelineSemaphore::import_d3d12_fence", context,
                                        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE, handle);
    }
    // Windows: imports a fence, from ID3D11Fence::CreateSharedHandle.
    static Result<TimelineSemaphore> import_d3d11_fence(const Context &context,
                                                        Win32Handle handle) noexcept {
        return detail::import_semaphore("TimelineSemaphore::import_d3d11_fence", context,
                                        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE, handle);
    }

    // See BinarySemaphore::adopt().
    static Result<TimelineSemaphore> adopt(const Context &context,
                                           CUexternalSemaphore semaphore) noexcept {
        return detail::adopt_semaphore("TimelineSemaphore::adopt", context, semaphore);
    }

    // Enqueues a signal, which sets the value to `fence_value`. It must exceed the previous value.
    Result<void> signal(const Stream &stream, unsigned long long fence_value) const noexcept {
        return detail::named("TimelineSemaphore::signal",
                             signal_semaphores(stream, {signaling(fence_value)}));
    }
    // Enqueues a wait until the value is at least `fence_value`.
    Result<void> wait(const Stream &stream, unsigned long long fence_value) const noexcept {
        return detail::named("TimelineSemaphore::wait",
                             wait_semaphores(stream, {waiting(fence_value)}));
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
        auto operation = operation_of(detail::SemaphoreKind::timeline);
        operation.value = fence_value;
        return operation;
    }
};

inline Text to_text(const TimelineSemaphore &semaphore) noexcept {
    return detail::text_of("TimelineSemaphore", semaphore);
}

// A keyed mutex of Direct3D 11: a release sets the key that the next acquire must pass. Windows
// only.
class KeyedMutex : public detail::Semaphore<KeyedMutex> {
  public:
    using Semaphore::Semaphore;

    // Imports a handle from IDXGIResource1::CreateSharedHandle.
    static Result<KeyedMutex> import_d3d11(const Context &context, Win32Handle handle) noexcept {
        return detail::import_semaphore("KeyedMutex::import_d3d11", context,
                                        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX,
                                        handle);
    }
    // Imports a handle from IDXGIResource::GetSharedHandle. It has no name and does not keep the
    // mutex alive.
    static Result<KeyedMutex> import_d3d11_kmt(const Context &context, void *handle) noexcept {
        return detail::import_semaphore("KeyedMutex::import_d3d11_kmt", context,
                                        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT,
                                        Win32Handle::handle(handle));
    }

    // See BinarySemaphore::adopt().
    static Result<KeyedMutex> adopt(const Context &context,
                                    CUexternalSemaphore semaphore) noexcept {
        return detail::adopt_semaphore("KeyedMutex::adopt", context, semaphore);
    }

    static constexpr unsigned int no_timeout = 0xffffffff; // for wait(): no time limit (INFINITE)

    // Enqueues a release of the mutex with this key.
    Result<void> signal(const Stream &stream, unsigned long long key) const noexcept {
        return detail::named("KeyedMutex::signal", signal_semaphores(stream, {signaling(key)}));
    }
    // Enqueues an acquire, which waits until the mutex is released with this key. After
    // `timeout_ms` milliseconds it fails with CUDA_ERROR_TIMEOUT (909) and acquires nothing.
    Result<void> wait(const Stream &stream, unsigned long long key,
                      unsigned int timeout_ms = no_timeout) const noexcept {
        return detail::named("KeyedMutex::wait",
                             wait_semaphores(stream, {waiting(key, timeout_ms)}));
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
        auto operation = operation_of(detail::SemaphoreKind::keyed_mutex);
        operation.timeout_ms = timeout_ms;
        operation.value = key;
        return operation;
    }
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
class NvSciSemaphore : public detail::Semaphore<NvSciSemaphore> {
  public:
    using Semaphore::Semaphore;

    // Imports an NvSciSyncObj, which must outlive all owners of the import. Create it with the
    // attributes that cuDeviceGetNvSciSyncAttributes returns.
    static Result<NvSciSemaphore> import_from(const Context &context,
                                              const void *nvscisync) noexcept {
        return detail::import_nvscisync(context, nvscisync);
    }

    // See BinarySemaphore::adopt().
    static Result<NvSciSemaphore> adopt(const Context &context,
                                        CUexternalSemaphore semaphore) noexcept {
        return detail::adopt_semaphore("NvSciSemaphore::adopt", context, semaphore);
    }

    // Enqueues a signal. The call fills *fence, an NvSciSyncFence; other users of the
    // object wait for this fence.
    Result<void> signal(const Stream &stream, void *fence,
                        const NvSciOptions &options = {}) const noexcept {
        return detail::named("NvSciSemaphore::signal",
                             signal_semaphores(stream, {signaling(fence, options)}));
    }
    // Enqueues a wait for *fence, an NvSciSyncFence. The call reads it before it returns.
    Result<void> wait(const Stream &stream, void *fence,
                      const NvSciOptions &options = {}) const noexcept {
        return detail::named("NvSciSemaphore::wait",
                             wait_semaphores(stream, {waiting(fence, options)}));
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
        auto operation = operation_of(detail::SemaphoreKind::nvsci);
        operation.skip_memory_sync = options.skip_memory_sync;
        operation.fence = fence;
        return operation;
    }
};

inline Text to_text(const NvSciSemaphore &semaphore) noexcept {
    return detail::text_of("NvSciSemaphore", semaphore);
}

} // namespace cushim

#endif
