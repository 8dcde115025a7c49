#include "base/shared_state.hpp"

#include <chrono>
#include <cstring>

namespace sim {

SharedFile::SharedFile(platform::File file, std::byte *bytes, std::size_t size) noexcept
    : file_(std::move(file)), bytes_(bytes), size_(size) {}

SharedFile::~SharedFile() {
    platform::unmap(bytes_, size_);
}

std::shared_ptr<SharedFile> SharedFile::create(std::uint64_t magic, std::size_t size) {
    platform::File file = platform::File::create(size);
    std::byte *bytes = file.valid() ? file.map(0, size) : nullptr;
    if (bytes == nullptr) {
        return nullptr;
    }
    std::memcpy(bytes, &magic, sizeof magic);
    return std::shared_ptr<SharedFile>(new SharedFile(std::move(file), bytes, size));
}

std::shared_ptr<SharedFile> SharedFile::open(platform::File file, std::uint64_t magic,
                                             std::size_t size) {
    // Some systems round sizes up to whole pages.
    const std::size_t page = platform::page_size();
    const std::size_t there = file.size();
    if (file.can_shrink() || there < size ||
        (there + page - 1) / page != (size + page - 1) / page) {
        return nullptr;
    }
    std::byte *bytes = file.map(0, size);
    if (bytes == nullptr) {
        return nullptr;
    }
    std::shared_ptr<SharedFile> shared(new SharedFile(std::move(file), bytes, size));
    return std::memcmp(bytes, &magic, sizeof magic) == 0 ? shared : nullptr;
}

std::uint64_t holder(const platform::File &own) noexcept {
    return platform::process_id() << 32 | static_cast<std::uint32_t>(own.handle());
}

bool still_holds(std::uint64_t holder) {
    const auto process = holder >> 32;
    return process == platform::process_id() ||
           platform::open_of_process(process, static_cast<std::intptr_t>(holder & 0xffffffff))
               .valid();
}

std::uint64_t unique_number() noexcept {
    // Processes that reuse an id do not exist at the same time, so the time distinguishes them.
    static std::atomic<std::uint64_t> newest{0};
    const auto now =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    std::uint64_t before = newest.load();
    std::uint64_t number;
    do {
        number = now > before ? now : before + 1;
    } while (!newest.compare_exchange_weak(before, number));
    return number ^ platform::process_id() << 40;
}

std::shared_ptr<SharedEvent> SharedEvent::create() {
    auto state = Shared<State>::create();
    if (!state) {
        return nullptr;
    }
    state->identity = unique_number();
    return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(state), true));
}

std::shared_ptr<SharedEvent> SharedEvent::open(platform::File file, std::uint64_t identity) {
    auto state = Shared<State>::open(std::move(file));
    if (!state || state->identity != identity || state->destroyed.load() != 0) {
        return nullptr;
    }
    return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(state), false));
}

SharedEvent::~SharedEvent() = default;

std::uint64_t SharedEvent::begin_record() noexcept {
    const std::uint64_t number = ++state_->newest;
    state_->ring[number % records].by = holder(state_.file());
    return number;
}

void SharedEvent::end_record(std::uint64_t number) noexcept {
    auto &done = state_->ring[number % records].done;
    std::uint64_t before = done.load();
    while (before < number && !done.compare_exchange_weak(before, number)) {
    }
}

std::uint64_t SharedEvent::newest() const noexcept {
    return state_->newest.load();
}

bool SharedEvent::reached(std::uint64_t number) const {
    const auto &record = state_->ring[number % records];
    if (number == 0 || record.done.load() >= number) {
        return true;
    }
    const std::uint64_t by = record.by.load();
    return by != 0 && !still_holds(by) && record.done.load() < number;
}

bool SharedEvent::exporter_destroyed() const noexcept {
    return !own_ && state_->destroyed.load() != 0;
}

void SharedEvent::destroyed() noexcept {
    if (own_) {
        state_->destroyed = 1;
    }
}

} // namespace sim
