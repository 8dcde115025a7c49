/* Control interface of the simulated CUDA driver, for tests: its settings, its faults, its reports.
 *
 * cushim_sim_find() returns the control table; a test needs nothing else of the simulator. A child
 * process is configured by the environment variable CUSHIM_SIM, which takes the same text as
 * configure(). A program that does not know the simulator gets its kernels from a shared library,
 * through the setting kernels=FILE.
 *
 * A call that fails fills its outputs with bytes 0xbd, so that no handle, address or number in them
 * looks valid. Exceptions: arrays, outputs that the call also reads, those that real drivers are
 * known to write on failure, and those of calls that return 600 (not ready), of faults of the kind
 * `after`, and of runtime calls without a driver or a device.
 *
 * Threads: every function may be called from any thread. Pointers that a function returns stay
 * valid until the next reset(), unless stated otherwise. C11 and C++.
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
#define CUSHIM_SIM_REVISION 1

/* A finished call of an entry point, as the client made it. Driver calls that the simulated runtime
 * makes are not listed. */
typedef struct cushim_sim_call {
    uint64_t number;       /* starts at 1 after every reset */
    uint64_t thread;       /* starts at 1, in order of the threads' first listed calls */
    const char *name;      /* the exported name */
    const char *arguments; /* "0x7f0000001000, 4096": pointers and device addresses in hexadecimal,
                              text that the call reads in quotes, structures as "{}" */
    int status;            /* returned status; 0 if the call returns no status */
} cushim_sim_call;

/* Arguments of a kernel launch. The pointers are valid during the launch. */
typedef struct cushim_sim_launch {
    const char *kernel;
    unsigned int grid[3];
    unsigned int block[3];
    unsigned int shared_bytes;     /* dynamic shared memory */
    void *stream;                  /* CUstream */
    const void *const *parameters; /* one pointer per parameter, to a copy made at launch */
    const size_t *parameter_sizes; /* in bytes */
    unsigned int parameter_count;
    void *module; /* CUmodule of the kernel, in the context of the stream; since revision 1 */
} cushim_sim_launch;

/* Runs a whole launch on the host. Device addresses among the parameters must go through view().
 * Returns 0, or the CUresult that the stream fails with. cushim_sim.hpp registers C++ functions
 * with typed parameters instead. */
typedef int (*cushim_sim_kernel)(const cushim_sim_launch *launch, void *user);

/* Receives one line of text. May call CUDA. */
typedef void (*cushim_sim_line)(const char *line, void *user);

/* The effect of a fault when it fires. */
typedef enum cushim_sim_fault_kind {
    CUSHIM_SIM_FAULT_INSTEAD = 0, /* the call does nothing and returns the code */
    CUSHIM_SIM_FAULT_AFTER =
        1, /* the call does its work, outputs included, then returns the code */
    CUSHIM_SIM_FAULT_DELAY = 2, /* the call waits for `delay_us`, then does its work */
    CUSHIM_SIM_FAULT_HANG = 3,  /* the call waits until release_hangs(), see `patience` */
    CUSHIM_SIM_FAULT_ASYNC = 4  /* the work that the call enqueues fails when it runs */
} cushim_sim_fault_kind;

/* Only the client's calls count, not the driver calls that the simulated runtime makes. To make a
 * runtime call fail, name the runtime entry point. */
typedef struct cushim_sim_fault {
    const char *entry; /* exported name; a name without _v2, _ptsz, _ptds stands for all of these;
                          "*" for every entry point */
    cushim_sim_fault_kind kind;
    int code;           /* CUresult or cudaError_t */
    uint64_t nth;       /* fires at the Nth call after plan_fault(); 0: at the next */
    double probability; /* if above 0: fires with this probability instead, by `seed` */
    uint64_t seed;
    int sticky;        /* 0: fires once; 1: also fires at every later call */
    int optional;      /* 0: the report has an error if it never fires; 1: a note */
    uint64_t delay_us; /* microseconds */
} cushim_sim_fault;

/* The file behind a semaphore descriptor: a memory file of exactly this size, in the byte order of
 * the machine. Any number of processes may map it. Reads and writes of `value` must be atomic. A
 * wait observes a new value within a millisecond. */
#define CUSHIM_SIM_SEMAPHORE_MAGIC UINT64_C(0x65726f68706d6573)
typedef struct cushim_sim_semaphore {
    uint64_t magic;       /* CUSHIM_SIM_SEMAPHORE_MAGIC */
    uint64_t value;       /* timeline value; binary semaphore: 1 if signaled, else 0 */
    uint64_t reserved[6]; /* 0 */
} cushim_sim_semaphore;

typedef struct cushim_sim {
    int interface_version; /* tests must check that it is CUSHIM_SIM_INTERFACE */
    /* New functions are added at the end and raise the revision. 0, in tables that precede it: up
     * to notes(). 1: up to report_misuse(). A test that may run on an older simulator compares it
     * before it uses newer functions. */
    unsigned int revision;

    /* Discards all objects, memory, faults, settings, calls and reports, and reads CUSHIM_SIM
     * again. If the process had called cuInit, the next call that needs it calls it first; so all
     * settings may follow a reset. No other thread may be inside a call.
     *
     * Owners may outlive a reset. Calls that destroy or use what it has discarded fail with
     * CUDA_ERROR_CONTEXT_IS_DESTROYED (709) and are not reported. The owner of a primary context
     * must release it before the context is retained again, since CUDA counts releases by device.
     * Functions that graphs and streams have kept are not destroyed. */
    void (*reset)(void);

    /* Applies settings, in the format of CUSHIM_SIM: "key=value;key=value". The keys are listed at
     * the end of this header. Device settings must precede cuInit; others apply at once. Returns 0,
     * or -1 at the first setting that is not understood; problem() then returns its text. cuInit
     * fails with 999 and prints the reason to standard error until a text is understood. */
    int (*configure)(const char *settings);
    const char *(*problem)(void);

    /* A host pointer to `size` bytes of device memory, or null unless the range lies in one live
     * allocation. The pointer is invalid once the memory is freed. Does not wait for enqueued work.
     * In a kernel's host function: also null if the kernel's device cannot access the memory. */
    void *(*view)(uint64_t device_address, size_t size);

    /* Registers the host function of every kernel with this name, whatever the image: a cubin, PTX,
     * or the text form described below. With a null function, launches compute nothing on purpose
     * and the report does not list them. A reset discards it.
     *
     * The name is the one in the image, or a shorter one. Of several registered names, the one that
     * comes first in this list applies:
     *   _ZN34_GLOBAL__N__5ecc6ff5_7_main_cu_man3addIfEEvPT_
     *                      the name in the image
     *   the same with another hash (5ecc6ff5), as nvcc makes in another folder
     *   add<float>(float*) demangled, as c++filt prints it; spaces, the return type and
     *                      "(anonymous namespace)::" do not matter
     *   add<float>         without parameters
     *   add                without template arguments
     * Named namespaces are part of each. A name that fits several kernels of an image equally, or
     * kernels with different parameters, is ambiguous: idle_kernels() reports it. */
    void (*register_kernel)(const char *name, cushim_sim_kernel kernel, void *user);

    /* Plans a fault. Returns its number, or 0 if no entry point has that name. */
    uint64_t (*plan_fault)(const cushim_sim_fault *fault);
    /* Returns how often a planned fault has fired. */
    uint64_t (*fault_fired)(uint64_t number);
    void (*clear_faults)(void);
    void (*release_hangs)(void);

    /* Starts (1) or stops (0) listing calls. Off after a reset unless CUSHIM_SIM contains log=1. */
    void (*log_calls)(int on);
    /* The number of listed calls, and the call at `index`, from 0. call_at() returns 0 past the
     * end. */
    size_t (*call_count)(void);
    int (*call_at)(size_t index, cushim_sim_call *call);
    void (*clear_calls)(void);

    /* Reports one line for each leak: objects, memory and mappings that still exist, retained
     * primary contexts, pushed contexts, peer access of live contexts, captures in progress, and
     * exported descriptors that are still open. Also memory that was not freed before its context
     * ended, and captures whose stream was destroyed before. The runtime's own resources are not
     * leaks. Returns the number of lines. */
    size_t (*leaks)(cushim_sim_line line, void *user);
    /* Reports one line for each misuse since the reset: use after free, double free, wrong context,
     * memory freed while enqueued work needs it, bytes written before or past an allocation. A
     * kernel misuses CUDA if it runs with a pointer to freed memory or to memory that its device
     * cannot access, or if its host function requests the view of address 0 (the pointer of an
     * empty buffer) or more bytes than an allocation has. A kernel's pointers are its 8-byte
     * arguments that lie in such memory; device addresses are never reused. Returns the number of
     * lines. */
    size_t (*misuses)(cushim_sim_line line, void *user);

    /* Adversarial and threaded mode: runs all enqueued work that can run. Returns how many
     * operations are still enqueued. */
    size_t (*drain)(void);

    /* The entry point at `index`, from 0: its exported name, and whether it is simulated (1) or
     * returns NOT_SUPPORTED (0). Returns 0 past the end. */
    int (*entry_at)(size_t index, const char **name, int *simulated);

    /* Does what cudaGraphSetConditional does in device code, for kernels that run on the host.
     * Returns 0, or -1 if no conditional node has that handle. */
    int (*set_conditional)(uint64_t handle, unsigned int value);

    /* Return a new descriptor (a handle on Windows) of zero-filled memory or of a semaphore, as
     * another API would export it. It can be imported with cuImportExternalMemory or, as a timeline
     * or a binary semaphore, with cuImportExternalSemaphore. -1 if the system call fails. The
     * caller owns the descriptor. */
    int (*make_memory_fd)(size_t size);
    int (*make_semaphore_fd)(uint64_t initial);

    /* Discards the misuses so far, for tests that expect them. */
    void (*clear_misuses)(void);

    /* Reports one line for each kernel that was launched and computed nothing because no function
     * is registered for its name, or because that name is ambiguous: "kernel blur was launched 2
     * times and computed nothing: ...". Returns the number of lines. */
    size_t (*idle_kernels)(cushim_sim_line line, void *user);

    /* Reports one line for each condition that makes this run hard to repeat or less conclusive.
     * Adversarial mode: enqueued work that ran by itself because the program made no call (setting
     * stall), and a host function that does not return (setting patience). Faults: a planned hang
     * that was never released, and a fault planned for the work of a call that enqueued none. Also
     * tensor maps that are not aligned. Returns the number of lines. */
    size_t (*notes)(cushim_sim_line line, void *user);

    /* The following functions exist since revision 1. */

    /* Reports one line for each thing that leaks() would list if its context had not failed. After
     * a fault of its work (700, 719, ...), no call can give back what belongs to a context: what is
     * bound to it, and what was made while it was current. Returns the number of lines. */
    size_t (*lost)(cushim_sim_line line, void *user);

    /* Reports one line for each planned fault that has never fired, with the calls of similar entry
     * points. Not reported: faults that are optional, faults with a probability that saw a call,
     * and faults of CUSHIM_SIM that have fired in a child process or that a parent process planned,
     * too (Linux, the first 64 faults). Returns the number of lines. */
    size_t (*idle_faults)(cushim_sim_line line, void *user);

    /* For host functions of kernels: */

    /* A host pointer to a __constant__, __device__ or managed variable of launch->module. Sets
     * *size to its size in bytes. The name is the one in the image or a shorter one, by the rules
     * of register_kernel(). Null, and a misuse, if the module has no such variable or the name fits
     * several. */
    void *(*variable)(const cushim_sim_launch *launch, const char *name, size_t *size);
    /* Like view(), of all bytes from the address to the end of its allocation, or of the memory
     * that is mapped there without a gap. Sets *size to their number. write: 0 if they are only
     * read. Null and 0 for address 0. For other addresses that the kernel cannot access: null, 0,
     * and a misuse, unless the report already has one for this argument. */
    void *(*view_rest)(uint64_t device_address, int write, size_t *size);
    /* Adds a line to misuses(): "kernel NAME: TEXT". */
    void (*report_misuse)(const cushim_sim_launch *launch, const char *text);
} cushim_sim;

/* The text form of an image. It is accepted wherever the driver accepts a cubin, a fatbin or PTX:
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
 * One item a line; '#' begins a comment. Sizes are in bytes; a parameter whose alignment is not
 * implied by its size is written SIZE:ALIGNMENT. A kernel may also have constant=BYTES,
 * cluster=X,Y,Z, ptx=90 and binary=90. init is hexadecimal and padded with zeros. If the image
 * names a target, other devices return NO_BINARY_FOR_GPU (209). Syntax errors are reported in the
 * error log of cuModuleLoadDataEx. */

/* The function that the simulated driver exports as CUSHIM_SIM_CONTROL. */
typedef const cushim_sim *(*cushim_sim_control_function)(void);
#define CUSHIM_SIM_CONTROL "cushim_sim_control"

/* A library for the setting kernels=FILE defines this function. The simulator calls it before
 * cuInit returns, or in configure(). It registers kernels and keeps `sim` to call view() later. It
 * must not call CUDA. */
#ifdef _WIN32
#define CUSHIM_SIM_EXPORT __declspec(dllexport)
#else
#define CUSHIM_SIM_EXPORT __attribute__((visibility("default")))
#endif
#define CUSHIM_SIM_KERNELS "cushim_sim_kernels"
CUSHIM_SIM_EXPORT void cushim_sim_kernels(const cushim_sim *sim);

/* Returns the control table of the simulated driver that cushim uses in this process, loading the
 * driver if necessary, or null if the driver is not simulated. Link with -ldl if the C library
 * needs it. */
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
 *   devices=N           number of devices, 0 to 16; default 1. CUDA_VISIBLE_DEVICES selects and
 *                       orders the devices that a process sees, as with NVIDIA's driver: "2,0", or
 *                       "GPU-63757368-696d-2d73-696d-2d6770752d00" or a unique prefix of it. The
 *                       list ends at the first entry that names no device; if it names a device
 *                       twice, cuInit fails with 101
 *   name=TEXT           device name
 *   memory=SIZE         memory of each device, as 512MiB or 8GiB; default 8GiB
 *   budget=SIZE         bytes that can be allocated on each device before out-of-memory; default:
 *                       memory
 *   cc=M.N              compute capability; default 9.0
 *   peers=all|none|A-B,C-D,...
 *                       which devices can access each other; default all
 *   driver=VERSION      version that cuDriverGetVersion returns, as 12040; default: that of the
 *                       library's variant
 *   init=CODE           status that cuInit returns; default 0
 *   granularity=SIZE    granularity of virtual memory management, a multiple of 4096; default
 *                       2MiB
 *   addresses=SIZE      size of all device addresses that a process can get; no address is used
 *                       twice. A reservation counts twice while it exists. Default: the address
 *                       space that the system provides, terabytes
 *   attribute.N=VALUE   device attribute number N; with "unknown", the driver lacks it
 *   name.D= memory.D= budget.D= cc.D= attribute.D.N=
 *                       the same for device D alone; overrides the setting for all devices. D
 *                       counts from 0 and includes devices that the process does not see
 *   mode=immediate|threaded|adversarial
 *                       when enqueued work runs; default immediate
 *   seed=N              seed of the adversarial order; default 1. Seeds 2N and 2N+1 rank the
 *                       streams in opposite orders: if two streams race, each comes first with one
 *                       of the two, unless one of them waits for a third stream that races too.
 *                       Most seeds delay work until a call waits for it or has queried it a few
 *                       times. Two of every 8 seeds, 8N to 8N+7, do not
 *   stall=N             adversarial mode: if the program makes no call that enqueues or waits for N
 *                       milliseconds, enqueued work runs by itself, in the seed's order, and
 *                       notes() reports it; default 10000, 0: never
 *   patience=N          milliseconds that a call waits for enqueued work without progress anywhere
 *                       before it reports a deadlock and fails with 702; default 60000. A planned
 *                       hang ends after ten times as long, and notes() reports it
 *   fault=ENTRY:NTH:CODE[:KIND][:OPTION]...
 *                       plans a fault; may be repeated. KIND: instead (default), after, async,
 *                       hang, delay=MICROSECONDS. OPTION: sticky, optional, p=PROBABILITY (in
 *                       place of NTH, as p=0.1), seed=N.
 *                       "fault=cuMemAlloc:3:2:sticky": the third allocation and all later ones are
 *                       out of memory
 *                       "fault=cuMemAlloc:p=0.1:2": each call has a chance of one in ten until one
 *                       fails
 *   kernels=FILE        shared library that registers kernels; may be repeated. The simulator calls
 *                       its function cushim_sim_kernels before cuInit returns, or in configure()
 *   log=0|1             1: list calls from the start; default 0
 *   report=0|1|fail|errors
 *                       1: at exit, print leaks, lost objects, misuses and notes to standard error;
 *                       fail: kernels that computed nothing and faults that never fired are errors
 *                       instead of notes, and the process exits with status 1 if it has leaks,
 *                       misuses or errors; errors: the same, and failed calls whose status the
 *                       program did not look at are errors; default 0
 *   abort=0|1           1: abort at the first misuse and print it to standard error; default 0
 */

#ifdef __cplusplus
}
#endif

#endif
