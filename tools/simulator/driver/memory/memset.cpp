#include "memory/memset.hpp"
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/memory.hpp"
#include "engine/pool.hpp"
#include "engine/stream.hpp"
#include "memory/kernel_memory.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace sim {
namespace {

// Bytes from the first to the end of the last that is set.
std::size_t span_of(const MemsetParameters &p) {
    std::size_t row = 0, rows = 0, all = 0;
    require(!__builtin_mul_overflow(p.width, std::size_t(p.element_size), &row) &&
            !__builtin_mul_overflow(p.height - 1, p.height > 1 ? p.pitch : 0, &rows) &&
            !__builtin_add_overflow(row, rows, &all));
    require(p.height == 1 || p.pitch >= row, "Pitch must be greater than width (in bytes) of fill");
    return all;
}

void set_row(std::byte *row, const MemsetParameters &p) {
    switch (p.element_size) {
    case 1:
        std::memset(row, static_cast<int>(p.value & 0xff), p.width);
        break;
    case 2:
        std::fill_n(reinterpret_cast<std::uint16_t *>(row), p.width,
                    static_cast<std::uint16_t>(p.value));
        break;
    default:
        std::fill_n(reinterpret_cast<std::uint32_t *>(row), p.width,
                    static_cast<std::uint32_t>(p.value));
        break;
    }
}

void check_range(CUdeviceptr address, std::size_t span) try {
    device_range(address, span, true);
} catch (const Refusal &) {
    const Range *range = AddressSpace::get().find(address);
    if (range == nullptr || range->memory == Memory::array) {
        explain("invalid memset range - no allocation found and cudaDevAttrPageableMemoryAccess is "
                "false");
    } else if (span > range->size - (address - range->base)) {
        explain("Memset extends beyond allocation range");
    }
    throw;
}

// Unlike copies, memsets run on the device of their stream, which must have access to the memory.
void check_reach(const Context &context, const Range &range, const char *what) {
    if (!in_reach(context, range)) {
        require(!is_host_pool(range)); // the status reports it, as for other pools
        misuse(std::string(what) + " on device " + std::to_string(context.device) +
               " of memory that it cannot access: " + range.describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
}

bool is_empty(const MemsetParameters &p) {
    return p.width == 0 || p.height == 0;
}

} // namespace

Work memset_work(const MemsetParameters &p, const char *what) {
    require(p.element_size == 1 || p.element_size == 2 || p.element_size == 4,
            "element size must be 1, 2 or 4");
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_MEMSET;
    work.what = what;
    work.parameters = p;
    if (is_empty(p)) {
        return work;
    }
    if (p.address % p.element_size != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Device pointer must be %u-byte aligned to match elementSize", p.element_size);
    }
    if (p.height != 1 && p.pitch % p.element_size != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Pitch must be %u-byte aligned to match elementSize",
               p.element_size);
    }
    const std::size_t span = span_of(p);
    if (p.height == 1 && span > ~CUdeviceptr(0) - p.address) {
        // Recorded: the driver does not notice that the end overflows.
        check_range(p.address, 1);
        work.uses = {{p.address, 1}};
        work.run = [](Stream &) { throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS}; };
        return work;
    }
    check_range(p.address, span);
    work.uses = {{p.address, span}};
    work.run = [p, span, what](Stream &stream) {
        check_reach(*stream.context, device_range(p.address, span, true), what);
        std::byte *view = device_view(p.address, span, true);
        for (std::size_t row = 0; row < p.height; ++row) {
            set_row(view + row * p.pitch, p);
        }
    };
    return work;
}

CUresult set_now(const MemsetParameters &parameters) {
    const char *const what = Call::current()->base();
    Context &context = current_context();
    Stream &stream = stream_of(nullptr);
    Work work = memset_work(parameters, what);
    if (is_empty(parameters)) {
        return CUDA_SUCCESS;
    }
    refuse_capturing(stream);
    const Range &range = device_range(parameters.address, 1, true);
    check_reach(context, range, what);
    check_access_by(context.device, parameters.address, span_of(parameters), true);
    const bool waits =
        range.on_host() || range.sync_memops; // otherwise only ordered with device work
    work.synchronous = true;
    const Ticket ticket = submit(stream, std::move(work));
    return waits && ticket ? wait(ticket) : CUDA_SUCCESS;
}

CUresult set_later(CUstream handle, const MemsetParameters &parameters) {
    const char *const what = Call::current()->base();
    Stream &stream = stream_of(handle);
    check_usable(*stream.context);
    refuse_invalidated(stream);
    Work work = memset_work(parameters, what);
    if (is_empty(parameters)) {
        return CUDA_SUCCESS;
    }
    if (stream.capture == nullptr) { // a node is checked when it runs
        check_reach(*stream.context, device_range(parameters.address, 1, true), what);
        check_access_by(stream.context->device, parameters.address, span_of(parameters), true);
    }
    submit(stream, std::move(work));
    return CUDA_SUCCESS;
}

// Recorded: the bytes of a row are computed modulo 2^64; with a result of 0, nothing is set.
std::size_t elements_of_row(std::size_t count, std::size_t size) {
    const std::size_t taken = count * size / size;
    if (taken != count) {
        misuse("memset of " + std::to_string(count) + " elements of " + std::to_string(size) +
               " bytes exceeds the address space");
    }
    return taken;
}

} // namespace sim
