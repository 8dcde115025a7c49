#include "engine/heap.hpp"
#include "base/immortal.hpp"
#include "base/refusal.hpp"
#include "engine/device.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sim {
namespace {

// Small enough for emulators and sanitizers, yet few test programs need a second segment.
constexpr std::size_t segment_size = std::size_t(64) << 20;
constexpr std::size_t largest_slice = segment_size / 4;
constexpr std::size_t smallest_step = 512;
// Guard bytes: after the data at least one guard and the rest of a small slice; more before it.
constexpr std::size_t least_guard = 64, most_guard = 1024, guard_before = 256;
constexpr std::size_t cheap_to_zero = std::size_t(24) << 10;
constexpr auto guard_byte = std::byte(0xfb);

// Incremented by clear(), so that a backing that outlives a reset does not count afterwards.
unsigned int generation = 1;

std::map<int, std::vector<std::shared_ptr<Segment>>> &segments() {
    static Immortal<std::map<int, std::vector<std::shared_ptr<Segment>>>> all;
    return *all;
}

std::size_t round_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}

// Only small slices share pages, so that the pages of larger ones can be mapped and returned.
std::size_t step_of(std::size_t size) {
    return size < platform::map_granularity() ? smallest_step : platform::map_granularity();
}

// The offset of the data in a slice, or in a file that stays inside the process.
std::size_t begin_of(std::size_t size) {
    return size < platform::map_granularity() ? guard_before : platform::map_granularity();
}

std::size_t slice_of(std::size_t size) {
    return round_up(begin_of(size) + size + least_guard, step_of(size));
}

std::shared_ptr<Segment> new_segment() {
    auto segment = std::make_shared<Segment>();
    segment->file = platform::File::create(segment_size);
    segment->view = segment->file.valid() ? segment->file.map(0, segment_size) : nullptr;
    if (segment->view == nullptr) {
        return nullptr;
    }
    segment->size = segment_size;
    segment->free.emplace(0, segment_size);
    return segment;
}

} // namespace

Segment::~Segment() {
    if (view != nullptr) {
        platform::unmap(view, size);
    }
}

bool Segment::take(std::size_t bytes, std::size_t alignment, std::size_t &offset) {
    for (auto piece = free.begin(); piece != free.end(); ++piece) {
        const auto [begin, length] = *piece;
        const std::size_t at = round_up(begin, alignment);
        if (at - begin > length || length - (at - begin) < bytes) {
            continue;
        }
        free.erase(piece);
        if (at != begin) {
            free.emplace(begin, at - begin);
        }
        if (at + bytes != begin + length) {
            free.emplace(at + bytes, begin + length - (at + bytes));
        }
        offset = at;
        return true;
    }
    return false;
}

void Segment::give_back(std::size_t offset, std::size_t bytes) {
    const auto next = free.lower_bound(offset);
    if (next != free.end() && next->first == offset + bytes) {
        bytes += next->second;
        free.erase(next);
    }
    const auto after = free.lower_bound(offset);
    if (after != free.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second == offset) {
            before->second += bytes;
            return;
        }
    }
    free.emplace(offset, bytes);
}

bool Heap::slice(Backing &backing, std::size_t size) {
    if (size > largest_slice) {
        return false;
    }
    auto &all = segments()[backing.device_];
    const auto fits = [&](const auto &segment) { return slice(backing, size, segment); };
    if (std::any_of(all.begin(), all.end(), fits)) {
        return true;
    }
    auto segment = new_segment();
    if (segment == nullptr || !fits(segment)) {
        return false;
    }
    all.push_back(std::move(segment));
    return true;
}

bool Heap::slice(Backing &backing, std::size_t size, const std::shared_ptr<Segment> &segment) {
    const std::size_t bytes = slice_of(size);
    std::size_t offset = 0;
    if (!segment->take(bytes, step_of(size), offset)) {
        return false;
    }
    backing.segment_ = segment;
    backing.offset_ = offset + begin_of(size);
    backing.view_ = segment->view + backing.offset_;
    backing.arm_guards(bytes - begin_of(size) - size);
    return true;
}

void Heap::place(Backing &backing, bool own_file, std::size_t trailer) {
    const std::size_t size = backing.size_;
    if (!own_file && slice(backing, size)) {
        return;
    }
    // A file that other processes map has exactly the size of the allocation, without guard bytes.
    const std::size_t begin = own_file ? 0 : begin_of(size);
    const std::size_t extra = begin + (own_file ? trailer : least_guard);
    require(size < ~std::size_t(0) / 2 - extra, CUDA_ERROR_OUT_OF_MEMORY);
    const std::size_t bytes = round_up(size + extra, platform::map_granularity());
    backing.file_ = platform::File::create(bytes);
    require(backing.file_.valid(), CUDA_ERROR_OUT_OF_MEMORY);
    backing.mapped_ = backing.file_.map(0, bytes);
    require(backing.mapped_ != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
    backing.mapped_size_ = bytes;
    backing.offset_ = begin;
    backing.view_ = backing.mapped_ + begin;
    if (!own_file) {
        backing.arm_guards(bytes - begin - size);
    }
}

void Heap::give_back(Backing &backing) noexcept {
    const std::size_t begin = backing.offset_ - begin_of(backing.size_);
    const std::size_t bytes = slice_of(backing.size_);
    if (bytes <= cheap_to_zero) {
        std::memset(backing.segment_->view + begin, 0, bytes);
    } else {
        backing.segment_->file.discard(begin, bytes);
    }
    try {
        backing.segment_->give_back(begin, bytes);
    } catch (...) { // out of memory: the slice is not reused
    }
}

void Heap::clear() {
    segments().clear();
    ++generation;
}

void write_guard(std::byte *begin, std::size_t bytes) noexcept {
    std::memset(begin, static_cast<int>(guard_byte), bytes);
}

bool is_guard(const std::byte *begin, std::size_t bytes) noexcept {
    // Compares every byte with its predecessor.
    return bytes == 0 || (*begin == guard_byte && std::memcmp(begin, begin + 1, bytes - 1) == 0);
}

std::shared_ptr<Backing> Backing::of_device(int ordinal, std::size_t size, bool own_file,
                                            std::size_t trailer) {
    Device &owner = sim::device(ordinal);
    const std::size_t limit = device_limit(ordinal);
    require(size != 0);
    require(owner.used <= limit && size <= limit - owner.used, CUDA_ERROR_OUT_OF_MEMORY);
    std::shared_ptr<Backing> backing(new Backing);
    backing->device_ = ordinal;
    backing->size_ = size;
    Heap::place(*backing, own_file, trailer);
    owner.used += size;
    backing->counted_ = generation;
    return backing;
}

std::shared_ptr<Backing> Backing::of_pool(int ordinal, std::size_t size,
                                          const std::shared_ptr<Segment> &segment) {
    std::shared_ptr<Backing> backing(new Backing);
    backing->device_ = ordinal;
    backing->size_ = size;
    if (segment == nullptr) {
        Heap::place(*backing, false, 0);
    } else {
        require(size <= segment->size && Heap::slice(*backing, size, segment),
                CUDA_ERROR_OUT_OF_MEMORY);
    }
    return backing;
}

std::shared_ptr<Backing> Backing::of_file(platform::File file, std::size_t offset, std::size_t size,
                                          int ordinal) {
    const std::size_t whole = file.size();
    require(size != 0 && offset <= whole && size <= whole - offset);
    std::shared_ptr<Backing> backing(new Backing);
    const std::size_t begin = offset / platform::map_granularity() * platform::map_granularity();
    backing->device_ = ordinal;
    backing->size_ = size;
    backing->offset_ = offset;
    backing->mapped_size_ = size + (offset - begin);
    backing->mapped_ = file.map(begin, backing->mapped_size_);
    require(backing->mapped_ != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
    backing->view_ = backing->mapped_ + (offset - begin);
    backing->file_ = std::move(file);
    return backing;
}

Backing::~Backing() {
    if (segment_ != nullptr) {
        Heap::give_back(*this);
    } else if (mapped_ != nullptr) {
        platform::unmap(mapped_, mapped_size_);
    }
    if (counted_ == generation && device_ < device_count()) {
        std::size_t &used = sim::device(device_).used;
        used -= std::min(used, size_);
    }
}

const platform::File &Backing::containing_file() const noexcept {
    return segment_ != nullptr ? segment_->file : file_;
}

void Backing::arm_guards(std::size_t bytes_behind) noexcept {
    guard_ = std::min(bytes_behind, most_guard);
    write_guard(view_ - guard_before, guard_before);
    write_guard(view_ + size_, guard_);
}

bool Backing::intact_before() const noexcept {
    return guard_ == 0 || is_guard(view_ - guard_before, guard_before);
}

bool Backing::intact_behind() const noexcept {
    return is_guard(view_ + size_, guard_);
}

} // namespace sim
