// Memory of all kinds, for tests that do the same with each.
#pragma once

#include "base/checks.hpp"
#include "memory_tools.hpp"

namespace sim_test {

inline void unregister(void *memory) {
    ok(driver().cuMemHostUnregister(memory));
}
// Memory of the client, registered until the end of the scope.
struct RegisteredMemory : Owned<void *, unregister> {
    RegisteredMemory(void *memory, std::size_t size, unsigned int flags = 0) : Owned(memory) {
        require_ok(driver().cuMemHostRegister(memory, size, flags));
    }
};

// Memory of device 1; the current context does not change.
class MemoryElsewhere : Unique {
  public:
    explicit MemoryElsewhere(std::size_t size) {
        const OnDevice there(1);
        address_ = allocate(size);
    }
    ~MemoryElsewhere() {
        const OnDevice there(1);
        release(address_);
    }
    operator CUdeviceptr() const { return address_; }
    CUcontext context() const { return context_; }

  private:
    PrimaryContext context_{1};
    CUdeviceptr address_ = 0;
};

// Memory of one kind, with one interface for all.
struct Memory : Unique {
    enum class Kind { device, pinned, registered, managed, pageable };
    static constexpr Kind kinds[] = {Kind::device, Kind::pinned, Kind::registered, Kind::managed,
                                     Kind::pageable};

    Memory(Kind memory_kind, const Bytes &bytes) : kind(memory_kind) {
        own.resize(bytes.size());
        switch (kind) {
        case Kind::device:
            address = allocate(bytes.size());
            break;
        case Kind::pinned:
            address = as_device(allocate_pinned(bytes.size()));
            break;
        case Kind::managed:
            address = allocate_managed(bytes.size());
            break;
        case Kind::registered:
            require_ok(driver().cuMemHostRegister(own.data(), own.size(), 0));
            address = as_device(own.data());
            break;
        case Kind::pageable:
            address = as_device(own.data());
            break;
        }
        std::memcpy(data(bytes.size()), bytes.data(), bytes.size());
    }
    unsigned char *data(std::size_t bytes) {
        return kind == Kind::pageable ? own.data() : view(address, bytes);
    }
    Bytes bytes() { return Bytes(data(own.size()), data(own.size()) + own.size()); }
    ~Memory() {
        switch (kind) {
        case Kind::device:
        case Kind::managed:
            release(address);
            break;
        case Kind::pinned:
            release(as_host(address));
            break;
        case Kind::registered:
            unregister(own.data());
            break;
        case Kind::pageable:
            break;
        }
    }

    Kind kind;
    Bytes own;
    CUdeviceptr address = 0;
};

inline bool is_host(Memory::Kind kind) {
    return kind != Memory::Kind::device;
}
inline bool is_known(Memory::Kind kind) {
    return kind != Memory::Kind::pageable;
}

} // namespace sim_test
