/* Shares device memory and events between processes of one machine, by CUDA IPC handles.
 *
 *     CUSHIM_TRY(const auto exported, IpcExport::of(context, buffer.span()));    exporter
 *     send(exported.bytes());
 *
 *     CUSHIM_TRY(const auto exported, IpcExport::from_bytes(received));          importer
 *     CUSHIM_TRY(const auto memory, IpcMemory::open(context, exported));
 *     CUSHIM_TRY(const auto floats, memory.as<float>());
 *
 * The exporter sends the bytes by any means, for example a pipe. It must not free the memory before
 * the importer has closed it; CUDA does not check that. Interprocess events order the work of the
 * two processes.
 *
 * Only memory from cuMemAlloc can be shared, such as that of DeviceBuffer::allocate(). Pool memory,
 * mapped physical memory, managed memory and host memory have no IPC handle; the error names the
 * alternative. The device must be visible to both processes. On Windows, IPC is slower.
 *
 * Threads: see handle.hpp; functions that are not members: any.
 * Errors: see each function; the end of this file has corner cases. */
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

// CUDA IPC handles of memory and of events. They are opaque: from_bytes() makes one from a
// std::span<const std::byte, 64>, and bytes() returns those 64 bytes.
using IpcMemHandle = detail::IpcBytes<struct IpcMemTag>;
using IpcEventHandle = detail::IpcBytes<struct IpcEventTag>;

/* Exported memory: the IPC handle of a whole allocation, and the part of it that is shared. Plain
 * data. */
class IpcExport {
  public:
    // The size of bytes(): the handle (64), the offset (8) and the size (8).
    static constexpr std::size_t byte_count = 80;

    /* Exports memory of this context, a whole allocation or part of one.
     * Errors: invalid_argument if the size is 0, if the memory exceeds its allocation, or if it has
     * no IPC handle (the message names the alternative); wrong_context if it belongs to another
     * device than the context.
     * cuPointerGetAttributes, cuMemGetAddressRange_v2, cuIpcGetMemHandle. */
    template <DeviceType T>
    static Result<IpcExport> of(const Context &context, DeviceSpan<T> memory) noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const std::size_t bytes,
                          detail::bytes_of(memory.size(), sizeof(T), "IpcExport::of"));
        return of(context, memory.native(), bytes);
    }

    // For a handle from a program that does not use cushim: `size` bytes of its allocation,
    // starting at byte `offset`. invalid_argument if `size` is 0 or offset + size overflows.
    // IpcMemory::open() checks the size of the allocation.
    CUSHIM_API static Result<IpcExport> from_handle(const IpcMemHandle &handle, std::size_t size,
                                                    std::size_t offset = 0) noexcept;

    // From the bytes() of another process. invalid_argument if the number of bytes is not
    // byte_count, if the size in them is 0, or if offset + size overflows.
    CUSHIM_API static Result<IpcExport> from_bytes(std::span<const std::byte> bytes) noexcept;
    // The result of bytes(); converts to a view of the bytes.
    struct Bytes {
        std::byte stored[byte_count]; // in the format that from_bytes() reads
        // Valid as long as this object.
        CUSHIM_API operator std::span<const std::byte>() const noexcept;
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

/* Memory of another process, opened in this one. Moved, not copied: each open() is closed once.
 *
 * Notify the exporter once the memory is closed; the exporter must not free it before.
 */
class IpcMemory : public detail::Owner<detail::OpenedMemory> {
  public:
    IpcMemory() noexcept = default;

    /* Opens the memory in this context. Peer access is enabled lazily
     * (CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS).
     * Errors: invalid_argument if the allocation is smaller than the export states; wrong_context
     * if this process exported it; CUDA_ERROR_INVALID_VALUE (1) for an invalid handle.
     * cuIpcOpenMemHandle_v2, cuMemGetAddressRange_v2, cuIpcCloseMemHandle. */
    CUSHIM_API static Result<IpcMemory> open(const Context &context,
                                             const IpcExport &exported) noexcept;

    // The size in bytes.
    std::size_t size() const noexcept { return value().size; }

    // A view of all of it; valid as long as the memory is open.
    DeviceSpan<std::byte> span() const noexcept { return {native(), size()}; }

    // A view of all of it as elements of T. Offset and size come from the other process:
    // invalid_argument unless the size is a multiple of sizeof(T) and the address is aligned for T.
    template <DeviceType T>
    Result<DeviceSpan<T>> as() const noexcept {
        CUSHIM_DETAIL_TRY_VOID(cushim_done, detail::check_elements(native(), size(), sizeof(T),
                                                                   alignof(T), "IpcMemory::as"));
        return DeviceSpan<T>(native(), size() / sizeof(T));
    }

    // Before the memory is closed, the destructor waits for all work in this stream: see
    // typed_buffer.hpp.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

    // Ownership cannot be released: closing requires the start of the allocation, and native() may
    // be an address inside it.
    CUdeviceptr release() = delete;

  private:
    using Owner::Owner;
};

inline Text to_text(const IpcMemory &memory) noexcept {
    return detail::text_of("IpcMemory", memory, memory.size());
}

/* Exports an event of this context that was created with `interprocess`. The event must live until
 * no other process uses it.
 * Errors: invalid_argument for an empty context or event; CUDA_ERROR_INVALID_HANDLE (400) for an
 * event that was created without `interprocess`. cuIpcGetEventHandle. */
CUSHIM_API Result<IpcEventHandle> export_event(const Context &context, const Event &event) noexcept;

/* Opens an event of another process in this context; the event may be of any device. Streams of
 * other contexts cannot wait for it: open it in each context. Graph nodes may use it in any
 * context. Each process destroys its own event, the exporter last.
 *
 * Errors: wrong_context if this process exported the event; CUDA_ERROR_MAP_FAILED (205) for an
 * invalid handle.
 * cuIpcOpenEventHandle, cuEventDestroy_v2. */
CUSHIM_API Result<Event> open_event(const Context &context, const IpcEventHandle &handle) noexcept;

} // namespace cushim

/* Corner cases:
 *
 * | what happens if                        |                                                      |
 * |----------------------------------------|------------------------------------------------------|
 * | the exporter is killed before the work | The event never completes. Do not wait for it        |
 * | that an event recorded completes       | without a limit: poll query() with a timeout.        |
 * | memory of one exporter is opened in    | The second open() fails with                         |
 * | two contexts of a device               | CUDA_ERROR_INVALID_HANDLE (400).                     |
 * | a handle is opened in the process that | The call fails with wrong_context: use the original  |
 * | created it                             | object.                                              |
 */

#endif
