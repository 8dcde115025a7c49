#include <cushim/external_semaphore.hpp>

#include <cushim/stream.hpp>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/in_context.hpp"
#include "context/on_device.hpp"
#include "context/requirements.hpp"
#include "context/wrong_context.hpp"
#include "external_descriptions.hpp"
#include "external_handles.hpp"

#include <iterator>
#include <limits>
#include <memory>
#include <new>

namespace cushim {

using namespace detail;

namespace {

using Description = CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;

struct SemaphoreState final : InContext {
    using InContext::InContext;
    Destroyed destroy() noexcept override {
        return {call<entry::cuDestroyExternalSemaphore>(semaphore), semaphore};
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
    CUSHIM_TRY_VOID(call<entry::cuCtxGetDevice>(&device));
    return require_attribute(Device::from_native(device),
                             CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED,
                             "does not support timeline semaphores; use "
                             "BinarySemaphore::import_fd()");
}

constexpr const char *type_names[] = {"",
                                      "OPAQUE_FD",
                                      "OPAQUE_WIN32",
                                      "OPAQUE_WIN32_KMT",
                                      "D3D12_FENCE",
                                      "D3D11_FENCE",
                                      "NVSCISYNC",
                                      "D3D11_KEYED_MUTEX",
                                      "D3D11_KEYED_MUTEX_KMT",
                                      "TIMELINE_SEMAPHORE_FD",
                                      "TIMELINE_SEMAPHORE_WIN32"};
static_assert(std::size(type_names) - 1 ==
              CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32);

SemaphoreOwner own(CUexternalSemaphore native, const Context &context,
                   SemaphoreState *state) noexcept {
    SemaphoreOwner owner;
    Access::set(owner, {native, context.native()}, state);
    return owner;
}

// The messages of systems without file descriptors, and of those without Windows handles.
const char *without_descriptors(CUexternalSemaphoreHandleType type) noexcept {
    return type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
               ? "file descriptors are not supported on Windows; use "
                 "BinarySemaphore::import_win32()"
               : "file descriptors are not supported on Windows; use "
                 "TimelineSemaphore::import_win32()";
}
const char *without_windows(CUexternalSemaphoreHandleType type) noexcept {
    switch (type) {
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT:
        return "Windows handles are not supported on this platform; use "
               "BinarySemaphore::import_fd()";
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT:
        return "keyed mutexes exist only on Windows; use BinarySemaphore or TimelineSemaphore";
    default:
        return "Windows handles are not supported on this platform; use "
               "TimelineSemaphore::import_fd()";
    }
}

Result<SemaphoreOwner> import(const Context &context, const Description &description) noexcept {
    CUSHIM_TRY(auto state, make_state<SemaphoreState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(check_supported(description.type));
    auto imported = call<entry::cuImportExternalSemaphore>(&state->semaphore, &description);
    if (!imported && imported.error().status() == CUDA_ERROR_NOT_SUPPORTED) {
        return explained(imported.error(),
                         "%s does not support CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_%s",
                         current_device_text().c_str(), type_names[description.type]);
    }
    for (const CUresult rejected :
         {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_UNKNOWN}) {
        imported = explained(static_cast<Result<void> &&>(imported), rejected,
                             "CUDA rejected the handle; it must be a semaphore of this "
                             "kind, exported from the device of the context");
    }
    CUSHIM_TRY_VOID(imported);
    const CUexternalSemaphore semaphore = state->semaphore;
    return own(semaphore, context, state.take());
}

// --- signals and waits

struct Signals {
    using Operation = SemaphoreSignal;
    using Entry = entry::cuSignalExternalSemaphoresAsync;
    using Parameters = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;
    static Parameters parameters(const SemaphoreOperation &operation) noexcept {
        return signal_parameters(operation);
    }
    static constexpr const char *argument = "signals";
};

struct Waits {
    using Operation = SemaphoreWait;
    using Entry = entry::cuWaitExternalSemaphoresAsync;
    using Parameters = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
    static Parameters parameters(const SemaphoreOperation &operation) noexcept {
        return wait_parameters(operation);
    }
    static constexpr const char *argument = "waits";
};

template <class Kind>
using Batch = std::span<const typename Kind::Operation>;

const char *empty_text(SemaphoreKind kind) noexcept {
    switch (kind) {
    case SemaphoreKind::binary:
        return "the BinarySemaphore is empty";
    case SemaphoreKind::timeline:
        return "the TimelineSemaphore is empty";
    case SemaphoreKind::keyed_mutex:
        return "the KeyedMutex is empty";
    default:
        return "the NvSciSemaphore is empty";
    }
}

template <class Kind>
Result<void> check(Batch<Kind> batch, std::size_t index) noexcept {
    const SemaphoreOperation &operation = batch[index].operation();
    const bool is_empty = operation.semaphore == nullptr;
    if (!is_empty && (operation.kind != SemaphoreKind::nvsci || operation.fence != nullptr)) {
        return {};
    }
    if (batch.size() > 1) {
        return invalid_argument(is_empty ? "%s[%zu] is empty"
                                         : "the NvSciSyncFence of %s[%zu] is null",
                                Kind::argument, index);
    }
    return Error::invalid_argument(is_empty ? empty_text(operation.kind)
                                            : "the NvSciSyncFence is null");
}

// For a semaphore of another context, CUDA returns "invalid handle".
template <class Kind>
Error not_submitted(const Error &error, const Stream &stream, Batch<Kind> batch) noexcept {
    const SemaphoreOperation &first = batch.front().operation();
    if (error.status() == CUDA_ERROR_TIMEOUT && batch.size() == 1 &&
        first.kind == SemaphoreKind::keyed_mutex) {
        return explained(error, "the mutex was not released with key %llu within %u ms",
                         first.value, first.timeout_ms);
    }
    for (const auto &item : batch) {
        const SemaphoreOperation &operation = item.operation();
        const Error made = failure_of_stream(error, stream, "the semaphore", operation.context,
                                             ordinal_of(operation.state));
        if (made.kind() == ErrorKind::wrong_context) {
            return made;
        }
    }
    return error;
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
    const Result<void> submitted =
        call<typename Kind::Entry>(semaphores, parameters, count, stream.native());
    return submitted ? submitted : not_submitted<Kind>(submitted.error(), stream, batch);
}

template <class Kind>
Result<void> submit_many(const Stream &stream, Batch<Kind> batch) noexcept {
    using Parameters = typename Kind::Parameters;
    const std::size_t count = batch.size();
    const std::unique_ptr<CUexternalSemaphore[]> semaphores(new (std::nothrow)
                                                                CUexternalSemaphore[count]);
    const std::unique_ptr<Parameters[]> parameters(new (std::nothrow) Parameters[count]);
    if (semaphores == nullptr || parameters == nullptr) {
        return no_host_memory();
    }
    return submit<Kind>(stream, batch, semaphores.get(), parameters.get());
}

template <class Kind>
Result<void> submit_any(const Stream &stream, Batch<Kind> batch) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
    constexpr std::size_t most = std::numeric_limits<unsigned int>::max();
    constexpr std::size_t few = 4; // without heap memory
    if (batch.empty()) {
        return {};
    }
    if (batch.size() > most) {
        return invalid_argument("the number of %s, %zu, exceeds the limit of %zu", Kind::argument,
                                batch.size(), most);
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
    return named("signal_semaphores", submit_any<Signals>(stream, signals));
}

Result<void> wait_semaphores(const Stream &stream, std::span<const SemaphoreWait> waits) noexcept {
    return named("wait_semaphores", submit_any<Waits>(stream, waits));
}

// --- imports

namespace detail {

Result<SemaphoreOwner> import_semaphore(const char *function, const Context &context,
                                        CUexternalSemaphoreHandleType type, UniqueFd &fd) noexcept {
    return named(function, [&]() -> Result<SemaphoreOwner> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY(LentDescriptor lent, LentDescriptor::of(fd, without_descriptors(type)));
        Description description{};
        description.type = type;
        description.handle.fd = lent.get();
        auto imported = import(context, description);
        if (imported) {
            lent.taken();
            fd.reset();
        }
        return imported;
    });
}

Result<SemaphoreOwner> import_semaphore(const char *function, const Context &context,
                                        CUexternalSemaphoreHandleType type,
                                        Win32Handle handle) noexcept {
    return named(function, [&]() -> Result<SemaphoreOwner> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY_VOID(check_win32(handle, without_windows(type)));
        Description description{};
        description.type = type;
        description.handle.win32.handle = handle.handle();
        description.handle.win32.name = handle.name();
        return import(context, description);
    });
}

Result<SemaphoreOwner> import_nvscisync(const Context &context, const void *nvscisync) noexcept {
    return named("NvSciSemaphore::import_from", [&]() -> Result<SemaphoreOwner> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        if (nvscisync == nullptr) {
            return Error::invalid_argument("the NvSciSyncObj is null");
        }
        Description description{};
        description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC;
        description.handle.nvSciSyncObj = nvscisync;
        return import(context, description);
    });
}

Result<SemaphoreOwner> adopt_semaphore(const char *function, const Context &context,
                                       CUexternalSemaphore semaphore) noexcept {
    return named(function, [&]() -> Result<SemaphoreOwner> {
        CUSHIM_TRY_VOID(require_handle_in(context, semaphore));
        CUSHIM_TRY(auto state, make_state<SemaphoreState>(context));
        state->semaphore = semaphore;
        return own(semaphore, context, state.take());
    });
}

} // namespace detail
} // namespace cushim
