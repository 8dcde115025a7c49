/* Handles of 64 bytes: IpcMemHandle and IpcEventHandle. */
#ifndef CUSHIM_DETAIL_IPC_BYTES_HPP
#define CUSHIM_DETAIL_IPC_BYTES_HPP

#include <cstddef>
#include <cstring>
#include <span>

#include <cushim/detail/cpp20.hpp>

namespace cushim::detail {

// A CUDA handle, which is opaque to everything except the functions that open it.
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

} // namespace cushim::detail

#endif
