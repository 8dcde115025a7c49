// The addresses of the lanes of one access, and where the host finds the bytes.
#pragma once

#include "ptx/run/fault.hpp"
#include "ptx/run/lanes.hpp"

#include <algorithm>

namespace sim::ptx::inline SIM_PTX_FEATURES {

// Global memory, with constants: addresses of the device.
struct GlobalBytes {
    static constexpr Space space = Space::global;
    static std::byte *view(Warp &warp, const Step &step, std::uint64_t address, std::size_t size,
                           bool write) {
        return warp.block().memory().view(step.site, address, size, write);
    }
};

// Shared memory of the block: addresses begin at 0.
struct SharedBytes {
    static constexpr Space space = Space::shared;
    static std::byte *view(Warp &warp, const Step & /*step*/, std::uint64_t address,
                           std::size_t size, bool /*write*/) {
        Block &block = warp.block();
        return address <= block.shared_size() && size <= block.shared_size() - address
                   ? block.shared() + address
                   : nullptr;
    }
};

// The kernel's parameters: addresses begin at 0.
struct ParameterBytes {
    static constexpr Space space = Space::param;
    static std::byte *view(Warp &warp, const Step & /*step*/, std::uint64_t address,
                           std::size_t size, bool write) {
        const auto &bytes = warp.block().grid().launch.parameters;
        return !write && address <= bytes.size() && size <= bytes.size() - address
                   ? const_cast<std::byte *>(bytes.data()) + address // it is only read
                   : nullptr;
    }
};

// Local memory of a lane.
inline std::byte *local_view(Warp &warp, int lane, std::uint64_t address, std::size_t size) {
    return address <= warp.local_bytes() && size <= warp.local_bytes() - address
               ? warp.local(lane) + address
               : nullptr;
}

// A generic address in a window of another space.
inline bool is_in(std::uint64_t window, std::uint64_t address) noexcept {
    return address - window < window_size;
}

// The bytes of one lane at a generic address, or null.
inline std::byte *generic_view(Warp &warp, const Step &step, int lane, std::uint64_t address,
                               std::size_t size, bool write) {
    if (is_in(shared_window, address)) {
        return SharedBytes::view(warp, step, address - shared_window, size, write);
    }
    if (is_in(local_window, address)) {
        return local_view(warp, lane, address - local_window, size);
    }
    if (is_in(parameter_window, address)) {
        return ParameterBytes::view(warp, step, address - parameter_window, size, write);
    }
    return GlobalBytes::view(warp, step, address, size, write);
}

// The bytes of one lane in any space; throws its fault.
inline std::byte *lane_view(Warp &warp, const Step &step, Space space, int lane,
                            std::uint64_t address, std::size_t size, bool write) {
    KernelFault fault{.kind = KernelFault::Kind::misaligned_address,
                      .address = address,
                      .size = size,
                      .write = write,
                      .space = space};
    if ((address & (size - 1)) != 0) {
        fail(warp, step, lane, fault);
    }
    std::byte *view = nullptr;
    switch (space) {
    case Space::shared:
        view = SharedBytes::view(warp, step, address, size, write);
        break;
    case Space::local:
        view = local_view(warp, lane, address, size);
        break;
    case Space::param:
        view = ParameterBytes::view(warp, step, address, size, write);
        break;
    case Space::none:
        view = generic_view(warp, step, lane, address, size, write);
        break;
    default:
        view = GlobalBytes::view(warp, step, address, size, write);
    }
    if (view == nullptr) {
        fault.kind = KernelFault::Kind::illegal_address;
        fail(warp, step, lane, fault);
    }
    return view;
}

// Address: std::uint32_t for registers of 32 bits, which the smaller spaces allow.
template <class Address>
std::uint64_t lane_address(Warp &warp, const Step &step, int lane) {
    return step.value + warp.lanes<Address>(step.in[0])[lane];
}

// The addresses of a warp, as distances from that of its first active lane.
struct WarpAddresses {
    // size: bytes of each lane, a power of two. window: where the space begins among the addresses.
    // Inactive lanes count as the first active one.
    template <class Address>
    WarpAddresses(const Address *base, const Step &step, Mask mask, std::uint64_t window,
                  std::uint32_t size) {
        using Signed = std::make_signed_t<Address>;
        const Address origin = base[__builtin_ctz(mask)];
        Address far = 0;
        for (int lane = 0; lane < warp_size; ++lane) {
            const Address active =
                mask == all_lanes ? ~Address(0) : Address(0) - (mask >> lane & 1);
            const Address from = (base[lane] - origin) & active;
            far |= from + (Address(1) << 31);
            distance[lane] = static_cast<std::int32_t>(static_cast<Signed>(from));
        }
        std::uint32_t low = 0, uneven = 0, different = 0;
        for (int lane = 0; lane < warp_size; ++lane) {
            const auto from = static_cast<std::uint32_t>(distance[lane]);
            lowest = distance[lane] < lowest ? distance[lane] : lowest;
            highest = distance[lane] > highest ? distance[lane] : highest;
            low |= from;
            uneven |= from ^ (static_cast<std::uint32_t>(lane) * size);
            different |= from;
        }
        const std::uint64_t first = origin + step.value - window;
        near = sizeof(Address) == 4 || static_cast<std::uint64_t>(far) >> 32 == 0;
        aligned = ((static_cast<std::uint32_t>(first) | low) & (size - 1)) == 0;
        consecutive = uneven == 0 && mask == all_lanes;
        equal = different == 0;
        begin = first + static_cast<std::uint64_t>(static_cast<std::int64_t>(lowest));
        length = static_cast<std::uint64_t>(static_cast<std::int64_t>(highest) - lowest) + size;
    }

    std::int32_t distance[warp_size];
    std::int32_t lowest = 0, highest = 0;
    std::uint64_t begin, length; // all bytes
    bool near, aligned, consecutive, equal;
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
