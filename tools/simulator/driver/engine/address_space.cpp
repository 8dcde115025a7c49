// AddressSpace: the layout of ranges, and the ranges that have ended.
#include "base/immortal.hpp"
#include "base/poison.hpp"
#include "base/refusal.hpp"
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "engine/context.hpp"
#include "engine/heap.hpp"
#include "engine/memory.hpp"
#include "engine/object.hpp"
#include "engine/open_calls.hpp"

#include <algorithm>
#include <cstdio>
#include <list>

namespace sim {
namespace {

constexpr std::size_t gap = std::size_t(64) << 10; // between ranges
constexpr std::size_t least_alignment = 512;
constexpr std::size_t first_chunk = std::size_t(1) << 30;
constexpr std::size_t biggest_chunk = std::size_t(64) << 30;
constexpr std::size_t smallest_chunk = std::size_t(16) << 20;
constexpr std::size_t remembered = 1 << 14; // freed ranges kept for reports

// Address space reserved in one piece. It is never released: an address refers to one object for
// the whole life of the process.
struct Chunk {
    std::uintptr_t begin, next, end;
};

struct Ended {
    std::uintptr_t base;
    std::size_t size;
    Memory memory;
    const char *made_by;
    std::uint64_t made_in;
    const char *ended_by;
    std::uint64_t ended_in;
    bool in_use;   // enqueued operations still needed it
    bool by_reset; // of the simulator
};

struct Places {
    std::vector<Chunk> chunks;
    std::size_t next_chunk = first_chunk;
    std::size_t used = 0;  // bytes of addresses in use or freed
    std::size_t views = 0; // bytes of addresses used for views of reservations
    std::map<std::uintptr_t, Ended> ended;
    std::list<std::uintptr_t> order; // of `ended`, oldest first
    unsigned long long last_id = 0;
};

Places &places() {
    static Immortal<Places> all;
    return *all;
}

std::string text_of(Memory memory, std::uintptr_t base, std::size_t size, const char *made_by,
                    std::uint64_t made_in) {
    char text[200];
    std::snprintf(text, sizeof text, "%s 0x%llx, %llu %s, made by %s in call %llu", name_of(memory),
                  static_cast<unsigned long long>(base), static_cast<unsigned long long>(size),
                  size == 1 ? "byte" : "bytes", made_by, static_cast<unsigned long long>(made_in));
    return text;
}

std::string readable(std::size_t bytes) {
    const bool big = bytes >= std::size_t(1) << 30;
    return std::to_string(bytes >> (big ? 30 : 20)) + (big ? " GiB" : " MiB");
}

// Whether the settings permit that many more addresses.
bool is_within_limit(std::size_t size) {
    const Places &p = places();
    const std::size_t limit = settings().addresses, taken = p.used + p.views;
    return limit == 0 || (taken <= limit && size <= limit - taken);
}

// Takes an address range from a chunk; 0 if it does not fit.
std::uintptr_t take(Chunk &chunk, std::size_t size, std::size_t alignment) {
    const std::uintptr_t base = (chunk.next + gap + alignment - 1) & ~(alignment - 1);
    if (base > chunk.end || chunk.end - base < gap || size > chunk.end - base - gap) {
        return 0;
    }
    places().used += base + size - chunk.next;
    chunk.next = base + size;
    return base;
}

// Adds a chunk of at least `least` bytes; false if the system call fails.
bool new_chunk(std::size_t least) {
    Places &p = places();
    for (std::size_t size = std::max(least, p.next_chunk);; size /= 2) {
        size = std::max(size, least);
        if (void *pages = platform::reserve(size)) {
            const auto begin = reinterpret_cast<std::uintptr_t>(pages);
            p.chunks.push_back({begin, begin, begin + size});
            p.next_chunk = std::clamp(size * 2, smallest_chunk, biggest_chunk);
            return true;
        }
        if (size == least || size / 2 < smallest_chunk) {
            return false;
        }
    }
}

void note_end(const Range &range, bool by_reset) noexcept try {
    Places &p = places();
    Ended ended{range.base, range.size, range.memory,      range.made_by, range.made_in,
                "a reset",  0,          range.pending > 0, by_reset};
    if (range.ended_by != nullptr) {
        ended.ended_by = range.ended_by;
        ended.ended_in = range.ended_in;
    } else if (const Call *call = Call::current()) {
        ended.ended_by = call->name();
        ended.ended_in = call->number();
    }
    if (p.ended.insert_or_assign(range.base, ended).second) {
        p.order.push_back(range.base);
    }
    if (p.order.size() > remembered) {
        p.ended.erase(p.order.front());
        p.order.pop_front();
    }
} catch (...) { // out of memory: a later use is reported without this history
}

// Reports misuses that appear when a range ends: writes out of bounds, work that still needs it.
void report_end(const Range &range) noexcept try {
    if (range.backing != nullptr && !range.backing->intact_before()) {
        misuse("bytes were written before the beginning of " + range.describe());
    }
    if ((range.backing != nullptr && !range.backing->intact_behind()) ||
        (range.guard != 0 && !is_guard(range.view + range.size, range.guard))) {
        misuse("bytes were written past the end of " + range.describe());
    }
    if (range.pending > 0) {
        misuse(
            range.describe() + " is released while " + std::to_string(range.pending) +
            (range.pending == 1 ? " enqueued operation needs it" : " enqueued operations need it"));
    }
} catch (...) { // out of memory
}

// The freed range that contained the address, or null.
const Ended *find_ended(std::uintptr_t address) noexcept {
    const auto &all = places().ended;
    const auto after = all.upper_bound(address);
    if (after == all.begin()) {
        return nullptr;
    }
    const Ended &ended = std::prev(after)->second;
    return address - ended.base < ended.size ? &ended : nullptr;
}

} // namespace

const char *name_of(Memory memory) noexcept {
    switch (memory) {
    case Memory::device:
        return "device memory";
    case Memory::pool:
        return "pool memory";
    case Memory::managed:
        return "managed memory";
    case Memory::host:
        return "pinned host memory";
    case Memory::registered:
        return "registered host memory";
    case Memory::mapped:
        return "address reservation";
    case Memory::ipc:
        return "memory of another process";
    case Memory::external:
        return "external memory";
    case Memory::global:
        return "variable";
    case Memory::array:
        return "memory of an array";
    }
    return "memory";
}

std::string Range::describe() const {
    return text_of(memory, base, size, made_by, made_in);
}

AddressSpace &AddressSpace::get() {
    static Immortal<AddressSpace> space;
    return *space;
}

std::uintptr_t AddressSpace::reserve(std::size_t size, std::size_t alignment) {
    alignment = std::max(alignment, least_alignment);
    Places &p = places();
    const bool within_limit = is_within_limit(size);
    if (within_limit && !p.chunks.empty()) {
        if (const std::uintptr_t base = take(p.chunks.back(), size, alignment)) {
            return base;
        }
    }
    constexpr auto most = ~std::size_t(0) / 4;
    require(size < most && alignment < most, CUDA_ERROR_OUT_OF_MEMORY);
    const std::size_t page = platform::map_granularity();
    const std::size_t least = (size + alignment + 2 * gap + page - 1) / page * page;
    if (!within_limit || !new_chunk(least)) {
        refuse_exhausted(size);
    }
    const std::uintptr_t base = take(p.chunks.back(), size, alignment);
    // Keep the previous chunk in use if the new one has little room left.
    if (p.chunks.size() > 1 && p.chunks.back().end - p.chunks.back().next < first_chunk / 2) {
        std::swap(p.chunks.back(), p.chunks[p.chunks.size() - 2]);
    }
    return base;
}

std::byte *AddressSpace::reserve_view(std::size_t size) {
    std::byte *view = is_within_limit(size) ? platform::reserve_view(size) : nullptr;
    if (view == nullptr) {
        refuse_exhausted(size);
    }
    places().views += size;
    return view;
}

void AddressSpace::unreserve_view(std::byte *view, std::size_t size) noexcept {
    platform::unreserve_view(view, size);
    places().views -= size;
}

void AddressSpace::refuse_exhausted(std::size_t wanted) const {
    const std::size_t used = places().used;
    std::size_t living = 0;
    for (const auto &[base, range] : ranges_) {
        living += owns(base) ? range.size : 0;
    }
    // A misuse only if the request would succeed with reused addresses.
    if (used - living >= wanted) {
        misuse("device addresses are exhausted: this process has used " + readable(used) +
               " of addresses, of which " + readable(used - living) +
               " belonged to freed memory and are never reused; no room for " +
               std::to_string(wanted) + " bytes");
    }
    refuse(CUDA_ERROR_OUT_OF_MEMORY);
}

bool AddressSpace::owns(std::uintptr_t address) const noexcept {
    const auto &chunks = places().chunks;
    return std::any_of(chunks.begin(), chunks.end(), [address](const Chunk &chunk) {
        return address >= chunk.begin && address < chunk.end;
    });
}

Range &AddressSpace::add(Range range) {
    range.id = ++places().last_id;
    range.made_in_context = current_or_null();
    if (const Call *call = Call::current()) {
        range.made_by = call->name();
        range.made_in = call->number();
    }
    const std::uintptr_t base = range.base;
    Range &added = ranges_.insert_or_assign(base, std::move(range)).first->second;
    BoundRanges::remove(added); // of a range that began there
    if (added.context != nullptr) {
        added.context->ranges.add(added);
    }
    return added;
}

Range *AddressSpace::find(std::uintptr_t address) noexcept {
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) {
        return nullptr;
    }
    Range &range = std::prev(after)->second;
    return address - range.base < range.size ? &range : nullptr;
}

Range *AddressSpace::find_base(std::uintptr_t address) noexcept {
    const auto found = ranges_.find(address);
    return found == ranges_.end() ? nullptr : &found->second;
}

Range *AddressSpace::overlapping(std::uintptr_t address, std::size_t size) noexcept {
    if (Range *range = find(address)) {
        return range;
    }
    const auto after = ranges_.lower_bound(address);
    const bool inside = after != ranges_.end() && after->first - address < size;
    return inside ? &after->second : nullptr;
}

void AddressSpace::remove(Range &range) noexcept {
    report_end(range);
    if (range.memory != Memory::registered) {
        note_end(range, false);
    }
    BoundRanges::remove(range);
    // Removed from the map first: objects that the range keeps alive may look for it.
    const auto node = ranges_.extract(range.base);
}

// The end of one range may end another.
void AddressSpace::remove_all_of(CUctx_st &context) noexcept {
    while (Range *first = context.ranges.first()) {
        if (first->counted && first->ended_by == nullptr) {
            note_left(*first, &context);
        }
        remove(*first);
    }
}

bool AddressSpace::ended_in_use(std::uintptr_t address) const noexcept {
    const Ended *ended = find_ended(address);
    return ended != nullptr && ended->in_use;
}

bool AddressSpace::report_freed(std::uintptr_t address, const char *what) const {
    if (is_poisoned(address)) {
        misuse(std::string(what) + " of an address that a failed call returned");
        return true;
    }
    const Ended *found = find_ended(address);
    if (found == nullptr) {
        return false;
    }
    const Ended &ended = *found;
    if (ended.by_reset) {
        refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, discarded_by_reset);
    }
    misuse(std::string(what) + " of memory that was freed: " +
           text_of(ended.memory, ended.base, ended.size, ended.made_by, ended.made_in) +
           ", freed by " + ended.ended_by + " in call " + std::to_string(ended.ended_in) +
           (address == ended.base ? std::string()
                                  : ", at offset " + std::to_string(address - ended.base)));
    return true;
}

// Keeps what resets have ended: the program may still free it.
void AddressSpace::clear() {
    Places &p = places();
    std::erase_if(p.ended, [](const auto &each) { return !each.second.by_reset; });
    std::erase_if(p.order, [&p](std::uintptr_t base) { return !p.ended.contains(base); });
    while (!ranges_.empty()) {
        BoundRanges::remove(ranges_.begin()->second);
        const auto node = ranges_.extract(ranges_.begin());
        note_end(node.mapped(), true);
    }
    Heap::clear();
}

} // namespace sim
