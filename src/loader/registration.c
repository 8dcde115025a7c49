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
#include "registration.h"

#include <stdlib.h>
#include <string.h>

#include "compiler_calls.h"
#include "fork_lock.h"

/* --- libcudart's functions --- */

#define CUSHIM_ENTRY(cuda_name, name) entry_##name,
enum {
    entry_register_fat_binary,
    entry_unregister_fat_binary,
    entry_init_module,
    CUSHIM_REGISTRATIONS(CUSHIM_ENTRY) entry_count
};

/* Names without their common prefix "__cuda". */
#define CUSHIM_ENTRY_NAME(cuda_name, name) #cuda_name,
static const char *const entry_names[entry_count] = {"RegisterFatBinary", "UnregisterFatBinary",
                                                     "InitModule",
                                                     CUSHIM_REGISTRATIONS(CUSHIM_ENTRY_NAME)};

static cushim_function found_functions[entry_count];
static const SearchRecord *found_in; // the libcudart in which all functions were looked up

/* Runs once: racing threads store the same values. */
static void find_functions(const SearchRecord *runtime) {
    if (CUSHIM_LOAD(&found_in) == runtime) {
        return;
    }
    for (int i = 0; i < entry_count; ++i) {
        char name[64] = "__cuda";
        memcpy(name + strlen(name), entry_names[i], strlen(entry_names[i]) + 1);
        CUSHIM_STORE(&found_functions[i], cushim_platform_find_function(runtime->module, name));
    }
    CUSHIM_STORE(&found_in, runtime);
}

/* NULL if this libcudart lacks the function. */
static cushim_function found_function(int entry) {
    return CUSHIM_LOAD(&found_functions[entry]);
}

/* --- stored registrations --- */

typedef struct Link Link;
struct Link {
    Link *next;
    Link **place; // the link to it
};

typedef struct {
    Link *first;
    Link **end;
} List;

/* `item` has no next. Does not walk the list, and completes an append that a fork interrupted. */
static void append(List *list, Link *item) {
    if (list->end == NULL) {
        list->end = &list->first;
    }
    while (*list->end != NULL) {
        list->end = &(*list->end)->next;
    }
    item->place = list->end;
    CUSHIM_STORE(list->end, item);
}

/* Removes the first item; the places of the others are then outdated. */
static Link *take_first(List *list) {
    Link *item = list->first;
    list->first = item->next;
    list->end = &list->first;
    return item;
}

/* In constant time: a program may have thousands of fat binaries. */
static void remove_item(List *list, Link *item) {
    if (item->next != NULL) {
        item->next->place = item->place;
    }
    if (list->end == &item->next) {
        list->end = item->place;
    }
    *item->place = item->next;
}

/* After a change that a fork interrupted, only the forward links are valid. */
static void mend(List *list) {
    list->end = &list->first;
    for (Link **place = &list->first; *place != NULL; place = &(*place)->next) {
        (*place)->place = place;
    }
}

/* One registration; its arguments follow. */
typedef struct Call Call;
struct Call {
    Link link;
    void (*pass_on)(const Call *self, void **handle);
};

typedef struct {
    Link link;
    size_t number; // position in list order
    void *code;
    void **handle; // libcudart's, once it has taken the code
    bool refused;  // libcudart returned no handle
    List calls;
} FatBinary;

static List fat_binaries;
static FatBinary *first_waiting; // everything before it was forwarded; NULL: everything was
static size_t last_number;
static size_t exit_watched;
static int in_exit;
static ForkLock lists_lock;

static void lock_lists(void) {
    if (cushim_take_lock(&lists_lock, cushim_platform_fork_generation(), cushim_platform_yield)) {
        mend(&fat_binaries);
    }
}

static void unlock_lists(void) {
    cushim_release_lock(&lists_lock);
}

/* Forwarding begins at this fat binary, unless an earlier one has registrations to forward. */
static void begin_at(FatBinary *fat_binary) {
    if (first_waiting == NULL || fat_binary->number < first_waiting->number) {
        first_waiting = fat_binary;
    }
}

static void discard_calls(FatBinary *fat_binary) {
    while (fat_binary->calls.first != NULL) {
        free(take_first(&fat_binary->calls));
    }
}

static void **register_in_runtime(void *code) {
    typedef void **Function(void *code);
    Function *function = (Function *)found_function(entry_register_fat_binary);
    return function != NULL ? function(code) : NULL;
}

static void pass_on(FatBinary *fat_binary) {
    if (fat_binary->handle == NULL && !fat_binary->refused) {
        fat_binary->handle = register_in_runtime(fat_binary->code);
        fat_binary->refused = fat_binary->handle == NULL;
    }
    while (fat_binary->handle != NULL && fat_binary->calls.first != NULL) {
        Call *next = (Call *)take_first(&fat_binary->calls);
        next->pass_on(next, fat_binary->handle);
        free(next);
    }
    discard_calls(fat_binary);
}

static bool anything_waits(void) {
    lock_lists();
    const bool waits = first_waiting != NULL;
    unlock_lists();
    return waits;
}

static void note_runtime_exit(void) {
    CUSHIM_STORE(&in_exit, 1);
}

static void pass_on_all(const SearchRecord *runtime) {
    if (!anything_waits()) {
        return;
    }
    find_functions(runtime);
    lock_lists();
    // In steps, so that a child of fork continues where this thread is.
    for (; first_waiting != NULL; first_waiting = (FatBinary *)first_waiting->link.next) {
        pass_on(first_waiting);
    }
    unlock_lists();
    // libcudart has registered its exit handlers at this point: ours runs before them.
    size_t unwatched = 0;
    if (CUSHIM_REPLACE(&exit_watched, &unwatched, (size_t)1)) {
        cushim_platform_at_exit(note_runtime_exit);
    }
}

/* Forwards at once if a libcudart is loaded; otherwise the first call that loads one does it. */
static void pass_on_if_loaded(void) {
    const SearchRecord *runtime = cushim_current_record(&cushim_runtime_library);
    if (cushim_is_usable(runtime)) {
        pass_on_all(runtime);
    }
}

static void keep(void **handle, Call *call, void (*pass_on_call)(const Call *, void **)) {
    FatBinary *fat_binary = (FatBinary *)handle;
    call->pass_on = pass_on_call;
    lock_lists();
    append(&fat_binary->calls, &call->link);
    begin_at(fat_binary);
    unlock_lists();
    pass_on_if_loaded();
}

void **cushim_register_fat_binary(void *code) {
    FatBinary *fat_binary = calloc(1, sizeof *fat_binary);
    if (fat_binary == NULL) {
        return NULL;
    }
    fat_binary->code = code;
    lock_lists();
    fat_binary->number = ++last_number;
    append(&fat_binaries, &fat_binary->link);
    begin_at(fat_binary);
    CUSHIM_STORE(&cushim_pass_on_registrations, &pass_on_all);
    unlock_lists();
    pass_on_if_loaded();
    return (void **)fat_binary;
}

/* At exit, libcudart may shut down before the compiler's exit handlers run, and then releases
 * everything itself; nothing is forwarded in this case. */
void cushim_unregister_fat_binary(void **handle) {
    typedef void Function(void **handle);
    if (handle == NULL || cushim_platform_is_ending()) {
        return;
    }
    FatBinary *fat_binary = (FatBinary *)handle;
    lock_lists();
    if (first_waiting == fat_binary) {
        first_waiting = (FatBinary *)fat_binary->link.next;
    }
    remove_item(&fat_binaries, &fat_binary->link);
    unlock_lists();
    Function *function = (Function *)found_function(entry_unregister_fat_binary);
    if (function != NULL && fat_binary->handle != NULL && CUSHIM_LOAD(&in_exit) == 0) {
        function(fat_binary->handle);
    }
    discard_calls(fat_binary);
    free(fat_binary);
}

/* If memory runs out, the registration is lost: launching the kernel then fails in libcudart. */
#define CUSHIM_FIELD(type, name) type name;
#define CUSHIM_KEEP(type, name) call->name = name;
#define CUSHIM_PASS_KEPT(type, name) , call->name
#define CUSHIM_REGISTRATION(cuda_name, name)                                                       \
    typedef struct {                                                                               \
        Call call;                                                                                 \
        CUSHIM_PARAMETERS_##name(CUSHIM_FIELD)                                                     \
    } name##_call;                                                                                 \
    static void pass_on_##name(const Call *self, void **handle) {                                  \
        typedef void Function(void **handle CUSHIM_PARAMETERS_##name(CUSHIM_DECLARE));             \
        const name##_call *call = (const name##_call *)self;                                       \
        Function *function = (Function *)found_function(entry_##name);                             \
        (void)call;                                                                                \
        if (function != NULL) {                                                                    \
            function(handle CUSHIM_PARAMETERS_##name(CUSHIM_PASS_KEPT));                           \
        }                                                                                          \
    }                                                                                              \
    void cushim_##name(void **handle CUSHIM_PARAMETERS_##name(CUSHIM_DECLARE)) {                   \
        name##_call *call = handle != NULL ? calloc(1, sizeof *call) : NULL;                       \
        if (call != NULL) {                                                                        \
            CUSHIM_PARAMETERS_##name(CUSHIM_KEEP) keep(handle, &call->call, pass_on_##name);       \
        }                                                                                          \
    }
CUSHIM_REGISTRATIONS(CUSHIM_REGISTRATION)

char cushim_init_module(void **handle) {
    typedef char Function(void **handle);
    const SearchRecord *runtime = cushim_ensure_loaded(&cushim_runtime_library);
    if (handle == NULL || !cushim_is_usable(runtime)) {
        return 0;
    }
    pass_on_all(runtime);
    Function *function = (Function *)found_function(entry_init_module);
    void **real = ((FatBinary *)handle)->handle;
    if (function == NULL || real == NULL) {
        return 0;
    }
    return function(real);
}
