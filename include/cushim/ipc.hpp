/* Device memory and events shared between processes of one machine, by 64-byte handles.
 *
 *     CUSHIM_TRY(const auto exported, IpcExport::of(context, buffer.span()));    exporter
 *     send(exported.bytes());
 *
 *     CUSHIM_TRY(const auto exported, IpcExport::from_bytes(received));          importer
 *     CUSHIM_TRY(const auto memory, IpcMemory::open(context, exported));
 *     CUSHIM_TRY(const auto floats, memory.as<float>());
 *
 * The exporter sends the bytes by any means. It must keep the memory until the importer has closed
 * it; CUDA does not check that. Interprocess events order the work of the two processes.
 *
 * Only memory from cuMemAlloc, such as DeviceBuffer::allocate(), can be shared. Pool memory, mapped
 * physical memory, managed memory and host memory cannot be shared this way; the error names the
 * alternative. Both processes must see the device. Linux; on Windows only devices in TCC mode.
 *
 * Threads: any.
 * Context: none required, none changed.
 * Errors: wrong_context if a handle is opened in the process that created it; see each function.
 */
#ifndef CUSHIM_IPC_HPP
#define CUSHIM_IPC_HPP

#include <cstddef>
#include <span>

#include <cushim/context.hpp>
#include <cushim/detail/ipc_bytes.hpp>
#include <cushim/detail/owner_values.hpp>
#include <cushim/device_span.hpp>
#include <cushim/event.hpp>
#include <cushim/handle.hpp>
#include <cushim/stream.hpp>

namespace cushim {

// CUDA handles of 64 bytes, of memory and of events: from_bytes() makes one from a
// std::span<const std::byte, 64>, and bytes() returns the bytes. Only the functions that open a
// handle can interpret it.
using IpcMemHandle = detail::IpcBytes<struct IpcMemTag>;
using IpcEventHandle = detail::IpcBytes<struct IpcEventTag>;

/* Part of an allocation, in the form that another process needs: CUDA's handle refers to the whole
 * allocation. Plain data. */
class IpcExport {
  public:
    // The size of bytes(): the handle (64), the offset (8) and the size (8).
    static constexpr std::size_t byte_count = 80;

    /* Exports memory of this context, a whole allocation or part of one.
     * Errors: invalid_argument if the size is 0, or the memory exceeds its allocation or cannot be
     * shared this way (the message names the alternative); wrong_context if it belongs to another
     * device.
     * cuPointerGetAttributes (CUDA 7.0), cuMemGetAddressRange_v2, cuIpcGetMemHandle (CUDA 4.1). */
    template <DeviceType T>
    static Result<IpcExport> of(const Context &context, DeviceSpan<T> memory) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(memory.size(), sizeof(T)));
        return of(context, memory.address(), bytes);
    }

    // From a handle of a program that does not use cushim: `size` bytes of its allocation, starting
    // at `offset`. invalid_argument if `size` is 0 or offset + size overflows; open() checks the
    // allocation.
    CUSHIM_API static Result<IpcExport> from_handle(const IpcMemHandle &handle, std::size_t size,
                                                    std::size_t offset = 0) noexcept;

    // From bytes that another process sent. invalid_argument unless there are byte_count of them,
    // and if the size in them is 0 or offset + size overflows.
    CUSHIM_API static Result<IpcExport> from_bytes(std::span<const std::byte> bytes) noexcept;
    // The bytes of an export, stored in the object. It converts to a view of them.
    struct Bytes {
        std::byte stored[byte_count]; // what from_bytes() reads
        // A view of the bytes; valid as long as this object.
        operator std::span<const std::byte>() const noexcept { return stored; }
    };
    // The bytes to send to another process.
    CUSHIM_API Bytes bytes() const noexcept;

    // The handle of the whole allocation.
    const IpcMemHandle &handle() const noexcept { return handle_; }
    // Where the part starts in the allocation, in bytes.
    std::size_t offset() const noexcept { return offset_; }
    // The size of the part in bytes.
    std::size_t size() const noexcept { return size_; }

  private:
    CUSHIM_API static Result<IpcExport> of(const Context &context, CUdeviceptr address,
                                           std::size_t size) noexcept;
    CUSHIM_API static Result<IpcExport> make_export(const IpcMemHandle &handle,
                                                    unsigned long long size,
                                                    unsigned long long offset) noexcept;

    IpcMemHandle handle_;
    std::size_t offset_ = 0;
    std::size_t size_ = 0;
};

/* Memory of another process, opened in this one. Moved, not copied: each is closed once.
 *
 * The memory is closed immediately on destruction. All work that uses it must have completed, or be
 * named with release_after(). The exporter may free the memory only afterwards: notify it then. */
class IpcMemory : public detail::Owner<detail::OpenedMemory> {
  public:
    IpcMemory() noexcept = default;

    /* Opens the memory in this context. Access from another device is enabled when that device
     * first uses it.
     * Errors: invalid_argument if the allocation is smaller than the export states; wrong_context
     * in the process that exported; status 1 for an invalid handle; status 400 if memory of the
     * same exporter is open in another context of the device.
     * cuIpcOpenMemHandle_v2, cuMemGetAddressRange_v2, cuIpcCloseMemHandle. Since CUDA 11.0. */
    CUSHIM_API static Result<IpcMemory> open(const Context &context,
                                             const IpcExport &exported) noexcept;

    // The size in bytes.
    std::size_t size() const noexcept { return value().size; }

    // A view of all of it; valid as long as the memory is open.
    DeviceSpan<std::byte> span() const noexcept { return {native(), size()}; }

    // A view of all of it as elements of T. Address and size come from the other process:
    // invalid_argument unless the size is a multiple of sizeof(T) and the address is aligned for T.
    template <DeviceType T>
    Result<DeviceSpan<T>> as() const noexcept {
        CUSHIM_TRY_VOID(detail::check_elements(native(), size(), sizeof(T), alignof(T)));
        return DeviceSpan<T>(native(), size() / sizeof(T));
    }

    // Before the memory is closed, the destructor waits for all work in this stream: see
    // DeviceBuffer::release_after(). Closes it even if the stream is being captured.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

    // Ownership cannot be given up: CUDA needs the start of the allocation to close it, and
    // native() may lie inside it.
    CUdeviceptr release() = delete;

  private:
    using Owner::Owner;
};

inline Text to_text(const IpcMemory &memory) noexcept {
    return detail::text_of("IpcMemory", memory, memory.size());
}

/* The handle of an event of this context that was created with `interprocess`. The event must live
 * until the other process has opened it.
 * Errors: invalid_argument for an empty context or event; status 400 for an event that was created
 * without `interprocess`.
 * cuIpcGetEventHandle, since CUDA 4.1. */
CUSHIM_API Result<IpcEventHandle> export_event(const Context &context, const Event &event) noexcept;

/* Opens an event of another process, of any device, for the streams of this context: open it in
 * each context whose streams wait for it. Graph nodes may use it in every context. Otherwise it
 * works like an event of this process, and is destroyed independently. If the other process is
 * killed before the event completes, it never completes: to avoid waiting permanently, call query()
 * first.
 * Errors: wrong_context in the process that exported; status 205 for an invalid handle.
 * cuIpcOpenEventHandle, cuEventDestroy_v2. Since CUDA 4.1. */
CUSHIM_API Result<Event> open_event(const Context &context, const IpcEventHandle &handle) noexcept;

} // namespace cushim

#endif
