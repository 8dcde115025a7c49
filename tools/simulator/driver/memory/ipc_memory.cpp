// IPC memory: an exporter lists its exports in a table that other processes map, so that handles of
// freed memory fail and a free of memory that others still have open is detected.
#include "memory/ipc_memory.hpp"
#include "base/immortal.hpp"
#include "base/shared_state.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/work.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sim {
namespace {

struct Slot {
    std::atomic<std::uint64_t> identity; // of the memory; 0: free slot
    std::atomic<std::uint64_t>
        openers[15]; // holder() of each process that opened it; others are not recorded
};

struct TableState {
    static constexpr std::uint64_t own_magic = 0x656c626174637069;
    static constexpr std::size_t slots = 8191;
    std::uint64_t magic;
    std::uint64_t identity;
    std::uint64_t reserved[14];
    Slot slot[slots];
};

// The table of this process. It exists while the process exports memory.
struct Table {
    Table() : state(Shared<TableState>::create()) {
        require(static_cast<bool>(state), CUDA_ERROR_OUT_OF_MEMORY);
        state->identity = unique_number();
    }
    std::uint32_t take(std::uint64_t identity) {
        for (std::uint32_t i = 0; i < TableState::slots; ++i) {
            Slot &slot = state->slot[i];
            if (slot.identity.load() == 0) {
                for (auto &opener : slot.openers) {
                    opener = 0;
                }
                slot.identity = identity;
                return i;
            }
        }
        refuse(CUDA_ERROR_OUT_OF_MEMORY);
    }
    Shared<TableState> state;
};

// An exported allocation. Owned by its range, so that it ends with the memory.
class Export {
  public:
    static std::shared_ptr<Export> of(Range &range) {
        const auto found = all().find(range.id);
        if (found != all().end()) {
            return found->second.lock();
        }
        auto made = std::make_shared<Export>(range);
        all()[range.id] = made;
        range.owner = made;
        return made;
    }

    explicit Export(Range &range)
        : table_(current_table()), identity_(unique_number()), slot_(table_->take(identity_)),
          range_(range.id), description_(range.describe()), before_(range.owner) {}

    ~Export() {
        all().erase(range_);
        if (process_ != platform::process_id()) {
            return; // a child of fork shares the table but does not own the memory
        }
        Slot &slot = table_->state->slot[slot_];
        slot.identity = 0;
        for (auto &opener : slot.openers) {
            const std::uint64_t who = opener.load();
            if (who != 0 && still_holds(who)) {
                misuse(description_ + " is freed while process " + std::to_string(who >> 32) +
                       " has it open by its IPC handle");
            }
        }
    }
    Export(const Export &) = delete;
    Export &operator=(const Export &) = delete;

    IpcMemoryHandle handle(const Range &range) const {
        const Backing &backing = *range.backing;
        IpcMemoryHandle handle{};
        handle.device = range.device;
        handle.process = static_cast<std::uint32_t>(process_);
        handle.table = static_cast<std::int32_t>(table_->state.file().handle());
        handle.table_identity = table_->state->identity;
        handle.identity = identity_;
        handle.slot = slot_;
        handle.file = static_cast<std::int32_t>(backing.containing_file().handle());
        handle.offset = backing.offset() + static_cast<std::size_t>(range.view - backing.view());
        handle.size = range.size;
        return handle;
    }

  private:
    static std::map<unsigned long long, std::weak_ptr<Export>> &all() {
        static Immortal<std::map<unsigned long long, std::weak_ptr<Export>>> exports;
        return *exports;
    }
    static std::shared_ptr<Table> current_table() {
        static Immortal<std::weak_ptr<Table>> newest;
        auto table = newest->lock();
        if (table == nullptr) {
            table = std::make_shared<Table>();
            *newest = table;
        }
        return table;
    }

    std::shared_ptr<Table> table_;
    std::uint64_t process_ = platform::process_id();
    std::uint64_t identity_;
    std::uint32_t slot_;
    unsigned long long range_;
    std::string description_;
    std::shared_ptr<void> before_; // previous owner of the range
};

// Memory of another process that is open here, once per context. Owned by its range.
class Opened {
  public:
    // The range that already has it open in this context, or null.
    static Range *find(const IpcMemoryHandle &handle, Context &context) {
        const auto found = all().find({handle.identity, &context});
        return found == all().end() ? nullptr : AddressSpace::get().find_base(found->second->base);
    }

    // Exports of a device can be open in only one context of each local device.
    static bool is_other_context(const IpcMemoryHandle &handle, const Context &context) {
        return std::any_of(all().begin(), all().end(), [&](const auto &entry) {
            const Opened &opened = *entry.second;
            const Context &user = *entry.first.second;
            return opened.exporter_ == handle.process && opened.device_ == handle.device &&
                   &user != &context && user.device == context.device;
        });
    }

    Opened(const IpcMemoryHandle &handle, Context &context)
        : table_(Shared<TableState>::open(platform::open_of_process(handle.process, handle.table))),
          key_(handle.identity, &context), slot_(handle.slot), exporter_(handle.process),
          device_(handle.device) {
        require(table_ && table_->identity == handle.table_identity && slot_ < TableState::slots);
        self_ = holder(table_.file());
        note(0, self_);
        // Checked after the entry was written: an exporter that frees the memory meanwhile either
        // sees the entry, or its free is seen here.
        if (handle.identity == 0 || slot().identity.load() != handle.identity) {
            note(self_, 0);
            refuse(CUDA_ERROR_INVALID_VALUE);
        }
        all()[key_] = this;
    }
    ~Opened() {
        all().erase(key_);
        if (process_ == platform::process_id()) {
            note(self_, 0);
        }
    }
    Opened(const Opened &) = delete;
    Opened &operator=(const Opened &) = delete;

    std::uintptr_t base = 0;
    unsigned int references = 1;

  private:
    using Key = std::pair<std::uint64_t, Context *>;
    static std::map<Key, Opened *> &all() {
        static Immortal<std::map<Key, Opened *>> opened;
        return *opened;
    }
    Slot &slot() const { return table_->slot[slot_]; }
    void note(std::uint64_t from, std::uint64_t to) const {
        for (auto &opener : slot().openers) {
            std::uint64_t expected = from;
            if (opener.compare_exchange_strong(expected, to)) {
                return;
            }
        }
    }

    Shared<TableState> table_;
    Key key_;
    std::uint32_t slot_, exporter_;
    std::int32_t device_;
    std::uint64_t self_ = 0;
    std::uint64_t process_ = platform::process_id();
};

// Maps the bytes of a handle, at any offset in their file.
Range map_opened(const IpcMemoryHandle &handle) {
    platform::File file = platform::open_of_process(handle.process, handle.file);
    require(file.valid());
    Range range;
    range.backing = Backing::of_file(std::move(file), handle.offset, handle.size, handle.device);
    range.view = range.backing->view();
    range.size = handle.size;
    range.device = handle.device;
    range.memory = Memory::ipc;
    return range;
}

void check_device(const IpcMemoryHandle &handle, const Context &context) {
    require(handle.device >= 0 && handle.device < device_count(), CUDA_ERROR_INVALID_DEVICE);
    require(handle.device == context.device || can_access_peer(context.device, handle.device),
            CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

Range &open_memory(const IpcMemoryHandle &handle, Context &context) {
    auto opened = std::make_shared<Opened>(handle, context);
    Range range = map_opened(handle);
    range.base = AddressSpace::get().reserve(range.size, 0);
    range.context = &context;
    range.flags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    opened->base = range.base;
    range.owner = std::move(opened);
    return AddressSpace::get().add(std::move(range));
}

// A range that cuIpcOpenMemHandle returned; fails for everything else.
std::pair<Range &, Opened &> opened_range(std::uintptr_t address) {
    Range *range = AddressSpace::get().find(address);
    if (range == nullptr) {
        AddressSpace::get().report_freed(address, "cuIpcCloseMemHandle");
        refuse(CUDA_ERROR_INVALID_VALUE, "User passed invalid device pointer");
    }
    if (range->memory != Memory::ipc || range->base != address) {
        misuse("cuIpcCloseMemHandle of memory that cuIpcOpenMemHandle did not return: " +
               range->describe());
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Can't close mem handle allocation was not opened with the "
               "cuIpcOpenMemHandle API function");
    }
    return {*range, *static_cast<Opened *>(range->owner.get())};
}

} // namespace

bool can_export_ipc(const Range &range) noexcept {
    return range.memory == Memory::device && range.backing != nullptr;
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuIpcGetMemHandle(OUT CUipcMemHandle *pHandle, CUdeviceptr dptr) {
    current_context();
    require(pHandle != nullptr, "pHandle cannot be NULL");
    require(dptr != 0, "devPtr cannot be NULL");
    Range *range = AddressSpace::get().find(static_cast<std::uintptr_t>(dptr));
    if (range == nullptr) {
        AddressSpace::get().report_freed(static_cast<std::uintptr_t>(dptr), "cuIpcGetMemHandle");
    }
    require(range != nullptr, "User passed invalid device pointer");
    require(can_export_ipc(*range),
            "Cannot get mem handle because allocation not created from malloc API function");
    *pHandle = sealed<CUipcMemHandle>(Export::of(*range)->handle(*range));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuIpcOpenMemHandle_v2(OUT CUdeviceptr *pdptr, CUipcMemHandle handle,
                                      unsigned int Flags) {
    Context &context = current_context();
    require(pdptr != nullptr, "pdptr cannot be NULL");
    require((Flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0,
            "cuIpcOpenMemHandle must be called with Flags CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS set");
    const auto inside = unsealed<IpcMemoryHandle>(handle, CUDA_ERROR_INVALID_VALUE);
    require(inside.process != platform::process_id(), CUDA_ERROR_INVALID_CONTEXT,
            "Error opening locally created memHandle.");
    check_device(inside, context);
    require(!Opened::is_other_context(inside, context), CUDA_ERROR_INVALID_HANDLE);
    Range *range = Opened::find(inside, context);
    if (range != nullptr) {
        ++static_cast<Opened *>(range->owner.get())->references;
    } else {
        range = &open_memory(inside, context);
    }
    *pdptr = static_cast<CUdeviceptr>(range->base);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
    current_context();
    const auto address = static_cast<std::uintptr_t>(dptr);
    if (opened_range(address).second.references == 1) {
        wait_until_unused(address); // releases the lock
    }
    auto [range, opened] = opened_range(address);
    if (--opened.references == 0) {
        AddressSpace::get().remove(range);
    }
    return CUDA_SUCCESS;
}

} // namespace sim::driver
