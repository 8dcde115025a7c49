/* Device memory and events shared between processes of one machine, by 64 bytes each.
 *
 * The process that owns them exports, and sends what it gets in any way that carries bytes; the other
 * opens. The owner must keep the memory until the other has closed it: CUDA does not check. Who has to
 * wait for whom is said by events, which are shared in the same way.
 *
 *     CUSHIM_TRY(const auto exported, IpcExport::of(context, buffer.span()));    here
 *     send(exported.bytes());
 *
 *     CUSHIM_TRY(const auto exported, IpcExport::from_bytes(received));          there
 *     CUSHIM_TRY(const auto memory, IpcMemory::open(context, exported));
 *     CUSHIM_TRY(const auto floats, memory.as<float>());
 *
 * Only memory of DeviceBuffer::allocate() and the like (cuMemAlloc) can be shared so. Memory of pools, of
 * virtual memory management, and managed memory cannot: the error says what to use instead. A handle
 * cannot be opened in the process that made it (kind wrong_context). Both processes must see the
 * device. Linux; Windows only for devices in TCC mode.
 *
 * Threads: any. Needs no current context and does not change it.
 */
#ifndef CUSHIM_IPC_HPP
#define CUSHIM_IPC_HPP

#include <cstddef>
#include <cstring>
#include <span>

#include <cushim/context.hpp>
#include <cushim/device_span.hpp>
#include <cushim/event.hpp>
#include <cushim/handle.hpp>
#include <cushim/stream.hpp>

namespace cushim {
namespace detail {

// What CUDA calls a handle: it means something only to who opens it.
template <class Tag>
struct IpcBytes {
    static constexpr std::size_t size = 64;

    static IpcBytes from_bytes(std::span<const std::byte, size> bytes) noexcept {
        IpcBytes handle;
        std::memcpy(handle.stored, bytes.data(), size);
        return handle;
    }
    std::span<const std::byte, size> bytes() const noexcept {
        return std::span<const std::byte, size>(stored, size);
    }
    friend bool operator==(const IpcBytes &, const IpcBytes &) = default;

    std::byte stored[size] = {};
};

} // namespace detail

using IpcMemHandle = detail::IpcBytes<struct IpcMemTag>;
using IpcEventHandle = detail::IpcBytes<struct IpcEventTag>;

/* Part of an allocation, as the other process needs it: CUDA's handle is of the whole allocation. Plain
 * data, the same on every machine of one byte order. */
class IpcExport {
  public:
    // 64 of the handle, 8 of the offset, 8 of the size.
    static constexpr std::size_t byte_count = 80;

    /* Of memory that lives in this context. A part of an allocation is fine; the allocation is found.
     * Errors: invalid_argument for memory that cannot be shared in this way, saying what can; wrong_context
     * for another device's.
     * cuPointerGetAttributes (CUDA 7.0), cuMemGetAddressRange_v2, cuIpcGetMemHandle (CUDA 4.1). */
    template <DeviceType T>
    static Result<IpcExport> of(const Context &context, DeviceSpan<T> memory) noexcept {
        CUSHIM_TRY(const std::size_t bytes, detail::bytes_of(memory.size(), sizeof(T)));
        return of(context, memory.address(), bytes);
    }

    // Of a bare handle, from a program that does not use cushim: `size` bytes from `offset` on in the allocation that
    // it is of. invalid_argument where offset and size make no range; open() checks them against the allocation.
    CUSHIM_API static Result<IpcExport> from_handle(const IpcMemHandle &handle, std::size_t size,
                                                    std::size_t offset = 0) noexcept;

    // From bytes that another process sent. invalid_argument where there are not just byte_count of
    // them, or offset and size make no range.
    CUSHIM_API static Result<IpcExport> from_bytes(std::span<const std::byte> bytes) noexcept;
    struct Bytes {
        std::byte stored[byte_count];
        operator std::span<const std::byte>() const noexcept { return stored; }
    };
    CUSHIM_API Bytes bytes() const noexcept;

    const IpcMemHandle &handle() const noexcept { return handle_; }
    // In bytes, from the allocation's begin.
    std::size_t offset() const noexcept { return offset_; }
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

namespace detail {

struct OpenedMemory {
    CUdeviceptr native = 0;
    std::size_t size = 0;
};

} // namespace detail

/* Another process's memory, opened in this one. Moved, not copied: each is closed once.
 *
 * Closing waits for nothing by itself: work that uses the memory must be done by then, or release_after()
 * says what to wait for. The other process frees the memory only once it is closed here: tell it then. */
class IpcMemory : public detail::Owner<detail::OpenedMemory> {
  public:
    IpcMemory() noexcept = default;

    /* Errors: invalid_argument where the allocation is smaller than the export says; wrong_context in
     * the process that exported; status 1 for a handle that means nothing; status 400 in another context of
     * the device while one of this process has memory of that exporter open. Access from another device
     * is enabled as soon as that uses it.
     * cuIpcOpenMemHandle_v2, cuMemGetAddressRange_v2, cuIpcCloseMemHandle. Since CUDA 11.0. */
    CUSHIM_API static Result<IpcMemory> open(const Context &context,
                                             const IpcExport &exported) noexcept;

    // In bytes.
    std::size_t size() const noexcept { return value().size; }

    // All of it; valid as long as the memory is open.
    DeviceSpan<std::byte> span() const noexcept { return {native(), size()}; }

    // All of it as elements of T. Where it begins and how large it is, the other process said:
    // invalid_argument where it does not hold a whole number of them, or does not begin where a T may lie.
    template <DeviceType T>
    Result<DeviceSpan<T>> as() const noexcept {
        CUSHIM_TRY_VOID(detail::check_elements(native(), size(), sizeof(T), alignof(T)));
        return DeviceSpan<T>(native(), size() / sizeof(T));
    }

    // Its owner waits for all work in this stream before it closes the memory: as
    // DeviceBuffer::release_after. Closes it even if the stream is being captured then.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

    // There is nothing to give up: CUDA closes a whole allocation, and native() is where the part begins.
    CUdeviceptr release() = delete;

  private:
    using Owner::Owner;
};

inline Text to_text(const IpcMemory &memory) noexcept {
    return detail::text_of("IpcMemory", memory, memory.size());
}

/* The handle of an event that was made with interprocess set, in this context. The event must live until
 * the other process has opened it.
 * Errors: invalid_argument for an empty context or event; status 400 for an event that was made without
 * interprocess.
 * cuIpcGetEventHandle, since CUDA 4.1. */
CUSHIM_API Result<IpcEventHandle> export_event(const Context &context, const Event &event) noexcept;

/* Another process's event, of whichever device, for the streams of this context: open it in each context
 * whose streams wait for it. Nodes of graphs may have it wherever they are launched. Otherwise it works like one of
 * this process, and is destroyed on its own. What it marks never happens if that process is killed before it does:
 * who cannot wait for ever asks query() first.
 * Errors: wrong_context in the process that exported; status 205 for a handle that means nothing.
 * cuIpcOpenEventHandle, cuEventDestroy_v2. Since CUDA 4.1. */
CUSHIM_API Result<Event> open_event(const Context &context, const IpcEventHandle &handle) noexcept;

} // namespace cushim

#endif
