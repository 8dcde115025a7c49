/* What a compiler's constructors register before main: fat binaries, and the kernels and variables
 * in them. It waits here, in its order, until a first call needs libcudart; from then on it is
 * passed on at once. So a program with kernels of its own starts without loading anything.
 *
 * One lock guards the lists. It is held while libcudart takes what waits, since whoever needs the
 * runtime meanwhile must not overtake that; it is not held while a symbol is looked up. libcudart's
 * registration functions neither load nor look up (seen with 11.8, 12.0, 12.9 and 13.0), so a
 * plugin that registers with the system's loader lock held cannot meet a thread that waits for that
 * lock in here.
 */
#include "registration.hpp"

#include <new>
#include <stdlib.h>
#include <string.h>

#include "compiler_calls.hpp"
#include "fork_lock.hpp"

namespace cushim {

namespace {

/* --- libcudart's own functions --- */

enum Entry {
    register_fat_binary,
    register_fat_binary_end,
    unregister_fat_binary,
#define CUSHIM_REGISTRATION(cuda_name, name, declared, passed) name,
#include "compiler_calls.inc"
    init_module,
    entry_count,
};

/* Of one form: "__cuda" and this. */
constexpr const char *entry_names[entry_count] = {
    "RegisterFatBinary",
    "RegisterFatBinaryEnd",
    "UnregisterFatBinary",
#define CUSHIM_REGISTRATION(cuda_name, name, declared, passed) #cuda_name,
#include "compiler_calls.inc"
    "InitModule",
};

cushim_function found[entry_count];
const LoadedLibrary *found_in; // the libcudart that all of them were looked up in

/* Once: racing threads store the same. */
void find_functions(const LoadedLibrary &runtime) {
    if (atomics::load(&found_in) == &runtime)
        return;
    for (int i = 0; i < entry_count; ++i) {
        char name[64] = "__cuda";
        strcat(name, entry_names[i]);
        atomics::store(&found[i], reinterpret_cast<cushim_function>(
                                      platform::find_symbol(runtime.module, name)));
    }
    atomics::store(&found_in, &runtime);
}

/* Calls one of them; nothing where this libcudart lacks it. */
template <class Function, class... Arguments>
auto call(Entry entry, Arguments... arguments) {
    const auto function = reinterpret_cast<Function *>(atomics::load(&found[entry]));
    using Answer = decltype(function(arguments...));
    return function != nullptr ? function(arguments...) : Answer();
}

/* --- what waits --- */

/* One registration, with its arguments. */
struct Call {
    Call *next;
    void (*pass_on)(const Call *self, void **handle);
};

template <class Closure>
struct CallOf : Call {
    Closure closure;
};

/* In order; appending needs no walk, and ends what a thread began that a fork left behind. */
template <class Item>
struct Queue {
    Item *first = nullptr;
    Item **end = nullptr;

    void append(Item *item) {
        if (end == nullptr)
            end = &first;
        while (*end != nullptr)
            end = &(*end)->next;
        *end = item;
    }
    Item *take() {
        Item *item = first;
        first = item->next;
        end = &first;
        return item;
    }
};

/* Out of which any item goes in one step: a program may have thousands of fat binaries. */
template <class Item>
struct List : Queue<Item> {
    void append(Item *item) {
        Queue<Item>::append(item);
        item->place = this->end;
    }
    void remove(Item *item) {
        if (item->next != nullptr)
            item->next->place = item->place;
        if (this->end == &item->next)
            this->end = item->place;
        *item->place = item->next;
    }
    /* Of what a thread began that a fork left behind, only the links forward are right. */
    void mend() {
        this->end = &this->first;
        for (Item **place = &this->first; *place != nullptr; place = &(*place)->next)
            (*place)->place = place;
    }
};

struct FatBinary {
    FatBinary *next;
    FatBinary **place; // the link to it
    size_t number;     // in the order of the list
    void *code;
    void **handle; // libcudart's, once it has taken the code
    bool refused;  // libcudart gave none
    Queue<Call> calls;
};

List<FatBinary> fat_binaries;
FatBinary *first_waiting; // nothing before it waits for libcudart; nullptr: nothing does
size_t last_number;
int exit_watched;
int exiting;

ForkLock lists_lock;

class Lock {
  public:
    Lock() : guard_(lists_lock) {
        if (guard_.took_over())
            fat_binaries.mend();
    }

  private:
    const ForkGuard<platform::yield> guard_;
};

FatBinary *fat_binary_of(void **handle) {
    return reinterpret_cast<FatBinary *>(handle);
}

/* Something of it does. Mostly it is the last, or one that is waiting already. */
void begin_at(FatBinary &fat_binary) {
    if (first_waiting == nullptr || fat_binary.number < first_waiting->number)
        first_waiting = &fat_binary;
}

void discard_calls(FatBinary &fat_binary) {
    while (fat_binary.calls.first != nullptr)
        free(fat_binary.calls.take());
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
    const LoadedLibrary *record = current_record(CUSHIM_LIBRARY_RUNTIME);
    return is_used(record) ? record : nullptr;
}

void pass_on_all(const LoadedLibrary &runtime) {
    if (!anything_waits())
        return;
    find_functions(runtime);
    {
        const Lock lock;
        // In steps: the child of a fork goes on where this thread is.
        for (; first_waiting != nullptr; first_waiting = first_waiting->next)
            pass_on(*first_waiting);
    }
    // libcudart has registered its exit handlers by now: this one runs before they do.
    if (atomics::exchange(&exit_watched, 1) == 0)
        platform::at_exit([] { atomics::store(&exiting, 1); });
}

/* Now, if there is a libcudart: else the first call that finds one does it. */
void pass_on_if_loaded() {
    if (const LoadedLibrary *runtime = loaded_runtime())
        pass_on_all(*runtime);
}

void keep(FatBinary &fat_binary, Call *call) {
    {
        const Lock lock;
        fat_binary.calls.append(call);
        begin_at(fat_binary);
    }
    pass_on_if_loaded();
}

/* Keeps one registration: the closure, called with libcudart's handle of the fat binary. */
template <class Closure>
void submit(void **handle, Closure closure) {
    static_assert(__is_trivially_copyable(Closure));
    void *memory = handle != nullptr ? malloc(sizeof(CallOf<Closure>)) : nullptr;
    if (memory == nullptr)
        return; // libcudart will not know the kernel, and says so when it is launched
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
    if (memory == nullptr)
        return nullptr;
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

/* When the program exits, libcudart may be gone before the compiler's exit handlers run, and takes
 * everything along: then there is nothing to pass on. */
extern "C" void cushim_unregister_fat_binary(void **handle) noexcept {
    if (handle == nullptr || platform::is_ending())
        return;
    FatBinary *fat_binary = fat_binary_of(handle);
    {
        const Lock lock;
        if (first_waiting == fat_binary)
            first_waiting = fat_binary->next;
        fat_binaries.remove(fat_binary);
    }
    if (fat_binary->handle != nullptr && atomics::load(&exiting) == 0)
        call<void(void **)>(unregister_fat_binary, fat_binary->handle);
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
    const LoadedLibrary *runtime = ensure_loaded(CUSHIM_LIBRARY_RUNTIME);
    if (handle == nullptr || !is_used(runtime))
        return 0;
    pass_on_all(*runtime);
    void **real = fat_binary_of(handle)->handle;
    return real != nullptr ? call<char(void **)>(init_module, real) : char(0);
}
