/* Control of cushim's simulated CUDA driver, for tests: what it answers, what it saw, what is left.
 *
 * cushim_sim_find() returns the control table, and is all that a test needs of the simulator. Child
 * processes are set up by the environment variable CUSHIM_SIM, which takes the text that
 * configure() takes. A program that does not know the simulator gets its kernels from a shared
 * library: the setting kernels=FILE.
 *
 * A call that fails leaves bytes 0xbd in its outputs: handles, addresses and numbers that nobody
 * can take for good ones. Left out are lists, what the call reads, too, and what real drivers are
 * known to answer.
 *
 * Threads: every function may be called from any thread. Pointers that a function returns stay
 * valid until the next reset(), unless it says otherwise. C11 and C++.
 */
#ifndef CUSHIM_SIM_H
#define CUSHIM_SIM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CUSHIM_SIM_INTERFACE 1

/* One finished call of an entry point, as the client made it: calls that the simulated runtime
 * makes of the driver are not listed. */
typedef struct cushim_sim_call {
    uint64_t number;       /* counts from 1 after every reset */
    uint64_t thread;       /* counts from 1, in order of the threads' first listed calls */
    const char *name;      /* the exported name */
    const char *arguments; /* "0x7f0000001000, 4096": pointers and device addresses in hexadecimal,
                              text that the call reads in quotes, structures as "{}" */
    int status;            /* what it returned; 0 where it does not return a status */
} cushim_sim_call;

/* What a launched kernel sees. The pointers are valid during the launch. */
typedef struct cushim_sim_launch {
    const char *kernel;
    unsigned int grid[3];
    unsigned int block[3];
    unsigned int shared_bytes;     /* dynamic shared memory */
    void *stream;                  /* CUstream */
    const void *const *parameters; /* one pointer per parameter, to a copy made at launch */
    const size_t *parameter_sizes; /* in bytes */
    unsigned int parameter_count;
} cushim_sim_launch;

/* Runs a whole launch on the host. Device addresses among the parameters must go through view().
 * Returns 0, or the CUresult that the stream fails with. */
typedef int (*cushim_sim_kernel)(const cushim_sim_launch *launch, void *user);

/* Receives one line of text. May make calls. */
typedef void (*cushim_sim_line)(const char *line, void *user);

/* What a fault does when its turn comes. */
typedef enum cushim_sim_fault_kind {
    CUSHIM_SIM_FAULT_INSTEAD = 0, /* the call does nothing and returns the code */
    CUSHIM_SIM_FAULT_AFTER =
        1, /* the call does its work, outputs included, then returns the code */
    CUSHIM_SIM_FAULT_DELAY = 2, /* the call waits for `delay_us`, then does its work */
    CUSHIM_SIM_FAULT_HANG = 3,  /* the same until release_hangs(): see the setting patience */
    CUSHIM_SIM_FAULT_ASYNC = 4  /* the work that the call queues fails with the code when it runs */
} cushim_sim_fault_kind;

/* Counted are the calls that the client makes. Those that the simulated runtime makes of the driver
 * are none: plan a fault of the runtime's own entry point. */
typedef struct cushim_sim_fault {
    const char *entry; /* exported name; a name without _v2, _ptsz, _ptds stands for all of these;
                          "*" for every entry point */
    cushim_sim_fault_kind kind;
    int code;           /* CUresult or cudaError_t */
    uint64_t nth;       /* fires at the Nth call of that entry from now on; 0: at the next */
    double probability; /* where above 0: fires with this probability instead, by `seed` */
    uint64_t seed;
    int sticky;        /* 0: once; 1: from then on every time */
    uint64_t delay_us; /* microseconds */
} cushim_sim_fault;

/* What a semaphore's descriptor holds: a memory file of exactly this size, in the machine's byte
 * order, that may be mapped and shared by any number of processes. Whoever writes or reads `value`
 * does it atomically. A wait sees it within a millisecond. */
#define CUSHIM_SIM_SEMAPHORE_MAGIC UINT64_C(0x65726f68706d6573)
typedef struct cushim_sim_semaphore {
    uint64_t magic;       /* CUSHIM_SIM_SEMAPHORE_MAGIC */
    uint64_t value;       /* of a timeline; of a binary semaphore: 1 signalled, 0 not */
    uint64_t reserved[6]; /* 0 */
} cushim_sim_semaphore;

typedef struct cushim_sim {
    int interface_version; /* CUSHIM_SIM_INTERFACE; a test refuses another one */

    /* Forgets all objects, memory, faults, settings and calls, and starts anew from CUSHIM_SIM, as
     * in a process that has not called cuInit. No other thread may be inside a call. */
    void (*reset)(void);

    /* Settings as text, the same as in the variable CUSHIM_SIM: "key=value;key=value". Those of
     * devices count until cuInit, others at once. Returns 0, or -1 at the first that is not
     * understood, with its text in problem(): until a text is understood, cuInit then fails with
     * 999, and says why on standard error. cushim_sim.h's end lists the keys. */
    int (*configure)(const char *settings);
    const char *(*problem)(void);

    /* The host's view of `size` bytes of device memory, or null where they are not one allocation
     * that lives. Not valid after the memory is freed. Does not wait for work that is queued. In a
     * kernel's host function: null, too, where the kernel's device cannot access it. */
    void *(*view)(uint64_t device_address, size_t size);

    /* Registers what a kernel of this name does, in whatever image it is: a cubin, PTX, or the text
     * form, which the header's end describes. A null function: launches compute nothing on purpose,
     * and the report does not list them. Forgotten at a reset. */
    void (*register_kernel)(const char *name, cushim_sim_kernel kernel, void *user);

    /* Plans a fault; returns its number, or 0 where no entry point has that name. */
    uint64_t (*plan_fault)(const cushim_sim_fault *fault);
    /* How often a planned fault has fired. */
    uint64_t (*fault_fired)(uint64_t number);
    void (*clear_faults)(void);
    void (*release_hangs)(void);

    /* Lists the calls from now on (1) or no longer (0); off after a reset unless CUSHIM_SIM says
     * log=1. */
    void (*log_calls)(int on);
    /* How many are listed, and the one at `index`, from 0; 0 past the end. */
    size_t (*call_count)(void);
    int (*call_at)(size_t index, cushim_sim_call *call);
    void (*clear_calls)(void);

    /* A line for everything that lives still: objects, memory, mappings; and for what was not
     * undone: retains of primary contexts, pushed contexts, peer access of living contexts,
     * exported descriptors that are open. What the runtime does for itself is left out. Returns the
     * number of lines. */
    size_t (*leaks)(cushim_sim_line line, void *user);
    /* A line for every misuse since the reset: use after free, double free, wrong context, memory
     * freed while queued work needs it, bytes written before or past an allocation, a kernel that
     * runs with a pointer to freed memory or to what its device cannot access, or whose host
     * function asks for the view of address 0, the pointer of an empty buffer. A kernel's pointers
     * are its arguments of 8 bytes that lie in such memory: addresses are not used again. Returns
     * the number of lines. */
    size_t (*misuses)(cushim_sim_line line, void *user);

    /* Adversarial and threaded mode: runs all queued work that can run; returns how many operations
     * are still queued. */
    size_t (*drain)(void);

    /* Every row of the tables: its exported name and whether it is simulated (1) or answers
     * NOT_SUPPORTED (0). Returns 0 past the end. */
    int (*entry_at)(size_t index, const char **name, int *simulated);

    /* What cudaGraphSetConditional does in device code: for kernels that run on the host. Returns
     * 0, or -1 where no conditional node has that handle. */
    int (*set_conditional)(uint64_t handle, unsigned int value);

    /* A new descriptor (a handle on Windows) of memory of zeros, or of a semaphore, as another API
     * would export it, for cuImportExternalMemory, and for cuImportExternalSemaphore as timeline or
     * as binary one. -1 where the system refuses. The caller owns it. */
    int (*make_memory_fd)(size_t size);
    int (*make_semaphore_fd)(uint64_t initial);

    /* Forgets the misuses so far: for tests that expect them. */
    void (*clear_misuses)(void);

    /* A line for every kernel that was launched and computed nothing, since nothing is registered
     * under its name: "kernel blur was launched 2 times and computed nothing: ...". Returns the
     * number of lines. */
    size_t (*idle_kernels)(cushim_sim_line line, void *user);

    /* A line for what may make a run differ from the next, or mean less than it seems to: queued
     * work that ran by itself in adversarial mode since no call was made for long (see the setting
     * stall), a host function that does not come back there (see patience), a planned hang that
     * nobody released, a fault planned for the work of a call that queued none. Returns the number
     * of lines. */
    size_t (*notes)(cushim_sim_line line, void *user);
} cushim_sim;

/* The text form of an image, taken wherever the driver takes a cubin, a fatbin or PTX:
 *
 *   cushim-sim-image 1
 *   kernel add params=8,8,8,4 max_threads=1024 registers=32 shared=0 local=0
 *   global counter size=4 init=2a000000
 *   constant table size=64
 *   managed flags size=16
 *   texture image
 *   surface target
 *   target cc=9.0
 *
 * A line each, '#' begins a comment; sizes in bytes, SIZE:ALIGNMENT for parameters that are not
 * aligned as their size suggests. A kernel may also have constant=BYTES, cluster=X,Y,Z, ptx=90
 * and binary=90. init is hexadecimal, what it leaves out is zero. With a target, other devices
 * answer NO_BINARY_FOR_GPU (209). What is wrong in a text is told in the error log of
 * cuModuleLoadDataEx. */

/* What the simulated driver exports under this name. */
typedef const cushim_sim *(*cushim_sim_control_function)(void);
#define CUSHIM_SIM_CONTROL "cushim_sim_control"

/* What a library for the setting kernels=FILE defines: called before cuInit returns, or by
 * configure(). It registers kernels, keeps `sim` for their calls of view(), and calls nothing of
 * CUDA. */
#ifdef _WIN32
#define CUSHIM_SIM_EXPORT __declspec(dllexport)
#else
#define CUSHIM_SIM_EXPORT __attribute__((visibility("default")))
#endif
#define CUSHIM_SIM_KERNELS "cushim_sim_kernels"
CUSHIM_SIM_EXPORT void cushim_sim_kernels(const cushim_sim *sim);

/* The control table of the simulated driver that cushim uses in this process, be it loaded yet or
 * not; null where the driver is not simulated. Links with -ldl where the C library needs that. */
static inline const cushim_sim *cushim_sim_find(void) {
    const char *const path = getenv("CUSHIM_DRIVER");
    cushim_sim_control_function function = NULL;
#ifdef _WIN32
    HMODULE library = path != NULL && *path != '\0' ? LoadLibraryA(path) : NULL;
    FARPROC found = library != NULL ? GetProcAddress(library, CUSHIM_SIM_CONTROL) : NULL;
    if (found == NULL) {
        library = GetModuleHandleA("nvcuda.dll");
        found = library != NULL ? GetProcAddress(library, CUSHIM_SIM_CONTROL) : NULL;
    }
#else
    void *library = path != NULL && *path != '\0' ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    void *found = library != NULL ? dlsym(library, CUSHIM_SIM_CONTROL) : NULL;
    if (found == NULL) {
        library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        found = library != NULL ? dlsym(library, CUSHIM_SIM_CONTROL) : NULL;
    }
#endif
    memcpy(&function, &found, sizeof function);
    return function != NULL ? function() : NULL;
}

/* Settings:
 *   devices=N           number of devices, 0 to 16; default 1. Of these a process sees what the
 *                       variable CUDA_VISIBLE_DEVICES leaves it, in that order, as drivers read it:
 *                       "2,0", or "GPU-63757368-696d-2d73-696d-2d6770752d00" and beginnings of it
 *                       that name one; the list ends at the first entry that names none, and one
 *                       that names a device twice is empty
 *   name=TEXT           device name
 *   memory=SIZE         of each device, as 512MiB or 8GiB; default 8GiB
 *   budget=SIZE         of each device, that may be allocated before out-of-memory; default: memory
 *   cc=M.N              compute capability; default 9.0
 *   peers=all|none|A-B,C-D,...
 *                       which devices can access each other; default all
 *   driver=VERSION      what cuDriverGetVersion answers, as 12040; default: the variant's own
 *   init=CODE           what cuInit answers; default 0
 *   granularity=SIZE    of virtual memory management; default 2MiB
 *   addresses=SIZE      of device memory that a process can ever have: an address is not used
 *                       again. Reservations count twice while they live; default: what the system
 *                       gives, terabytes
 *   attribute.N=VALUE   device attribute number N; "unknown" makes it one that this driver lacks
 *   name.D= memory.D= budget.D= cc.D= attribute.D.N=
 *                       the same of device D alone, whatever is said of all. Devices are counted
 *                       from 0, those that a process does not see, too
 *   mode=immediate|threaded|adversarial
 *                       when queued work runs; default immediate
 *   seed=N              of the adversarial order; default 1. Seeds 2N and 2N+1 rank the streams the
 *                       opposite way round: where two streams race, each comes first in one of the
 *                       two, unless a third that races, too, waits for one of them. Most seeds put
 *                       off what nobody waits for, and what is only asked for until it has been
 *                       asked for a few times; of 8 in a row from a multiple of 8 on, two do not
 *   stall=N             adversarial mode: milliseconds without a call that queues or waits, after
 *                       which queued work runs by itself, in the seed's order, which notes() tells;
 *                       default 10000, 0 for never
 *   patience=N          milliseconds that a call waits for queued work while nothing moves, before
 *                       it reports a deadlock and fails with 702; default 60000. A planned hang
 *                       that nobody releases ends after ten times as long, which notes() tells
 *   fault=ENTRY:NTH:CODE[:KIND][:OPTION]...
 *                       plans a fault; may be given repeatedly. KIND: instead (where none is
 *                       given), after, async, hang, delay=MICROSECONDS. OPTION: sticky,
 *                       p=PROBABILITY (in place of NTH, as p=0.1), seed=N.
 *                       "fault=cuMemAlloc:3:2:sticky": from the third allocation on, all are out of
 *                       memory
 *                       "fault=cuMemAlloc:p=0.1:2": each fails with a probability of one in ten
 *   kernels=FILE        shared library that registers kernels; may be given repeatedly. Its
 *                       function cushim_sim_kernels is called before cuInit returns, or by
 *                       configure()
 *   log=0|1             list calls
 *   report=0|1|fail     at exit, print leaks, misuses, kernels that computed nothing, and notes to
 *                       standard error; with fail the process ends with status 1 where there is
 *                       anything but notes; default 0
 *   abort=0|1           abort at the first misuse, with its text on standard error; default 0
 */

#ifdef __cplusplus
}
#endif

#endif
