// IPC events: their state is in a memory file, which an importer opens through the exporter's
// descriptor.
#include "base/shared_state.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "memory/ipc_memory.hpp"

#include <utility>

namespace sim::driver {

EXPORT CUresult cuIpcGetEventHandle(OUT CUipcEventHandle *pHandle, CUevent event) {
    current_context();
    require(pHandle != nullptr && event != nullptr);
    const Event &exported = checked(event);
    require(exported.shared != nullptr, CUDA_ERROR_INVALID_HANDLE,
            "Only local (non-imported) events created as interprocess may be exported.");
    IpcEventHandle inside{};
    inside.process = static_cast<std::uint32_t>(platform::process_id());
    inside.identity = exported.shared->identity();
    inside.file = static_cast<std::int32_t>(exported.shared->file().handle());
    *pHandle = sealed<CUipcEventHandle>(inside);
    return CUDA_SUCCESS;
}

namespace {

[[noreturn]] void refuse_open(CUresult status) {
    if (status == CUDA_ERROR_MAP_FAILED) {
        explain("Failed to open/create interprocess memory file");
        explain("Failed to open/find remote IPC semaphore pool.");
    }
    refuse(status);
}

IpcEventHandle inside_of(const CUipcEventHandle &handle) try {
    return unsealed<IpcEventHandle>(handle, CUDA_ERROR_MAP_FAILED);
} catch (const Refusal &refusal) {
    refuse_open(refusal.status);
}

} // namespace

EXPORT CUresult cuIpcOpenEventHandle(OUT CUevent *phEvent, CUipcEventHandle handle) {
    Context &context = current_context();
    require(phEvent != nullptr);
    const IpcEventHandle inside = inside_of(handle);
    require(inside.process != platform::process_id(), CUDA_ERROR_INVALID_CONTEXT,
            "Error opening locally created eventHandle.");
    auto shared =
        SharedEvent::open(platform::open_of_process(inside.process, inside.file), inside.identity);
    if (shared == nullptr) {
        refuse_open(CUDA_ERROR_MAP_FAILED);
    }
    Event *event =
        Registry::get().make<Event>(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    event->shared = std::move(shared);
    *phEvent = event;
    return CUDA_SUCCESS;
}

} // namespace sim::driver
