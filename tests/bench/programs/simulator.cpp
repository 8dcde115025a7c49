/* Calls of the simulated driver and runtime in immediate mode, through cushim's tables.
 *
 * usage: PROGRAM NAME CALLS CHUNKS. Prints the nanoseconds per call of the fastest chunk, or per
 * pair of calls if the name stands for two. Returns 1 if a call fails or has the wrong effect.
 */
#include <cushim/driver_table.hpp>
#include <cushim/runtime_table.hpp>
#include <cushim_sim.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

static const auto driver = cushim::driver();
static const auto runtime = cushim::runtime();

static constexpr size_t bytes = 16, allocated = 512;
static constexpr char image[] = "cushim-sim-image 1\n"
                                "kernel counts params=8,8,8,4\n"
                                "kernel idles params=8,8,8,4\n";

static void require(int status) {
    if (status != 0) {
        fprintf(stderr, "status %d\n", status);
        exit(1);
    }
}

static void *symbol(const char *library, const char *name) {
    void *handle = dlopen(getenv(library), RTLD_NOW | RTLD_LOCAL);
    void *found = handle ? dlsym(handle, name) : nullptr;
    if (found == nullptr) {
        fprintf(stderr, "no %s in the library of %s\n", name, library);
        exit(1);
    }
    return found;
}

static const cushim_sim &simulator() {
    return *reinterpret_cast<cushim_sim_control_function>(
        symbol("CUSHIM_DRIVER", CUSHIM_SIM_CONTROL))();
}

/* Runs as long as the program. Programs that use CUDA have threads; without a second one, the C++
 * library avoids atomic operations and locks, which would distort the result. */
static void *sleep_for_ever(void *) {
    for (;;) {
        pause();
    }
}

/* The host function that a stream runs. */
static long runs = 0;
static void CUDA_CB count_run(void *) {
    ++runs;
}
static int count_launch(const cushim_sim_launch *launch, void *) {
    runs += launch->parameter_count == 4;
    return 0;
}

/* The registrations of a translation unit by nvcc: the host identifies the kernel by the address of
 * `function`. */
struct FatBinary {
    int magic = 0x466243b1;
    int version = 1;
    const void *data = image;
    void *more = nullptr;

    FatBinary(const char *function, const char *kernel) {
        using Begin = void **(*)(void *);
        using Register = void (*)(void **, const char *, char *, const char *, int, void *, void *,
                                  void *, void *, int *);
        const char *const library = "CUSHIM_RUNTIME";
        void **const handle =
            reinterpret_cast<Begin>(symbol(library, "__cudaRegisterFatBinary"))(this);
        reinterpret_cast<Register>(symbol(library, "__cudaRegisterFunction"))(
            handle, function, nullptr, kernel, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    }
};

/* The objects that the calls use. */
struct Objects {
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUdeviceptr from = 0, to = 0, third = 0;
    CUmodule module = nullptr;
    CUfunction counts = nullptr, idles = nullptr;
    int number = 1;
    char host[bytes] = {};
    char registered = 0;
    FatBinary fat_binary{&registered, "counts"};
    void *arguments[4] = {&from, &to, &third, &number};

    Objects() {
        CUcontext context = nullptr;
        require(driver.cuInit(0));
        require(driver.cuDevicePrimaryCtxRetain(&context, 0));
        require(driver.cuCtxSetCurrent(context));
        require(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        require(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        for (CUdeviceptr *memory : {&from, &to, &third}) {
            require(driver.cuMemAlloc(memory, 4096));
        }
        require(driver.cuModuleLoadData(&module, image));
        require(driver.cuModuleGetFunction(&counts, module, "counts"));
        require(driver.cuModuleGetFunction(&idles, module, "idles"));
        simulator().register_kernel("counts", count_launch, nullptr);
    }

    int launch(CUfunction function) {
        return driver.cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr);
    }
};

struct Measured {
    const char *name;
    int (*call)(Objects &);
    bool runs; // whether each call runs a function
};

static const Measured all[] = {
    {"cuCtxGetCurrent",
     [](Objects &) -> int {
         CUcontext context;
         return driver.cuCtxGetCurrent(&context);
     },
     false},
    {"cuDeviceGetAttribute",
     [](Objects &) -> int {
         int value;
         return driver.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
     },
     false},
    {"cuStreamQuery", [](Objects &o) -> int { return driver.cuStreamQuery(o.stream); }, false},
    {"cuEventRecord", [](Objects &o) -> int { return driver.cuEventRecord(o.event, o.stream); },
     false},
    {"cuEventQuery", [](Objects &o) -> int { return driver.cuEventQuery(o.event); }, false},
    {"cuMemcpyDtoD", [](Objects &o) -> int { return driver.cuMemcpyDtoD(o.to, o.from, bytes); },
     false},
    {"cuMemcpyHtoD", [](Objects &o) -> int { return driver.cuMemcpyHtoD(o.to, o.host, bytes); },
     false},
    {"cuMemsetD8", [](Objects &o) -> int { return driver.cuMemsetD8(o.to, 1, bytes); }, false},
    {"cuLaunchHostFunc",
     [](Objects &o) -> int { return driver.cuLaunchHostFunc(o.stream, count_run, nullptr); }, true},
    {"cuMemAlloc+cuMemFree",
     [](Objects &) -> int {
         CUdeviceptr memory = 0;
         const int status = driver.cuMemAlloc(&memory, allocated);
         return status | driver.cuMemFree(memory);
     },
     false},
    {"cuMemAllocAsync+cuMemFreeAsync",
     [](Objects &o) -> int {
         CUdeviceptr memory = 0;
         const int status = driver.cuMemAllocAsync(&memory, allocated, o.stream);
         return status | driver.cuMemFreeAsync(memory, o.stream);
     },
     false},
    {"cuLaunchKernel", [](Objects &o) -> int { return o.launch(o.counts); }, true},
    {"cuLaunchKernel-idle", [](Objects &o) -> int { return o.launch(o.idles); }, false},
    {"cudaStreamQuery", [](Objects &o) -> int { return runtime.cudaStreamQuery(o.stream); }, false},
    {"cudaMemcpy",
     [](Objects &o) -> int {
         return runtime.cudaMemcpy(reinterpret_cast<void *>(o.to), o.host, bytes,
                                   cudaMemcpyHostToDevice);
     },
     false},
    {"cudaLaunchKernel",
     [](Objects &o) -> int {
         return runtime.cudaLaunchKernel(&o.registered, {4, 1, 1}, {64, 1, 1}, o.arguments, 0,
                                         o.stream);
     },
     true},
};

static double now_in_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static double fastest(const Measured &measured, Objects &objects, long calls, long chunks) {
    double best = 1e18;
    for (long chunk = 0; chunk < chunks; ++chunk) {
        const double begin = now_in_ns();
        for (long i = 0; i < calls; ++i) {
            require(measured.call(objects));
        }
        const double taken = now_in_ns() - begin;
        best = taken < best ? taken : best;
    }
    return best / calls;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    const long calls = atol(argv[2]), chunks = atol(argv[3]);
    for (const Measured &measured : all) {
        if (strcmp(argv[1], measured.name) != 0) {
            continue;
        }
        pthread_t sleeper;
        require(pthread_create(&sleeper, nullptr, sleep_for_ever, nullptr));
        Objects objects;
        const double best = fastest(measured, objects, calls, chunks);
        // In immediate mode all work has run when a call returns.
        const bool right = runs == (measured.runs ? calls * chunks : 0) &&
                           simulator().misuses(nullptr, nullptr) == 0;
        printf("%.4f\n", best);
        return right ? 0 : 1;
    }
    return 2;
}
