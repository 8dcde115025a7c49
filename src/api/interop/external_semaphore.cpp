#include <cushim/external_semaphore.hpp>

#include <cushim/stream.hpp>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/in_context.hpp"
#include "context/requirements.hpp"
#include "context/wrong_context.hpp"
#include "external_descriptions.hpp"
#include "external_handles.hpp"
#include "failed_call.hpp"

#include <limits>
#include <memory>
#include <new>

namespace cushim {
namespace {

using detail::SemaphoreOperation;
using Description = CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;

struct SemaphoreState final : detail::InContext {
    using InContext::InContext;
    detail::Destroyed destroy() noexcept override {
        return CUSHIM_DESTROY(cuDestroyExternalSemaphore, semaphore, semaphore);
    }
    CUexternalSemaphore semaphore = nullptr;
};

// --- importing

// For the current context's device. Only Vulkan timelines need it.
Result<void> check_supported(CUexternalSemaphoreHandleType type) noexcept {
    if (type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD &&
        type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32) {
        return {};
    }
    CUdevice device = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuCtxGetDevice, &device));
    return detail::require_attribute(Device::from_native(device),
                                     CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED,
                                     "does not support timeline semaphores; use "
                                     "BinarySemaphore::import_fd()");
}

const char *name_of(CUexternalSemaphoreHandleType type) noexcept {
#define CUSHIM_TYPE(type)                                                                          \
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_##type:                                                 \
        return "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_" #type;
    switch (type) {
        CUSHIM_TYPE(OPAQUE_FD)
        CUSHIM_TYPE(OPAQUE_WIN32)
        CUSHIM_TYPE(OPAQUE_WIN32_KMT)
        CUSHIM_TYPE(D3D12_FENCE)
        CUSHIM_TYPE(D3D11_FENCE)
        CUSHIM_TYPE(NVSCISYNC)
        CUSHIM_TYPE(D3D11_KEYED_MUTEX)
        CUSHIM_TYPE(D3D11_KEYED_MUTEX_KMT)
        CUSHIM_TYPE(TIMELINE_SEMAPHORE_FD)
        CUSHIM_TYPE(TIMELINE_SEMAPHORE_WIN32)
    default:
        return "semaphores of this kind";
    }
#undef CUSHIM_TYPE
}

// The messages of systems without file descriptors, and of those without Windows handles.
template <class Semaphore>
constexpr const char *without_descriptors =
    "file descriptors are not supported on Windows; use TimelineSemaphore::import_win32()";
template <>
constexpr const char *without_descriptors<BinarySemaphore> =
    "file descriptors are not supported on Windows; use BinarySemaphore::import_win32()";

template <class Semaphore>
constexpr const char *without_windows =
    "Windows handles are not supported on this platform; use TimelineSemaphore::import_fd()";
template <>
constexpr const char *without_windows<BinarySemaphore> =
    "Windows handles are not supported on this platform; use BinarySemaphore::import_fd()";
template <>
constexpr const char *without_windows<KeyedMutex> =
    "keyed mutexes exist only on Windows; use BinarySemaphore or TimelineSemaphore";

template <class Semaphore>
Semaphore own(CUexternalSemaphore native, const Context &context, SemaphoreState *state) noexcept {
    Semaphore semaphore;
    detail::Access::set(semaphore, {native, context.native()}, state);
    return semaphore;
}

template <class Semaphore>
Result<Semaphore> import_as(const Context &context, const Description &description) noexcept {
    CUSHIM_TRY(auto state, detail::make_state<SemaphoreState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(check_supported(description.type));
    auto imported = CUSHIM_DRIVER(cuImportExternalSemaphore, &state->semaphore, &description);
    if (!imported && imported.error().status() == CUDA_ERROR_NOT_SUPPORTED) {
        return detail::explained(imported.error(), "%s does not support %s",
                                 detail::current_device_text().c_str(), name_of(description.type));
    }
    for (const CUresult rejected :
         {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_UNKNOWN}) {
        imported = detail::explained(static_cast<Result<void> &&>(imported), rejected,
                                     "CUDA rejected the handle; it must be a semaphore of this "
                                     "kind, exported from the device of the context");
    }
    CUSHIM_TRY_VOID(imported);
    const CUexternalSemaphore semaphore = state->semaphore;
    return own<Semaphore>(semaphore, context, state.take());
}

template <class Semaphore>
Result<Semaphore> import_as(const Context &context, CUexternalSemaphoreHandleType type,
                            UniqueFd &fd) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the Context holds no context"));
    CUSHIM_TRY(detail::LentDescriptor lent,
               detail::LentDescriptor::of(fd, without_descriptors<Semaphore>));
    Description description{};
    description.type = type;
    description.handle.fd = lent.get();
    auto imported = import_as<Semaphore>(context, description);
    if (imported) {
        lent.taken();
        fd.reset();
    }
    return imported;
}

template <class Semaphore>
Result<Semaphore> import_as(const Context &context, CUexternalSemaphoreHandleType type,
                            Win32Handle handle) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the Context holds no context"));
    CUSHIM_TRY_VOID(detail::check_win32(handle, without_windows<Semaphore>));
    Description description{};
    description.type = type;
    description.handle.win32.handle = handle.handle();
    description.handle.win32.name = handle.name();
    return import_as<Semaphore>(context, description);
}

template <class Semaphore>
Result<Semaphore> adopted(const Context &context, CUexternalSemaphore native) noexcept {
    CUSHIM_TRY_VOID(detail::require_handle_in(context, native));
    CUSHIM_TRY(auto state, detail::make_state<SemaphoreState>(context));
    state->semaphore = native;
    return own<Semaphore>(native, context, state.take());
}

// --- signals and waits

struct Signals {
    using Operation = SemaphoreSignal;
    using Parameters = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;
    static Parameters parameters(const SemaphoreOperation &operation) noexcept {
        return detail::signal_parameters(operation);
    }
    static CUresult call(const CUexternalSemaphore *semaphores, const Parameters *parameters,
                         unsigned int count, CUstream stream) noexcept {
        return driver().cuSignalExternalSemaphoresAsync(semaphores, parameters, count, stream);
    }
    static constexpr const char *argument = "signals";
    static constexpr const char *name = entry::cuSignalExternalSemaphoresAsync::name;
    static constexpr int introduced = entry::cuSignalExternalSemaphoresAsync::introduced;
};

struct Waits {
    using Operation = SemaphoreWait;
    using Parameters = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
    static Parameters parameters(const SemaphoreOperation &operation) noexcept {
        return detail::wait_parameters(operation);
    }
    static CUresult call(const CUexternalSemaphore *semaphores, const Parameters *parameters,
                         unsigned int count, CUstream stream) noexcept {
        return driver().cuWaitExternalSemaphoresAsync(semaphores, parameters, count, stream);
    }
    static constexpr const char *argument = "waits";
    static constexpr const char *name = entry::cuWaitExternalSemaphoresAsync::name;
    static constexpr int introduced = entry::cuWaitExternalSemaphoresAsync::introduced;
};

template <class Kind>
using Batch = std::span<const typename Kind::Operation>;

const char *empty_text(detail::SemaphoreKind kind) noexcept {
    switch (kind) {
    case detail::SemaphoreKind::binary:
        return "the BinarySemaphore holds no semaphore";
    case detail::SemaphoreKind::timeline:
        return "the TimelineSemaphore holds no semaphore";
    case detail::SemaphoreKind::keyed_mutex:
        return "the KeyedMutex holds no mutex";
    default:
        return "the NvSciSemaphore holds no semaphore";
    }
}

template <class Kind>
Result<void> check(Batch<Kind> batch, std::size_t index) noexcept {
    const SemaphoreOperation &operation = batch[index].operation();
    const bool is_empty = operation.semaphore == nullptr;
    if (!is_empty &&
        (operation.kind != detail::SemaphoreKind::nvsci || operation.fence != nullptr)) {
        return {};
    }
    if (batch.size() > 1) {
        return detail::invalid_argument(is_empty ? "%s[%zu] holds no semaphore"
                                                 : "the NvSciSyncFence of %s[%zu] is null",
                                        Kind::argument, index);
    }
    return Error::invalid_argument(is_empty ? empty_text(operation.kind)
                                            : "the NvSciSyncFence is null");
}

// For a semaphore of another context, CUDA returns "invalid handle".
template <class Kind>
Error failure(CUresult status, const Stream &stream, Batch<Kind> batch) noexcept {
    const detail::FailedCall call = {status, Kind::name, Kind::introduced};
    const SemaphoreOperation &first = batch.front().operation();
    if (status == CUDA_ERROR_TIMEOUT && batch.size() == 1 &&
        first.kind == detail::SemaphoreKind::keyed_mutex) {
        return detail::explained(detail::failure(call),
                                 "the mutex was not released with key %llu within %u ms",
                                 first.value, first.timeout_ms);
    }
    for (const auto &item : batch) {
        const SemaphoreOperation &operation = item.operation();
        const Error error = detail::failure_of_stream(
            stream, call, "the semaphore", operation.context, detail::ordinal_of(operation.state));
        if (error.kind() == ErrorKind::wrong_context) {
            return error;
        }
    }
    return detail::failure(call);
}

// `semaphores` and `parameters` have room for the batch.
template <class Kind>
Result<void> submit(const Stream &stream, Batch<Kind> batch, CUexternalSemaphore *semaphores,
                    typename Kind::Parameters *parameters) noexcept {
    for (std::size_t index = 0; index < batch.size(); ++index) {
        const SemaphoreOperation &operation = batch[index].operation();
        CUSHIM_TRY_VOID(check<Kind>(batch, index));
        semaphores[index] = operation.semaphore;
        parameters[index] = Kind::parameters(operation);
    }
    const auto count = static_cast<unsigned int>(batch.size());
    const CUresult status = Kind::call(semaphores, parameters, count, stream.native());
    return status == CUDA_SUCCESS ? Result<void>() : failure<Kind>(status, stream, batch);
}

template <class Kind>
Result<void> submit_many(const Stream &stream, Batch<Kind> batch) noexcept {
    using Parameters = typename Kind::Parameters;
    const std::size_t count = batch.size();
    const std::unique_ptr<CUexternalSemaphore[]> semaphores(new (std::nothrow)
                                                                CUexternalSemaphore[count]);
    const std::unique_ptr<Parameters[]> parameters(new (std::nothrow) Parameters[count]);
    if (semaphores == nullptr || parameters == nullptr) {
        return detail::no_host_memory();
    }
    return submit<Kind>(stream, batch, semaphores.get(), parameters.get());
}

template <class Kind>
Result<void> submit_any(const Stream &stream, Batch<Kind> batch) noexcept {
    CUSHIM_TRY_VOID(detail::require(stream, "the Stream holds no stream"));
    constexpr std::size_t most = std::numeric_limits<unsigned int>::max();
    constexpr std::size_t few = 4; // without heap memory
    if (batch.empty()) {
        return {};
    }
    if (batch.size() > most) {
        return detail::invalid_argument("the number of %s, %zu, exceeds the limit of %zu",
                                        Kind::argument, batch.size(), most);
    }
    if (batch.size() > few) {
        return submit_many<Kind>(stream, batch);
    }
    CUexternalSemaphore semaphores[few];
    typename Kind::Parameters parameters[few];
    return submit<Kind>(stream, batch, semaphores, parameters);
}

} // namespace

Result<void> signal_semaphores(const Stream &stream,
                               std::span<const SemaphoreSignal> signals) noexcept {
    return CUSHIM_NAMED(submit_any<Signals>(stream, signals));
}
Result<void> signal_semaphores(const Stream &stream,
                               std::initializer_list<SemaphoreSignal> signals) noexcept {
    return CUSHIM_NAMED(submit_any<Signals>(stream, {signals.begin(), signals.size()}));
}

Result<void> wait_semaphores(const Stream &stream, std::span<const SemaphoreWait> waits) noexcept {
    return CUSHIM_NAMED(submit_any<Waits>(stream, waits));
}
Result<void> wait_semaphores(const Stream &stream,
                             std::initializer_list<SemaphoreWait> waits) noexcept {
    return CUSHIM_NAMED(submit_any<Waits>(stream, {waits.begin(), waits.size()}));
}

namespace detail {

Result<void> signal_semaphore(const Stream &stream, const SemaphoreOperation &operation,
                              const char *function) noexcept {
    return named(signal_semaphores(stream, {SemaphoreSignal(operation)}), function);
}
Result<void> wait_semaphore(const Stream &stream, const SemaphoreOperation &operation,
                            const char *function) noexcept {
    return named(wait_semaphores(stream, {SemaphoreWait(operation)}), function);
}

} // namespace detail

// --- binary

Result<BinarySemaphore> BinarySemaphore::import_fd(const Context &context, UniqueFd &&fd) noexcept {
    return CUSHIM_NAMED(
        import_as<BinarySemaphore>(context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, fd));
}

Result<BinarySemaphore> BinarySemaphore::import_win32(const Context &context,
                                                      Win32Handle handle) noexcept {
    return CUSHIM_NAMED(import_as<BinarySemaphore>(
        context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32, handle));
}

Result<BinarySemaphore> BinarySemaphore::import_win32_kmt(const Context &context,
                                                          void *handle) noexcept {
    return CUSHIM_NAMED(import_as<BinarySemaphore>(
        context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT, Win32Handle::handle(handle)));
}

Result<BinarySemaphore> BinarySemaphore::adopt(const Context &context,
                                               CUexternalSemaphore semaphore) noexcept {
    return CUSHIM_NAMED(adopted<BinarySemaphore>(context, semaphore));
}

BinarySemaphore BinarySemaphore::borrow(const Context &context,
                                        CUexternalSemaphore semaphore) noexcept {
    return own<BinarySemaphore>(semaphore, context, nullptr);
}

// --- timeline

Result<TimelineSemaphore> TimelineSemaphore::import_fd(const Context &context,
                                                       UniqueFd &&fd) noexcept {
    return CUSHIM_NAMED(import_as<TimelineSemaphore>(
        context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, fd));
}

Result<TimelineSemaphore> TimelineSemaphore::import_win32(const Context &context,
                                                          Win32Handle handle) noexcept {
    return CUSHIM_NAMED(import_as<TimelineSemaphore>(
        context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32, handle));
}

Result<TimelineSemaphore> TimelineSemaphore::import_d3d12_fence(const Context &context,
                                                                Win32Handle handle) noexcept {
    return CUSHIM_NAMED(import_as<TimelineSemaphore>(
        context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE, handle));
}

Result<TimelineSemaphore> TimelineSemaphore::import_d3d11_fence(const Context &context,
                                                                Win32Handle handle) noexcept {
    return CUSHIM_NAMED(import_as<TimelineSemaphore>(
        context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE, handle));
}

Result<TimelineSemaphore> TimelineSemaphore::adopt(const Context &context,
                                                   CUexternalSemaphore semaphore) noexcept {
    return CUSHIM_NAMED(adopted<TimelineSemaphore>(context, semaphore));
}

TimelineSemaphore TimelineSemaphore::borrow(const Context &context,
                                            CUexternalSemaphore semaphore) noexcept {
    return own<TimelineSemaphore>(semaphore, context, nullptr);
}

// --- keyed mutex

Result<KeyedMutex> KeyedMutex::import_d3d11(const Context &context, Win32Handle handle) noexcept {
    return CUSHIM_NAMED(import_as<KeyedMutex>(
        context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX, handle));
}

Result<KeyedMutex> KeyedMutex::import_d3d11_kmt(const Context &context, void *handle) noexcept {
    return CUSHIM_NAMED(
        import_as<KeyedMutex>(context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT,
                              Win32Handle::handle(handle)));
}

Result<KeyedMutex> KeyedMutex::adopt(const Context &context,
                                     CUexternalSemaphore semaphore) noexcept {
    return CUSHIM_NAMED(adopted<KeyedMutex>(context, semaphore));
}

KeyedMutex KeyedMutex::borrow(const Context &context, CUexternalSemaphore semaphore) noexcept {
    return own<KeyedMutex>(semaphore, context, nullptr);
}

// --- NvSci

Result<NvSciSemaphore> NvSciSemaphore::import_from(const Context &context,
                                                   const void *nvscisync) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the Context holds no context"));
    if (nvscisync == nullptr) {
        return CUSHIM_NAMED(Error::invalid_argument("the NvSciSyncObj is null"));
    }
    Description description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC;
    description.handle.nvSciSyncObj = nvscisync;
    return CUSHIM_NAMED(import_as<NvSciSemaphore>(context, description));
}

Result<NvSciSemaphore> NvSciSemaphore::adopt(const Context &context,
                                             CUexternalSemaphore semaphore) noexcept {
    return CUSHIM_NAMED(adopted<NvSciSemaphore>(context, semaphore));
}

NvSciSemaphore NvSciSemaphore::borrow(const Context &context,
                                      CUexternalSemaphore semaphore) noexcept {
    return own<NvSciSemaphore>(semaphore, context, nullptr);
}

} // namespace cushim
