#include <cushim/growable_buffer.hpp>

#include <algorithm>
#include <vector>

#include "access_grants.hpp"
#include "base/call.hpp"
#include "base/ranges.hpp"
#include "base/with_memory.hpp"
#include "memory_state.hpp"

namespace cushim::detail {
namespace {

constexpr const char *empty =
    "the GrowableBuffer is empty; create it with GrowableBuffer::create()";

// Memory added by one growth.
struct Part {
    PhysicalMemory memory;
    MappedRange mapping;
};

// The first failure of several steps that all run; further ones go to the teardown sink.
class Failures {
  public:
    void add(const Result<void> &result) noexcept {
        if (result) {
            return;
        }
        if (first_) {
            first_ = result;
        } else {
            report_teardown({result.error(), handle_});
        }
    }
    explicit Failures(CUdeviceptr address) noexcept : handle_(address) {}

    Result<void> result() const noexcept { return first_; }

  private:
    Result<void> first_;
    const CUdeviceptr handle_;
};

// In no context.
struct GrowableState final : MemoryState {
    explicit GrowableState(Device of) noexcept : MemoryState(Context()), device(of) {
        device_ordinal = of.native();
    }

    // Destroys all parts, the last one first.
    Destroyed destroy() noexcept override {
        const CUdeviceptr address = range.native();
        Failures failures(address);
        while (!parts.empty()) {
            drop_last(failures);
        }
        failures.add(range.close());
        return {failures.result(), address};
    }

    void drop_last(Failures &failures) noexcept {
        failures.add(parts.back().mapping.close());
        failures.add(parts.back().memory.close());
        parts.pop_back();
    }

    Result<AddressRange> new_range(std::size_t bytes) const noexcept {
        CUSHIM_TRY(const std::size_t rounded, granularity.round_up_recommended(bytes));
        return AddressRange::reserve(device, rounded);
    }

    // Maps `bytes` more after the first `mapped` ones. A failure changes nothing.
    Result<void> grow(std::size_t mapped, std::size_t bytes) noexcept {
        if (parts.size() == parts.capacity()) {
            CUSHIM_TRY_VOID(with_memory([&]() -> Result<void> {
                parts.reserve(2 * parts.size() + 1);
                return {};
            }));
        }
        CUSHIM_TRY(auto memory, PhysicalMemory::create(device, bytes, options));
        CUSHIM_TRY(auto mapping, MappedRange::map(range, mapped, memory, grants));
        if (release_stream) {
            CUSHIM_TRY_VOID(mapping.release_after(release_stream));
        }
        parts.push_back(
            {static_cast<PhysicalMemory &&>(memory), static_cast<MappedRange &&>(mapping)});
        return {};
    }

    // Whether CUDA supports this access, tried with temporary memory.
    Result<void> try_access(std::span<const AccessGrant> wanted) const noexcept {
        CUSHIM_TRY(const std::size_t bytes, granularity.round_up_recommended(1));
        CUSHIM_TRY(const auto memory, PhysicalMemory::create(device, bytes, options));
        CUSHIM_TRY(const auto elsewhere, AddressRange::reserve(device, bytes));
        CUSHIM_TRY_VOID(MappedRange::map(elsewhere, 0, memory, wanted));
        return {};
    }

    // Maps all parts a second time, in another range, which replaces the first.
    Result<void> move_to(AddressRange &&other) noexcept {
        std::vector<MappedRange> mappings;
        CUSHIM_TRY_VOID(with_memory([&]() -> Result<void> {
            mappings.reserve(parts.size());
            return {};
        }));
        std::size_t offset = 0;
        for (const Part &part : parts) {
            CUSHIM_TRY(auto mapping, MappedRange::map(other, offset, part.memory));
            if (release_stream) {
                CUSHIM_TRY_VOID(mapping.release_after(release_stream));
            }
            mappings.push_back(static_cast<MappedRange &&>(mapping));
            offset += part.memory.size();
        }
        CUSHIM_TRY_VOID(other.set_access(0, offset, grants));
        for (std::size_t i = 0; i != parts.size(); ++i) {
            parts[i].mapping = static_cast<MappedRange &&>(mappings[i]);
        }
        range = static_cast<AddressRange &&>(other);
        return {};
    }

    const Device device;
    PhysicalMemoryOptions options;
    Granularity granularity;
    std::size_t step = 0; // a multiple of the recommended granularity
    std::vector<AccessGrant> grants;
    AddressRange range;
    std::vector<Part> parts; // contiguous, from the beginning of the range
};

GrowableState &state_of(const GrowableMemory &memory) noexcept {
    return *static_cast<GrowableState *>(Access::state(memory));
}

// Replaces the grant for the same location, or adds one.
void merge(std::vector<AccessGrant> &grants, const AccessGrant &grant) {
    const auto same = std::find_if(grants.begin(), grants.end(), [&](const AccessGrant &other) {
        return other.same_accessor(grant);
    });
    if (same != grants.end()) {
        *same = grant;
    } else {
        grants.push_back(grant);
    }
}

Result<std::vector<AccessGrant>> merged(const std::vector<AccessGrant> &before,
                                        std::span<const AccessGrant> grants) noexcept {
    return with_memory([&]() -> Result<std::vector<AccessGrant>> {
        std::vector<AccessGrant> all = before;
        for (const AccessGrant &grant : grants) {
            merge(all, grant);
        }
        return all;
    });
}

} // namespace

Result<GrowableMemory> GrowableMemory::create(Device device, std::size_t capacity,
                                              std::size_t element_size,
                                              const GrowableBufferOptions &options) noexcept {
    return named("GrowableBuffer::create", [&]() -> Result<GrowableMemory> {
        CUSHIM_TRY(const std::size_t bytes, bytes_of(capacity, element_size));
        CUSHIM_TRY(auto state, make_state<GrowableState>(device));
        state->options = options.memory;
        CUSHIM_TRY(state->granularity, Granularity::of(device, options.memory));
        CUSHIM_TRY(state->step,
                   state->granularity.round_up_recommended(std::max<std::size_t>(options.step, 1)));
        CUSHIM_TRY_VOID(check(options.access));
        const AccessGrant own(device, AccessFlags::read_write);
        CUSHIM_TRY(state->grants,
                   merged({}, options.access.empty() ? std::span(&own, 1) : options.access));
        if (bytes != 0) {
            CUSHIM_TRY(state->range, state->new_range(bytes));
        }
        const Growable value{state->range.native(), 0, 0, state->range.size()};
        return GrowableMemory(value, state.take());
    });
}

Result<void> GrowableMemory::resize(std::size_t elements, std::size_t element_size) noexcept {
    return named("GrowableBuffer::resize", [&]() -> Result<void> {
        CUSHIM_TRY(const std::size_t size, bytes_of(elements, element_size));
        CUSHIM_TRY_VOID(require(*this, empty));
        Growable now = value();
        if (size > now.capacity) {
            const std::size_t limit = now.capacity / element_size;
            return invalid_argument(
                "size %zu exceeds the capacity of %zu element%s; call reserve() first", elements,
                limit, plural(limit));
        }
        if (size > now.mapped) {
            GrowableState &state = state_of(*this);
            const Granularity steps{state.step, state.step};
            CUSHIM_TRY(const std::size_t wanted, steps.round_up(size - now.mapped));
            const std::size_t more = std::min(wanted, now.capacity - now.mapped);
            CUSHIM_TRY_VOID(state.grow(now.mapped, more));
            now.mapped += more;
        }
        now.size = size;
        Access::set(*this, now, Access::state(*this));
        return {};
    });
}

Result<void> GrowableMemory::reserve(std::size_t capacity, std::size_t element_size) noexcept {
    return named("GrowableBuffer::reserve", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        Growable now = value();
        CUSHIM_TRY(const std::size_t bytes, bytes_of(capacity, element_size));
        if (bytes <= now.capacity) {
            return {};
        }
        GrowableState &state = state_of(*this);
        CUSHIM_TRY(auto range, state.new_range(bytes));
        CUSHIM_TRY_VOID(state.move_to(static_cast<AddressRange &&>(range)));
        now.native = state.range.native();
        now.capacity = state.range.size();
        Access::set(*this, now, Access::state(*this));
        return {};
    });
}

Result<void> GrowableMemory::shrink_to_fit() noexcept {
    return named("GrowableBuffer::shrink_to_fit", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        Growable now = value();
        GrowableState &state = state_of(*this);
        Failures failures(now.native);
        while (!state.parts.empty() && now.mapped - state.parts.back().memory.size() >= now.size) {
            now.mapped -= state.parts.back().memory.size();
            state.drop_last(failures);
        }
        Access::set(*this, now, Access::state(*this));
        return failures.result();
    });
}

Result<void> GrowableMemory::set_access(std::span<const AccessGrant> grants) noexcept {
    return named("GrowableBuffer::set_access", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY_VOID(check(grants));
        GrowableState &state = state_of(*this);
        CUSHIM_TRY(auto all, merged(state.grants, grants));
        if (mapped() != 0) {
            CUSHIM_TRY_VOID(state.range.set_access(0, mapped(), grants));
        } else if (!grants.empty()) {
            CUSHIM_TRY_VOID(state.try_access(grants));
        }
        state.grants.swap(all);
        return {};
    });
}
Result<AccessFlags> GrowableMemory::get_access(Device device) const noexcept {
    return named("GrowableBuffer::get_access", [&]() -> Result<AccessFlags> {
        CUSHIM_TRY_VOID(require(*this, empty));
        const AccessGrant wanted(device, AccessFlags::none);
        for (const AccessGrant &grant : state_of(*this).grants) {
            if (grant.same_accessor(wanted)) {
                return static_cast<AccessFlags>(grant.native().flags);
            }
        }
        return AccessFlags::none;
    });
}

Result<void> GrowableMemory::release_after(const Stream &stream) const noexcept {
    return named("GrowableBuffer::release_after", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY(Stream kept, keep_for_release(stream));
        GrowableState &state = state_of(*this);
        for (const Part &part : state.parts) {
            CUSHIM_TRY_VOID(part.mapping.release_after(kept));
        }
        state.release_stream = static_cast<Stream &&>(kept);
        return {};
    });
}

} // namespace cushim::detail
