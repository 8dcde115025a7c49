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

// The segments of a device.
struct Segments {
    std::vector<std::shared_ptr<Segment>> all;
    std::shared_ptr<FreePieces> free = std::make_shared<FreePieces>();
};

std::map<int, Segments> &segments() {
    static Immortal<std::map<int, Segments>> all;
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

std::shared_ptr<Segment> new_segment(const std::shared_ptr<FreePieces> &with) {
    auto segment = std::make_shared<Segment>(with);
    segment->file = platform::File::create(segment_size);
    segment->view = segment->file.valid() ? segment->file.map(0, segment_size) : nullptr;
    if (segment->view == nullptr) {
        return nullptr;
    }
    segment->size = segment_size;
    return segment;
}

std::uint64_t next_number() {
    static std::uint64_t last = 0;
    return ++last;
}

} // namespace

Segment::Segment(std::shared_ptr<FreePieces> with)
    : number_(next_number()), pieces_(std::move(with)) {}

Segment::~Segment() {
    while (!free_.empty()) {
        remove(free_.begin());
    }
    if (view != nullptr) {
        platform::unmap(view, size);
    }
}

void Segment::give_back(std::size_t offset, std::size_t bytes) {
    const auto next = free_.lower_bound(offset);
    const auto before = next == free_.begin() ? free_.end() : std::prev(next);
    const bool joins_next = next != free_.end() && next->first == offset + bytes;
    if (before != free_.end() && before->first + before->second->bytes == offset) {
        bytes += before->second->bytes;
        if (joins_next) {
            bytes += next->second->bytes;
            remove(next);
        }
        change(before, before->first, bytes);
    } else if (joins_next) {
        change(next, offset, bytes + next->second->bytes);
    } else {
        add(offset, bytes);
    }
}

std::shared_ptr<Segment> Segment::take(FreePieces &from, std::size_t bytes, std::size_t alignment,
                                       std::size_t &offset) {
    const auto fits = [=](const FreePiece &piece) {
        return round_up(piece.offset, alignment) - piece.offset <= piece.bytes - bytes;
    };
    auto found = from.lower_bound({bytes, 0, 0, nullptr});
    if (found != from.end() && !fits(*found)) {
        const auto certain = from.lower_bound({bytes + alignment, 0, 0, nullptr});
        found = certain != from.end() ? certain : std::find_if(found, certain, fits);
    }
    if (found == from.end()) {
        return nullptr;
    }
    Segment &segment = *found->segment;
    const auto piece = segment.free_.find(found->offset);
    const std::size_t begin = found->offset, end = begin + found->bytes;
    offset = round_up(begin, alignment);
    if (end != offset + bytes) {
        segment.change(piece, offset + bytes, end - (offset + bytes));
    } else {
        segment.remove(piece);
    }
    if (begin != offset) {
        segment.add(begin, offset - begin);
    }
    return segment.shared_from_this();
}

void Segment::add(std::size_t offset, std::size_t bytes) {
    const auto piece = pieces_->insert({bytes, number_, offset, this}).first;
    try {
        free_.emplace(offset, piece);
    } catch (...) {
        pieces_->erase(piece);
        throw;
    }
}

void Segment::remove(ByOffset::iterator piece) noexcept {
    pieces_->erase(piece->second);
    free_.erase(piece);
}

// Allocates nothing.
void Segment::change(ByOffset::iterator piece, std::size_t offset, std::size_t bytes) noexcept {
    auto by_size = pieces_->extract(piece->second);
    auto by_offset = free_.extract(piece);
    by_size.value() = {bytes, number_, offset, this};
    by_offset.key() = offset;
    by_offset.mapped() = pieces_->insert(std::move(by_size)).position;
    free_.insert(std::move(by_offset));
}

bool Heap::slice(Backing &backing, std::size_t size) {
    if (size > largest_slice) {
        return false;
    }
    Segments &own = segments()[backing.device_];
    if (slice(backing, size, *own.free)) {
        return true;
    }
    auto segment = new_segment(own.free);
    if (segment == nullptr) {
        return false;
    }
    own.all.push_back(segment);
    segment->give_back(0, segment_size);
    return slice(backing, size, *own.free);
}

bool Heap::slice(Backing &backing, std::size_t size, FreePieces &from) {
    const std::size_t bytes = slice_of(size);
    std::size_t offset = 0;
    backing.segment_ = Segment::take(from, bytes, step_of(size), offset);
    if (backing.segment_ == nullptr) {
        return false;
    }
    backing.offset_ = offset + begin_of(size);
    backing.view_ = backing.segment_->view + backing.offset_;
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
        require(size <= segment->size && Heap::slice(*backing, size, segment->pieces()),
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

bool Backing::contains(std::size_t offset, std::size_t size) const noexcept {
    return !file_.valid() || !file_.can_shrink() || offset_ + offset + size <= file_.size();
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
