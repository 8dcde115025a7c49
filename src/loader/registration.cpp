/* Registrations that compiled constructors make before main: fat binaries, and their kernels and
 * variables. They are stored in order until a first call needs libcudart; later ones are forwarded
 * at once. So a program with kernels starts without loading a library.
 *
 * One lock guards the lists. It is held while libcudart receives stored registrations, since no
 * thread may use the runtime before that is complete; it is not held while a symbol is looked up.
 * libcudart's registration functions neither load libraries nor look up symbols (checked
 * with 11.8, 12.0, 12.9 and 13.0). So a plugin that registers while it holds the dynamic linker's
 * lock cannot deadlock with a thread that waits for that lock here.
 */
#include "registration.hpp"

#include <new>
#include <stdlib.h>
#include <string.h>

#include "compiler_calls.hpp"
#include "fork_lock.hpp"

namespace cushim {

namespace {

/* --- libcudart's functions --- */

enum Entry {
    register_fat_binary,
    register_fat_binary_end,
    unregister_fat_binary,
#define CUSHIM_REGISTRATION(cuda_name, name, declared, passed) name,
#include "compiler_calls.inc"
    init_module,
    entry_count,
};

/* Names without their common prefix "__cuda". */
constexpr const char *entry_names[entry_count] = {
    "RegisterFatBinary",
    "RegisterFatBinaryEnd",
    "UnregisterFatBinary",
#define CUSHIM_REGISTRATION(cuda_name, name, declared, passed) #cuda_name,
#include "compiler_calls.inc"
    "InitModule",
};

cushim_function found_functions[entry_count];
const LoadedLibrary *found_in; // the libcudart in which all functions were looked up

/* Runs once: racing threads store the same values. */
void find_functions(const LoadedLibrary &runtime) {
    if (atomics::load(&found_in) == &runtime) {
        return;
    }
    for (int i = 0; i < entry_count; ++i) {
        char name[64] = "__cuda";
        strcat(name, entry_names[i]);
        atomics::store(&found_functions[i], reinterpret_cast<cushim_function>(
                                                platform::find_symbol(runtime.module, name)));
    }
    atomics::store(&found_in, &runtime);
}

/* Calls one of the functions; does nothing if this libcudart lacks it. */
template <class Function, class... Arguments>
auto call(Entry entry, Arguments... arguments) {
    const auto function = reinterpret_cast<Function *>(atomics::load(&found_functions[entry]));
    using Answer = decltype(function(arguments...));
    return function != nullptr ? function(arguments...) : Answer();
}

/* --- stored registrations --- */

/* One registration, with its arguments. */
struct Call {
    Call *next;
    void (*pass_on)(const Call *self, void **handle);
};

template <class Closure>
struct CallOf : Call {
    Closure closure;
};

/* In order. Appending does not walk the list, and completes an append that a fork interrupted. */
template <class Item>
struct Queue {
    Item *first = nullptr;
    Item **end = nullptr;

    void append(Item *item) {
        if (end == nullptr) {
            end = &first;
        }
        while (*end != nullptr) {
            end = &(*end)->next;
        }
        *end = item;
    }
    Item *take() {
        Item *item = first;
        first = item->next;
        end = &first;
        return item;
    }
};

/* Supports removal of any item in constant time: a program may have thousands of fat binaries. */
template <class Item>
struct List : Queue<Item> {
    void append(Item *item) {
        Queue<Item>::append(item);
        item->place = this->end;
    }
    void remove(Item *item) {
        if (item->next != nullptr) {
            item->next->place = item->place;
        }
        if (this->end == &item->next) {
            this->end = item->place;
        }
        *item->place = item->next;
    }
    /* After an append that a fork interrupted, only the forward links are valid. */
    void mend() {
        this->end = &this->first;
        for (Item **place = &this->first; *place != nullptr; place = &(*place)->next) {
            (*place)->place = place;
        }
    }
};

struct FatBinary {
    FatBinary *next;
    FatBinary **place; // the link to it
    size_t number;     // position in list order
    void *code;
    void **handle; // libcudart's, once it has taken the code
    bool refused;  // libcudart returned no handle
    Queue<Call> calls;
};

List<FatBinary> fat_binaries;
FatBinary *first_waiting; // everything before it was forwarded; nullptr: everything was
size_t last_number;
int exit_watched;
int in_exit;

ForkLock lists_lock;

class Lock {
  public:
    Lock() : guard_(lists_lock) {
        if (guard_.took_over()) {
            fat_binaries.mend();
        }
    }

  private:
    const ForkGuard<platform::yield> guard_;
};

FatBinary *fat_binary_of(void **handle) {
    return reinterpret_cast<FatBinary *>(handle);
}

/* A registration of this fat binary waits. Usually it is the last one, or it waits already. */
void begin_at(FatBinary &fat_binary) {
    if (first_waiting == nullptr || fat_binary.number < first_waiting->number) {
        first_waiting = &fat_binary;
    }
}

void discard_calls(FatBinary &fat_binary) {
    while (fat_binary.calls.first != nullptr) {
        free(fat_binary.calls.take());
    }
}

void pass_on(FatBinary &fat_binary) {
    if (fat_binary.handle == nullptr && !fat_binary.refused) {
        fat_binary.handle = call<void **(void *)>(register_fat_binary, fat_binary.code);
        fat_binary.refused = fat_binary.handle == nullptr;
    }
    while (fat_binary.handle != nullptr && fat_binary.calls.first != nullptr) {
        Call *next = fat_binary.calls.take();
        next->pass_on(next, fat_binary.handle);
        free(next);
    }
    discard_calls(fat_binary);
}

bool anything_waits() {
    const Lock lock;
    return first_waiting != nullptr;
}

const LoadedLibrary *loaded_runtime() {
    const LoadedLibrary *record = current_record(runtime_library);
    return is_used(record) ? record : nullptr;
}

void pass_on_all(const LoadedLibrary &runtime) {
    if (!anything_waits()) {
        return;
    }
    find_functions(runtime);
    {
        const Lock lock;
        // In steps, so that a child of fork continues where this thread is.
        for (; first_waiting != nullptr; first_waiting = first_waiting->next) {
            pass_on(*first_waiting);
        }
    }
    // libcudart has registered its exit handlers at this point: ours runs before them.
    if (atomics::exchange(&exit_watched, 1) == 0) {
        platform::at_exit([] { atomics::store(&in_exit, 1); });
    }
}

/* Forwards at once if a libcudart is loaded; otherwise the first call that loads one does it. */
void pass_on_if_loaded() {
    if (const LoadedLibrary *runtime = loaded_runtime()) {
        pass_on_all(*runtime);
    }
}

void keep(FatBinary &fat_binary, Call *call) {
    {
        const Lock lock;
        fat_binary.calls.append(call);
        begin_at(fat_binary);
    }
    pass_on_if_loaded();
}

/* Stores one registration: a closure that is called with libcudart's handle of the fat binary. */
template <class Closure>
void submit(void **handle, Closure closure) {
    static_assert(__is_trivially_copyable(Closure));
    void *memory = handle != nullptr ? malloc(sizeof(CallOf<Closure>)) : nullptr;
    if (memory == nullptr) {
        return; // libcudart will not know the kernel, so launching it fails
    }
    auto *kept = new (memory) CallOf<Closure>{
        {nullptr, [](const Call *self,
                     void **real) { static_cast<const CallOf<Closure> *>(self)->closure(real); }},
        closure};
    keep(*fat_binary_of(handle), kept);
}

} // namespace

} // namespace cushim

using namespace cushim;

extern "C" void **cushim_register_fat_binary(void *code) noexcept {
    void *memory = malloc(sizeof(FatBinary));
    if (memory == nullptr) {
        return nullptr;
    }
    auto *fat_binary = new (memory) FatBinary{nullptr, nullptr, 0, code, nullptr, false, {}};
    {
        const Lock lock;
        fat_binary->number = ++last_number;
        fat_binaries.append(fat_binary);
        begin_at(*fat_binary);
        atomics::store(&pass_on_registrations, &pass_on_all);
    }
    pass_on_if_loaded();
    return reinterpret_cast<void **>(fat_binary);
}

/* At exit, libcudart may shut down before the compiler's exit handlers run, and then releases
 * everything itself; nothing is forwarded in this case. */
extern "C" void cushim_unregister_fat_binary(void **handle) noexcept {
    if (handle == nullptr || platform::is_ending()) {
        return;
    }
    FatBinary *fat_binary = fat_binary_of(handle);
    {
        const Lock lock;
        if (first_waiting == fat_binary) {
            first_waiting = fat_binary->next;
        }
        fat_binaries.remove(fat_binary);
    }
    if (fat_binary->handle != nullptr && atomics::load(&in_exit) == 0) {
        call<void(void **)>(unregister_fat_binary, fat_binary->handle);
    }
    discard_calls(*fat_binary);
    free(fat_binary);
}

extern "C" void cushim_register_fat_binary_end(void **handle) noexcept {
    submit(handle, [](void **real) { call<void(void **)>(register_fat_binary_end, real); });
}

#define CUSHIM_REGISTRATION(cuda_name, name, declared, passed)                                     \
    extern "C" void cushim_##name(void **handle, CUSHIM_LIST declared) noexcept {                  \
        submit(handle, [=](void **real) {                                                          \
            call<decltype(cushim_##name)>(name, real, CUSHIM_LIST passed);                         \
        });                                                                                        \
    }
#include "compiler_calls.inc"

extern "C" char cushim_init_module(void **handle) noexcept {
    const LoadedLibrary *runtime = ensure_loaded(runtime_library);
    if (handle == nullptr || !is_used(runtime)) {
        return 0;
    }
    pass_on_all(*runtime);
    void **real = fat_binary_of(handle)->handle;
    return real != nullptr ? call<char(void **)>(init_module, real) : char(0);
}
