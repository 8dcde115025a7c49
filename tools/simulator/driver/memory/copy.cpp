#include "memory/copy.hpp"
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/pool.hpp"
#include "engine/stream.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

namespace sim {
namespace {

std::size_t product(std::size_t a, std::size_t b) {
    std::size_t result = 0;
    require(!__builtin_mul_overflow(a, b, &result));
    return result;
}

std::size_t sum(std::size_t a, std::size_t b) {
    std::size_t result = 0;
    require(!__builtin_add_overflow(a, b, &result));
    return result;
}

// The API's description of one side, source or destination.
struct Described {
    const char *name; // "source" or "destination", for the error log
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    std::size_t x, y, z, pitch, height;
};

bool is_pageable(const Described &side) {
    return side.type == CU_MEMORYTYPE_HOST &&
           AddressSpace::get().find(address_of(side.host)) == nullptr;
}

// Recorded: of both sides, before any other check.
void explain_pitch(const Described &side, std::size_t width) {
    if (side.type != CU_MEMORYTYPE_ARRAY && side.pitch != 0 && side.pitch < width) {
        explain("Pitch must be greater than copy width in bytes");
    }
}

// Recorded: a pitch of 0 means rows without gaps, a height of 0 layers without gaps.
void check_pitches(Described &side, std::size_t width, std::size_t height) {
    const std::size_t row = sum(side.x, width);
    const std::size_t rows = sum(side.y, height);
    side.pitch = side.pitch == 0 ? row : side.pitch;
    side.height = side.height == 0 ? rows : side.height;
    if (row > side.pitch) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid X finish position%s, for %s operand",
               is_pageable(side) ? "" : ": Must be less than or equal to pitch", side.name);
    }
    if (rows > side.height && is_pageable(side)) {
        explain("Operand height must be greater than copy extent height");
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid Y finish position, for %s operand", side.name);
    }
    require(rows <= side.height);
}

void require_fit(bool fits, const char *problem, const Described &side) {
    if (!fits) {
        refuse(CUDA_ERROR_INVALID_VALUE, "%s, for %s operand", problem, side.name);
    }
}

CopySide array_side(const Described &side, std::size_t width, std::size_t height,
                    std::size_t depth) {
    const Array &array = checked(side.array, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
    require_fit(sum(side.x, width) <= array.row_bytes(),
                "Invalid X finish position: Must be less than array width", side);
    require_fit(array.descriptor.Height != 0 || height == 1 || side.y != 0,
                "Invalid height: Must be 1 for 1D arrays", side);
    require_fit(side.y < array.rows(), "Invalid Y start position: Must be less than height", side);
    require(sum(side.y, height) <= array.rows() && sum(side.z, depth) <= array.slices());
    CopySide result;
    result.array = side.array;
    result.pitch = array.row_bytes();
    result.slice = result.pitch * array.rows();
    result.first = side.z * result.slice + side.y * result.pitch + side.x;
    return result;
}

CopySide memory_side(Described side, std::size_t width, std::size_t height, std::size_t depth) {
    check_pitches(side, width, height);
    CopySide result;
    result.may_be_host = side.type != CU_MEMORYTYPE_DEVICE;
    result.pitch = side.pitch;
    result.slice = product(side.pitch, side.height);
    const std::size_t first =
        sum(sum(product(side.z, result.slice), product(side.y, side.pitch)), side.x);
    result.span =
        sum(sum(product(depth - 1, result.slice), product(height - 1, side.pitch)), width);
    const CUdeviceptr base = side.type == CU_MEMORYTYPE_HOST ? address_of(side.host) : side.device;
    require(base != 0, "Null address specified");
    result.address = static_cast<CUdeviceptr>(sum(static_cast<std::size_t>(base), first));
    sum(static_cast<std::size_t>(result.address), result.span);
    return result;
}

void check_range(const CopySide &checked, const Described &side, bool write) try {
    const Range &range = device_range(checked.address, checked.span, write);
    require(checked.may_be_host || !is_host_pool(range)); // as recorded
} catch (const Refusal &) {
    const Range *range = AddressSpace::get().find(checked.address);
    if (range == nullptr || range->memory == Memory::array) {
        explain("Allocation not found");
    } else if (checked.span > range->size - (checked.address - range->base)) {
        explain("Copy is larger than memobj size, for %s operand", side.name);
    } else if (const Mapping *mapping = mapping_at(checked.address);
               write && mapping != nullptr && mapping->accessible()) {
        explain("Requested write on read-only memory, for %s operand", side.name);
    } else if (const Context *context = living_current()) {
        explain("Unable to access operand(0x%llx) in the specified context (id %llu)",
                static_cast<unsigned long long>(checked.address), context->id);
    }
    throw;
}

CopySide checked_side(const Described &side, const Copy &copy, bool write) {
    switch (side.type) {
    case CU_MEMORYTYPE_ARRAY:
        return array_side(side, copy.width, copy.height, copy.depth);
    case CU_MEMORYTYPE_HOST:
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        break;
    default:
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    const CopySide result = memory_side(side, copy.width, copy.height, copy.depth);
    const auto address = static_cast<std::uintptr_t>(result.address);
    if (!result.may_be_host || AddressSpace::get().find(address) != nullptr) {
        check_range(result, side, write);
    } else {
        host_view(reinterpret_cast<const void *>(address), result.span);
    }
    return result;
}

// Whether the memory has CU_POINTER_ATTRIBUTE_SYNC_MEMOPS.
bool wants_synchronous(const CopySide &side) {
    const Range *range = side.array == nullptr ? AddressSpace::get().find(side.address) : nullptr;
    return range != nullptr && range->sync_memops;
}

Work work_with(const CUDA_MEMCPY3D_PEER &parameters, const char *what) {
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    work.what = what;
    work.parameters = parameters;
    return work;
}

// The recorded driver goes by the address alone. A client that names a context of another device
// has confused its pointers.
void check_named_device(CUcontext named, CUdeviceptr address, const char *what) {
    if (named == nullptr) {
        return;
    }
    const Context &context = checked_context(named);
    const Range *range = AddressSpace::get().find(static_cast<std::uintptr_t>(address));
    if (range != nullptr && !range->on_host() && range->device != context.device) {
        misuse(std::string(what) + " names a context of device " + std::to_string(context.device) +
               " for memory of device " + std::to_string(range->device) + ": " + range->describe());
    }
}

// Enqueues work after all current work of these contexts, and before all their later work.
Ticket submit_between(std::vector<Context *> contexts, Stream &stream, Work work) {
    check_usable(*stream.context);
    std::erase_if(contexts, [](const Context *context) { // destroyed since the call began
        return Registry::get().find(context) != context;
    });
    std::vector<Ticket> earlier;
    for (Context *context : contexts) {
        const std::vector<Ticket> queued = all_queued(*context);
        earlier.insert(earlier.end(), queued.begin(), queued.end());
    }
    work.enqueued = [contexts](const Ticket &ticket) {
        for (Context *context : contexts) {
            add_barrier(*context, ticket);
        }
    };
    return enqueue(stream, std::move(work), std::move(earlier));
}

// The contexts that a synchronous copy synchronizes with: the current one and those it names.
std::vector<Context *> contexts_of(const CUDA_MEMCPY3D_PEER &parameters) {
    std::vector<Context *> contexts = {&current_exact_context()};
    for (const CUcontext named : {parameters.srcContext, parameters.dstContext}) {
        if (named != nullptr &&
            std::find(contexts.begin(), contexts.end(), named) == contexts.end()) {
            contexts.push_back(&checked_context(named));
        }
    }
    return contexts;
}

// Enqueues work in a stream; null if it was captured.
using Submit = std::function<Ticket(Stream &, Work)>;

// The error of a copy that was waited for.
CUresult result_of(const Ticket &ticket) {
    return ticket ? wait(ticket) : CUDA_SUCCESS;
}

} // namespace

bool CopySide::is_pageable() const noexcept {
    return array == nullptr && AddressSpace::get().find(address) == nullptr;
}

bool CopySide::is_host() const noexcept {
    const Range *range = array == nullptr ? AddressSpace::get().find(address) : nullptr;
    return array == nullptr && (range == nullptr || range->on_host());
}

bool CopySide::has_memory() const {
    return array == nullptr || checked(array, CUDA_ERROR_INVALID_VALUE).view() != nullptr;
}

std::byte *CopySide::view(bool write) const {
    if (array == nullptr) {
        return may_be_host ? any_view(address, span, write) : device_view(address, span, write);
    }
    const Array &living = checked(array, CUDA_ERROR_INVALID_VALUE);
    if (living.view() == nullptr) {
        misuse("copy of an array without memory: " + living.describe());
        throw Fault{CUDA_ERROR_LAUNCH_FAILED}; // as recorded
    }
    if (!living.backing->contains(living.offset, living.bytes())) {
        misuse("the file of " + living.describe() + " was made smaller after its import");
        throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS};
    }
    return living.view() + first;
}

Copy::Copy(const CUDA_MEMCPY3D_PEER &p) : width(p.WidthInBytes), height(p.Height), depth(p.Depth) {
    if (empty()) {
        return;
    }
    const Described from{"source",      p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray,
                         p.srcXInBytes, p.srcY,          p.srcZ,    p.srcPitch,  p.srcHeight};
    const Described to{"destination", p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray,
                       p.dstXInBytes, p.dstY,          p.dstZ,    p.dstPitch,  p.dstHeight};
    explain_pitch(from, width);
    explain_pitch(to, width);
    destination = checked_side(to, *this, true); // recorded: checked first
    source = checked_side(from, *this, false);
}

void Copy::check_access_by(int device) const {
    for (const auto &[side, write] : {std::pair(&source, false), std::pair(&destination, true)}) {
        if (side->array == nullptr) {
            sim::check_access_by(device, side->address, side->span, write);
        }
    }
}

void Copy::run() const {
    if (empty()) {
        return;
    }
    const std::byte *from = source.view(false);
    std::byte *to = destination.view(true);
    const auto gapless = [this](const CopySide &side) {
        return (height == 1 || side.pitch == width) && (depth == 1 || side.slice == width * height);
    };
    if (gapless(source) && gapless(destination)) {
        std::memmove(to, from, width * height * depth);
        return;
    }
    for (std::size_t z = 0; z < depth; ++z) {
        for (std::size_t y = 0; y < height; ++y) {
            std::memmove(to + z * destination.slice + y * destination.pitch,
                         from + z * source.slice + y * source.pitch, width);
        }
    }
}

std::vector<Use> Copy::uses() const {
    std::vector<Use> used;
    if (empty()) {
        return used;
    }
    for (const CopySide *side : {&source, &destination}) {
        if (side->array != nullptr) {
            used.push_back({static_cast<CUdeviceptr>(checked(side->array).place), 1});
        } else if (!side->is_pageable()) {
            used.push_back({side->address, side->span});
        }
    }
    return used;
}

std::vector<std::byte> Copy::snapshot() const {
    std::vector<std::byte> bytes(width * height * depth);
    const std::byte *from = source.view(false);
    std::byte *to = bytes.data();
    for (std::size_t z = 0; z < depth; ++z) {
        for (std::size_t y = 0; y < height; ++y, to += width) {
            std::memcpy(to, from + z * source.slice + y * source.pitch, width);
        }
    }
    return bytes;
}

Work work_of(const Copy &copy, const CUDA_MEMCPY3D_PEER &parameters, const char *what) {
    Work work = work_with(parameters, what);
    work.uses = copy.uses();
    work.run = [copy](Stream &) { copy.run(); };
    return work;
}

Work staged_work(const Copy &copy, const CUDA_MEMCPY3D_PEER &parameters, const char *what) {
    Work work = work_with(parameters, what);
    auto bytes = std::make_shared<const std::vector<std::byte>>(copy.snapshot());
    Copy staged = copy;
    staged.source = CopySide();
    staged.source.address = address_of(bytes->data());
    staged.source.may_be_host = true;
    staged.source.pitch = copy.width;
    staged.source.slice = copy.width * copy.height;
    staged.source.span = bytes->size();
    work.uses = staged.uses();
    work.run = [staged, bytes](Stream &) { staged.run(); };
    return work;
}

Work copy_work(const CUDA_MEMCPY3D_PEER &parameters, const char *what) {
    return work_of(Copy(parameters), parameters, what);
}

CUDA_MEMCPY3D_PEER linear_copy(CUmemorytype to, CUdeviceptr destination, CUmemorytype from,
                               CUdeviceptr source, std::size_t bytes) {
    CUDA_MEMCPY3D_PEER copy{};
    copy.dstMemoryType = to;
    copy.dstDevice = destination;
    copy.dstHost = reinterpret_cast<void *>(static_cast<std::uintptr_t>(destination));
    copy.srcMemoryType = from;
    copy.srcDevice = source;
    copy.srcHost = reinterpret_cast<const void *>(static_cast<std::uintptr_t>(source));
    copy.WidthInBytes = bytes;
    copy.Height = 1;
    copy.Depth = 1;
    return copy;
}

CUDA_MEMCPY3D_PEER widened(const CUDA_MEMCPY2D &copy) {
    CUDA_MEMCPY3D_PEER wide{};
    wide.srcXInBytes = copy.srcXInBytes;
    wide.srcY = copy.srcY;
    wide.srcMemoryType = copy.srcMemoryType;
    wide.srcHost = copy.srcHost;
    wide.srcDevice = copy.srcDevice;
    wide.srcArray = copy.srcArray;
    wide.srcPitch = copy.srcPitch;
    wide.dstXInBytes = copy.dstXInBytes;
    wide.dstY = copy.dstY;
    wide.dstMemoryType = copy.dstMemoryType;
    wide.dstHost = copy.dstHost;
    wide.dstDevice = copy.dstDevice;
    wide.dstArray = copy.dstArray;
    wide.dstPitch = copy.dstPitch;
    wide.WidthInBytes = copy.WidthInBytes;
    wide.Height = copy.Height;
    wide.Depth = 1;
    return wide;
}

CUDA_MEMCPY3D_PEER widened(const CUDA_MEMCPY3D &copy) {
    return with_contexts(copy, nullptr, nullptr);
}

static_assert(offsetof(CUDA_MEMCPY3D, reserved0) == offsetof(CUDA_MEMCPY3D_PEER, srcContext) &&
              offsetof(CUDA_MEMCPY3D, reserved1) == offsetof(CUDA_MEMCPY3D_PEER, dstContext) &&
              offsetof(CUDA_MEMCPY3D, Depth) == offsetof(CUDA_MEMCPY3D_PEER, Depth));
CUDA_MEMCPY3D_PEER with_contexts(const CUDA_MEMCPY3D &copy, CUcontext destination,
                                 CUcontext source) {
    auto between = std::bit_cast<CUDA_MEMCPY3D_PEER>(copy);
    between.dstContext = destination;
    between.srcContext = source;
    return between;
}
CUDA_MEMCPY3D without_contexts(const CUDA_MEMCPY3D_PEER &copy) {
    auto without = copy;
    without.dstContext = without.srcContext = nullptr;
    return std::bit_cast<CUDA_MEMCPY3D>(without);
}

CUDA_MEMCPY3D_PEER with_checked_contexts(const CUDA_MEMCPY3D_PEER &copy) {
    const char *const what = Call::current()->base();
    check_named_device(copy.srcContext, copy.srcDevice, what);
    check_named_device(copy.dstContext, copy.dstDevice, what);
    return copy;
}

namespace {

CUresult copy_now(const CUDA_MEMCPY3D_PEER &parameters, const Submit &put) {
    const char *const what = Call::current()->base();
    current_context();
    Stream &stream = stream_of(nullptr);
    const Copy copy(parameters);
    if (copy.empty()) {
        return CUDA_SUCCESS;
    }
    refuse_capturing(stream);
    copy.check_access_by(stream.context->device);
    const bool host = copy.source.is_host() || copy.destination.is_host();
    if (!host && !wants_synchronous(copy.source) && !wants_synchronous(copy.destination)) {
        Work work = work_of(copy, parameters, what);
        work.synchronous = true;
        put(stream, std::move(work)); // copies between devices are asynchronous
        return CUDA_SUCCESS;
    }
    // CUDA permits this for every copy; it was recorded for arrays without memory.
    const bool later = settings().mode == Mode::adversarial || !copy.destination.has_memory();
    if (later && copy.source.is_pageable() && !copy.destination.is_host() &&
        !wants_synchronous(copy.destination)) {
        // The call may return once the source has been read; the destination is written in stream
        // order.
        const InUse in_use(stream);
        wait_stream(stream);
        Work work = staged_work(copy, parameters, what);
        work.synchronous = true;
        put(stream, std::move(work));
        return CUDA_SUCCESS;
    }
    return result_of(put(stream, work_of(copy, parameters, what)));
}

} // namespace

CUresult copy_now(const CUDA_MEMCPY3D_PEER &parameters) {
    return copy_now(parameters, submit);
}

CUresult copy_now_between_contexts(const CUDA_MEMCPY3D_PEER &parameters) {
    const std::vector<Context *> contexts = contexts_of(with_checked_contexts(parameters));
    return copy_now(parameters, [&contexts](Stream &stream, Work work) {
        return submit_between(contexts, stream, std::move(work));
    });
}

namespace {

// Recorded: the device of the current context, whichever the stream is, unless the copy names
// contexts.
int copying_device(const CUDA_MEMCPY3D_PEER &parameters, const Stream &stream) {
    const Context *const current = living_current();
    const bool uses_current = current != nullptr && parameters.srcContext == nullptr;
    return uses_current ? current->device : stream.context->device;
}

} // namespace

CUresult copy_later(CUstream handle, const CUDA_MEMCPY3D_PEER &parameters) {
    const char *const what = Call::current()->base();
    Stream &stream = stream_of(handle);
    check_usable(*stream.context);
    const Copy copy(parameters);
    if (copy.empty()) {
        return CUDA_SUCCESS;
    }
    if (parameters.srcContext != parameters.dstContext) { // recorded: such a copy is not captured
        refuse_invalidated(stream);
        refuse_capturing(stream);
    }
    if (stream.capture == nullptr) { // a node is checked when it runs
        copy.check_access_by(copying_device(parameters, stream));
    }
    const Ticket ticket = submit(stream, work_of(copy, parameters, what));
    const bool waits = ticket && !ticket->done && !ticket->running;
    if (waits && copy.source.is_pageable() && !copy.destination.is_pageable()) {
        // The client may reuse the source when the call returns. The operation still holds the same
        // ranges; only its function changes.
        ticket->work.run = staged_work(copy, parameters, what).run;
    }
    return copy.destination.is_pageable() ? result_of(ticket) : CUDA_SUCCESS;
}

} // namespace sim
