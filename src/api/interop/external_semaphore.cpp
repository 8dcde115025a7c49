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

#include <algorithm>
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
                                     "import of timeline semaphores");
}

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
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuImportExternalSemaphore, &state->semaphore, &description));
    const CUexternalSemaphore semaphore = state->semaphore;
    return own<Semaphore>(semaphore, context, state.take());
}

template <class Semaphore>
Result<Semaphore> import_as(const Context &context, CUexternalSemaphoreHandleType type,
                            UniqueFd &fd) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the context is empty"));
    CUSHIM_TRY(detail::LentDescriptor lent, detail::LentDescriptor::of(fd));
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
    CUSHIM_TRY_VOID(detail::require(context, "the context is empty"));
    CUSHIM_TRY_VOID(detail::check_win32(handle));
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
    static constexpr const char *name = entry::cuWaitExternalSemaphoresAsync::name;
    static constexpr int introduced = entry::cuWaitExternalSemaphoresAsync::introduced;
};

template <class Kind>
using Batch = std::span<const typename Kind::Operation>;

Result<void> check(const SemaphoreOperation &operation) noexcept {
    if (operation.semaphore == nullptr) {
        return Error::invalid_argument("the semaphore is empty");
    }
    if (operation.kind == detail::SemaphoreKind::nvsci && operation.fence == nullptr) {
        return Error::invalid_argument("the NvSciSyncFence is null");
    }
    return {};
}

// For a semaphore of another context, CUDA returns "invalid handle".
template <class Kind>
Error failure(CUresult status, const Stream &stream, Batch<Kind> batch) noexcept {
    return detail::failure_in(
        stream, {status, Kind::name, Kind::introduced},
        "the stream belongs to another context than the semaphore", [batch](CUcontext context) {
            return std::all_of(batch.begin(), batch.end(), [context](const auto &item) {
                return item.operation().context == context;
            });
        });
}

// `semaphores` and `parameters` have room for the batch.
template <class Kind>
Result<void> submit(const Stream &stream, Batch<Kind> batch, CUexternalSemaphore *semaphores,
                    typename Kind::Parameters *parameters) noexcept {
    for (std::size_t index = 0; index < batch.size(); ++index) {
        const SemaphoreOperation &operation = batch[index].operation();
        CUSHIM_TRY_VOID(check(operation));
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
    CUSHIM_TRY_VOID(detail::require(stream, "the stream is empty"));
    constexpr std::size_t most = std::numeric_limits<unsigned int>::max();
    constexpr std::size_t few = 4; // without heap memory
    if (batch.empty()) {
        return {};
    }
    if (batch.size() > most) {
        return detail::invalid_argument("number of semaphores, %zu, exceeds the limit of %zu",
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
    return submit_any<Signals>(stream, signals);
}

Result<void> wait_semaphores(const Stream &stream, std::span<const SemaphoreWait> waits) noexcept {
    return submit_any<Waits>(stream, waits);
}

// --- binary

Result<BinarySemaphore> BinarySemaphore::import_fd(const Context &context, UniqueFd &&fd) noexcept {
    return import_as<BinarySemaphore>(context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, fd);
}

Result<BinarySemaphore> BinarySemaphore::import_win32(const Context &context,
                                                      Win32Handle handle) noexcept {
    return import_as<BinarySemaphore>(context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32,
                                      handle);
}

Result<BinarySemaphore> BinarySemaphore::import_win32_kmt(const Context &context,
                                                          void *handle) noexcept {
    return import_as<BinarySemaphore>(context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT,
                                      Win32Handle::handle(handle));
}

Result<BinarySemaphore> BinarySemaphore::adopt(const Context &context,
                                               CUexternalSemaphore semaphore) noexcept {
    return adopted<BinarySemaphore>(context, semaphore);
}

BinarySemaphore BinarySemaphore::borrow(const Context &context,
                                        CUexternalSemaphore semaphore) noexcept {
    return own<BinarySemaphore>(semaphore, context, nullptr);
}

// --- timeline

Result<TimelineSemaphore> TimelineSemaphore::import_fd(const Context &context,
                                                       UniqueFd &&fd) noexcept {
    return import_as<TimelineSemaphore>(
        context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, fd);
}

Result<TimelineSemaphore> TimelineSemaphore::import_win32(const Context &context,
                                                          Win32Handle handle) noexcept {
    return import_as<TimelineSemaphore>(
        context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32, handle);
}

Result<TimelineSemaphore> TimelineSemaphore::import_d3d12_fence(const Context &context,
                                                                Win32Handle handle) noexcept {
    return import_as<TimelineSemaphore>(context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE,
                                        handle);
}

Result<TimelineSemaphore> TimelineSemaphore::import_d3d11_fence(const Context &context,
                                                                Win32Handle handle) noexcept {
    return import_as<TimelineSemaphore>(context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE,
                                        handle);
}

Result<TimelineSemaphore> TimelineSemaphore::adopt(const Context &context,
                                                   CUexternalSemaphore semaphore) noexcept {
    return adopted<TimelineSemaphore>(context, semaphore);
}

TimelineSemaphore TimelineSemaphore::borrow(const Context &context,
                                            CUexternalSemaphore semaphore) noexcept {
    return own<TimelineSemaphore>(semaphore, context, nullptr);
}

// --- keyed mutex

Result<KeyedMutex> KeyedMutex::import_d3d11(const Context &context, Win32Handle handle) noexcept {
    return import_as<KeyedMutex>(context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX,
                                 handle);
}

Result<KeyedMutex> KeyedMutex::import_d3d11_kmt(const Context &context, void *handle) noexcept {
    return import_as<KeyedMutex>(context, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT,
                                 Win32Handle::handle(handle));
}

Result<KeyedMutex> KeyedMutex::adopt(const Context &context,
                                     CUexternalSemaphore semaphore) noexcept {
    return adopted<KeyedMutex>(context, semaphore);
}

KeyedMutex KeyedMutex::borrow(const Context &context, CUexternalSemaphore semaphore) noexcept {
    return own<KeyedMutex>(semaphore, context, nullptr);
}

// --- NvSci

Result<NvSciSemaphore> NvSciSemaphore::import_from(const Context &context,
                                                   const void *nvscisync) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the context is empty"));
    if (nvscisync == nullptr) {
        return Error::invalid_argument("the NvSciSyncObj is null");
    }
    Description description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC;
    description.handle.nvSciSyncObj = nvscisync;
    return import_as<NvSciSemaphore>(context, description);
}

Result<NvSciSemaphore> NvSciSemaphore::adopt(const Context &context,
                                             CUexternalSemaphore semaphore) noexcept {
    return adopted<NvSciSemaphore>(context, semaphore);
}

NvSciSemaphore NvSciSemaphore::borrow(const Context &context,
                                      CUexternalSemaphore semaphore) noexcept {
    return own<NvSciSemaphore>(semaphore, context, nullptr);
}

} // namespace cushim
