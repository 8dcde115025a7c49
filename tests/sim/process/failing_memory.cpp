// When the simulator cannot allocate host memory, calls return a status and the process continues.
// Each allocation of a scenario fails in turn, on any thread, in a process of its own.
#include <cushim/driver_table.hpp>
#include <cushim/runtime_table.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/failing_allocation.hpp"

#ifdef API_TEST_ALLOCATIONS_FAIL
namespace {

using cushim::driver;
using cushim::runtime;

constexpr char image[] = R"(cushim-sim-image 1
kernel add params=8,8,8,4
kernel nothing
global counter size=4 init=2a000000
managed flags size=16 init=07
)";
constexpr char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                       ".visible .global .align 4 .u32 counter;\n"
                       ".visible .entry run(.param .u64 a, .param .u32 n) { ret; }\n";

void CUDA_CB nothing(void *) {}
void CUDA_CB nothing_of(CUstream, CUresult, void *) {}

void use_context() {
    CUcontext context = nullptr;
    driver().cuInit(0);
    driver().cuDevicePrimaryCtxRetain(&context, 0);
    driver().cuCtxSetCurrent(context);
    CUcontext own = nullptr, popped = nullptr;
    if (driver().cuCtxCreate_v2(&own, 0, 0) == CUDA_SUCCESS) {
        driver().cuCtxPopCurrent(&popped);
        driver().cuCtxPushCurrent(own);
        driver().cuCtxPopCurrent(&popped);
        driver().cuCtxDestroy(own);
    }
    driver().cuCtxSetCurrent(context);
}

constexpr int not_freed = 4; // exit status of a child

// A call that fails to free memory leaves it allocated, so the next call frees it.
void free_in_order(CUdeviceptr address, CUstream stream) {
    if (driver().cuMemFreeAsync(address, stream) == CUDA_ERROR_OUT_OF_MEMORY &&
        driver().cuMemFreeAsync(address, stream) != CUDA_SUCCESS) {
        std::_Exit(not_freed);
    }
}

void use_memory(CUstream stream) {
    CUdeviceptr a = 0, b = 0, c = 0;
    void *pinned = nullptr;
    char plain[64] = {};
    driver().cuMemAlloc(&a, 4096);
    driver().cuMemAllocManaged(&b, 4096, CU_MEM_ATTACH_GLOBAL);
    driver().cuMemAllocAsync(&c, 4096, stream);
    driver().cuMemHostAlloc(&pinned, 4096, 0);
    driver().cuMemcpyHtoD(a, plain, sizeof plain);
    driver().cuMemcpyDtoDAsync(c, a, 64, stream);
    driver().cuMemsetD8Async(a, 1, 64, stream);
    driver().cuMemHostRegister(plain, sizeof plain, 0);
    driver().cuMemHostUnregister(plain);
    free_in_order(c, stream);
    driver().cuStreamSynchronize(stream);
    driver().cuMemFreeHost(pinned);
    driver().cuMemFree(b);
    driver().cuMemFree(a);
}

void use_virtual_memory() {
    constexpr std::size_t size = std::size_t(2) << 20;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle physical = 0;
    CUdeviceptr address = 0;
    CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    driver().cuMemCreate(&physical, size, &properties, 0);
    if (driver().cuMemAddressReserve(&address, size, 0, 0, 0) == CUDA_SUCCESS) {
        if (driver().cuMemMap(address, size, 0, physical, 0) == CUDA_SUCCESS) {
            driver().cuMemSetAccess(address, size, &access, 1);
            driver().cuMemsetD8(address, 1, size);
            driver().cuMemUnmap(address, size);
        }
        driver().cuMemAddressFree(address, size);
    }
    driver().cuMemRelease(physical);
}

void use_graph(CUstream stream, CUfunction kernel) {
    CUgraph graph = nullptr, clone = nullptr;
    CUgraphNode host = nullptr, child = nullptr, launch = nullptr;
    CUgraphExec exec = nullptr;
    if (driver().cuGraphCreate(&graph, 0) != CUDA_SUCCESS) {
        return;
    }
    CUuserObject object = nullptr;
    if (driver().cuUserObjectCreate(&object, nullptr, nothing, 1,
                                    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) == CUDA_SUCCESS &&
        driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) !=
            CUDA_SUCCESS) {
        driver().cuUserObjectRelease(object, 1);
    }
    const CUDA_HOST_NODE_PARAMS host_parameters{nothing, nullptr};
    driver().cuGraphAddHostNode(&host, graph, nullptr, 0, &host_parameters);
    if (kernel != nullptr) {
        const CUDA_KERNEL_NODE_PARAMS_v1 parameters{kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr};
        driver().cuGraphAddKernelNode_v1(&launch, graph, nullptr, 0, &parameters);
    }
    driver().cuGraphClone(&clone, graph);
    driver().cuGraphAddChildGraphNode(&child, graph, nullptr, 0, clone);
    if (driver().cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS) {
        driver().cuGraphLaunch(exec, stream);
        driver().cuGraphLaunch(exec, stream);
        driver().cuGraphExecDestroy(exec);
    }
    if (clone != nullptr) {
        driver().cuGraphDestroy(clone);
    }
    driver().cuGraphDestroy(graph);
    if (driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS) {
        driver().cuLaunchHostFunc(stream, nothing, nullptr);
        graph = nullptr;
        if (driver().cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS) {
            driver().cuGraphDestroy(graph);
        }
    }
}

void use_graph_memory(CUstream stream) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    parameters.bytesize = 4096;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    if (driver().cuGraphCreate(&graph, 0) != CUDA_SUCCESS) {
        return;
    }
    driver().cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters);
    if (driver().cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS) {
        if (driver().cuGraphLaunch(exec, stream) == CUDA_SUCCESS) {
            free_in_order(parameters.dptr, stream);
        }
        driver().cuGraphExecDestroy(exec);
    }
    driver().cuGraphDestroy(graph);
}

void use_work(CUstream stream) {
    CUevent event = nullptr;
    if (driver().cuEventCreate(&event, 0) == CUDA_SUCCESS) {
        driver().cuEventRecord(event, stream);
        driver().cuStreamWaitEvent(nullptr, event, 0);
        driver().cuEventQuery(event);
        driver().cuEventSynchronize(event);
        driver().cuEventDestroy(event);
    }
    driver().cuLaunchHostFunc(stream, nothing, nullptr);
    driver().cuStreamAddCallback(stream, nothing_of, nullptr, 0);
    driver().cuStreamQuery(stream);
    driver().cuStreamSynchronize(stream);
}

void use_code(CUstream stream) {
    CUmodule module = nullptr, compiled = nullptr;
    CUfunction function = nullptr;
    if (driver().cuModuleLoadData(&compiled, ptx) == CUDA_SUCCESS) {
        driver().cuModuleUnload(compiled);
    }
    if (driver().cuModuleLoadData(&module, image) == CUDA_SUCCESS) {
        if (driver().cuModuleGetFunction(&function, module, "nothing") == CUDA_SUCCESS) {
            driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
            use_graph(stream, function);
        }
        driver().cuStreamSynchronize(stream);
        driver().cuModuleUnload(module);
    }
}

void use_runtime() {
    void *memory = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    if (runtime().cudaStreamCreate(&stream) == cudaSuccess) {
        runtime().cudaMalloc(&memory, 4096);
        runtime().cudaMemsetAsync(memory, 0, 4096, stream);
        if (runtime().cudaEventCreate(&event) == cudaSuccess) {
            runtime().cudaEventRecord(event, stream);
            runtime().cudaEventDestroy(event);
        }
        runtime().cudaStreamSynchronize(stream);
        runtime().cudaFree(memory);
        runtime().cudaStreamDestroy(stream);
    }
    runtime().cudaGetLastError();
    runtime().cudaDeviceReset();
}

void use_everything() {
    use_context();
    CUstream stream = nullptr;
    if (driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS) {
        use_memory(stream);
        use_work(stream);
        use_code(stream);
        use_graph_memory(stream);
        driver().cuStreamDestroy(stream);
    }
    use_virtual_memory();
    driver().cuEventDestroy(reinterpret_cast<CUevent>(0x1230)); // a misuse
    use_runtime();
}

// Returns whether the scenario makes that many allocations.
bool use_with_failure(long number) {
    const support::FailingAllocation failing(number, support::FailingAllocation::Threads::all);
    use_everything();
    return failing.has_failed();
}

constexpr int nothing_failed = 3; // exit status of a child
#ifdef TEST_ADDRESS_SANITIZER
constexpr long step = 7; // AddressSanitizer makes a process ten times as slow
#else
constexpr long step = 1;
#endif

int run_failing(long number) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60); // to fail instead of hanging
        std::exit(use_with_failure(number) ? 0 : nothing_failed);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Returns how many runs ended badly.
long sweep(const char *settings) {
    setenv("CUSHIM_SIM", settings, 1);
    long bad = 0, number = 1;
    for (;; number += step) {
        const int status = run_failing(number);
        if (status == nothing_failed) {
            break;
        }
        if (status != 0) {
            ++bad;
            std::printf("%s: allocation %ld failed: the process ended with %d\n", settings, number,
                        status);
        }
    }
    std::printf("%s: %ld of %ld runs ended the process\n", settings, bad, (number - 1) / step);
    return number > 100 ? bad : 1; // a scenario has more allocations
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 3) { // one run, for a debugger
        setenv("CUSHIM_SIM", argv[1], 1);
        use_with_failure(std::atol(argv[2]));
        return 0;
    }
    long bad = 0;
    for (const char *settings :
         {"mode=immediate;log=1;report=1", "mode=threaded", "mode=adversarial"}) {
        bad += sweep(settings);
    }
    return bad == 0 ? 0 : 1;
}
#else
int main() {
    std::puts("no allocation can fail here");
    return 77;
}
#endif

// Operations that fail half-way may leak.
extern "C" const char *__asan_default_options() {
    return "detect_leaks=0";
}
