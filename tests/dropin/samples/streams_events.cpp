// Streams and events: slices of an array are copied to the device and back, each in its own stream,
// host functions run between the copies, and events order two streams.
#include "check_runtime.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

constexpr int slice_count = 4;
constexpr int slice_length = 1 << 16;
constexpr size_t slice_bytes = slice_length * sizeof(int);

struct Slice {
    cudaStream_t stream;
    cudaEvent_t done;
    int *host;
    int *device;
    int sum;       // written by a host function
    int callbacks; // callbacks run after the work
};

// Runs between two copies. Must not call CUDA.
void CUDART_CB add_up(void *data) {
    Slice &slice = *static_cast<Slice *>(data);
    slice.sum = 0;
    for (int i = 0; i < slice_length; ++i) {
        slice.sum += slice.host[i];
    }
}

void CUDART_CB count_callback(cudaStream_t stream, cudaError_t status, void *data) {
    Slice &slice = *static_cast<Slice *>(data);
    slice.callbacks += stream == slice.stream && status == cudaSuccess ? 1 : 100;
}

void start(Slice &slice, int value, const int *source) {
    CHECK(cudaMemcpyAsync(slice.device, source, slice_bytes, cudaMemcpyHostToDevice, slice.stream));
    // The second half gets another value.
    CHECK(cudaMemsetAsync(slice.device + slice_length / 2, value, slice_bytes / 2, slice.stream));
    CHECK(cudaMemcpyAsync(slice.host, slice.device, slice_bytes, cudaMemcpyDeviceToHost,
                          slice.stream));
    CHECK(cudaLaunchHostFunc(slice.stream, add_up, &slice));
    CHECK(cudaStreamAddCallback(slice.stream, count_callback, &slice, 0));
    CHECK(cudaEventRecord(slice.done, slice.stream));
}

int expected_sum(int slice) {
    return slice_length / 2 * (slice + 1);
}

int slices() {
    int *pinned = nullptr, wrong = 0;
    CHECK(cudaMallocHost(reinterpret_cast<void **>(&pinned), 2 * slice_count * slice_bytes));
    std::vector<Slice> all(slice_count);
    for (int i = 0; i < slice_count; ++i) {
        Slice &slice = all[static_cast<size_t>(i)];
        int *source = pinned + (slice_count + i) * slice_length;
        std::fill(source, source + slice_length, i + 1);
        slice = Slice{nullptr, nullptr, pinned + i * slice_length, nullptr, 0, 0};
        CHECK(cudaStreamCreateWithFlags(&slice.stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&slice.done, cudaEventDisableTiming));
        CHECK(cudaMalloc(reinterpret_cast<void **>(&slice.device), slice_bytes));
        start(slice, 0, source);
    }
    for (int i = 0; i < slice_count; ++i) {
        Slice &slice = all[static_cast<size_t>(i)];
        CHECK(cudaEventSynchronize(slice.done));
        CHECK(cudaStreamSynchronize(slice.stream));
        const bool finished = cudaStreamQuery(slice.stream) == cudaSuccess &&
                              cudaEventQuery(slice.done) == cudaSuccess;
        printf("slice %d: sum %d, callbacks %d, %s\n", i, slice.sum, slice.callbacks,
               finished ? "finished" : "not finished");
        wrong += finished && slice.sum == expected_sum(i) && slice.callbacks == 1 ? 0 : 1;
        CHECK(cudaFree(slice.device));
        CHECK(cudaEventDestroy(slice.done));
        CHECK(cudaStreamDestroy(slice.stream));
    }
    CHECK(cudaFreeHost(pinned));
    return wrong;
}

// A second stream waits for the first through an event, and allocates from the device's memory
// pool.
int one_after_the_other() {
    cudaStream_t first, second;
    cudaEvent_t begin, filled, end;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, 0));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&filled));
    CHECK(cudaEventCreate(&end));
    unsigned char *from = nullptr, *to = nullptr, *host = nullptr;
    CHECK(cudaMalloc(reinterpret_cast<void **>(&from), slice_bytes));
    CHECK(cudaHostAlloc(reinterpret_cast<void **>(&host), slice_bytes, cudaHostAllocDefault));
    CHECK(cudaMallocAsync(reinterpret_cast<void **>(&to), slice_bytes, second));
    CHECK(cudaEventRecord(begin, first));
    CHECK(cudaMemsetAsync(from, 0x5a, slice_bytes, first));
    CHECK(cudaEventRecord(filled, first));
    CHECK(cudaStreamWaitEvent(second, filled, 0));
    CHECK(cudaMemcpyAsync(to, from, slice_bytes, cudaMemcpyDeviceToDevice, second));
    CHECK(cudaMemcpyAsync(host, to, slice_bytes, cudaMemcpyDeviceToHost, second));
    CHECK(cudaFreeAsync(to, second));
    CHECK(cudaEventRecord(end, second));
    CHECK(cudaEventSynchronize(end));

    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    const auto right = std::count(host, host + slice_bytes, static_cast<unsigned char>(0x5a));
    printf("one after the other: %d of %d bytes, time %s\n", static_cast<int>(right),
           static_cast<int>(slice_bytes), milliseconds >= 0 ? "measured" : "not measured");
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(from));
    for (cudaEvent_t event : {begin, filled, end}) {
        CHECK(cudaEventDestroy(event));
    }
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return right == static_cast<long>(slice_bytes) && milliseconds >= 0 ? 0 : 1;
}

// The default stream: the null handle and the two named handles.
int default_streams() {
    unsigned char *device = nullptr, host[3] = {0, 0, 0};
    CHECK(cudaMalloc(reinterpret_cast<void **>(&device), 3));
    CHECK(cudaMemsetAsync(device, 1, 1, 0));
    CHECK(cudaMemsetAsync(device + 1, 2, 1, cudaStreamLegacy));
    CHECK(cudaMemsetAsync(device + 2, 3, 1, cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaMemcpy(host, device, 3, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    printf("default streams: %d %d %d\n", host[0], host[1], host[2]);
    return host[0] == 1 && host[1] == 2 && host[2] == 3 ? 0 : 1;
}

// An error is returned once and does not affect later calls.
int mistakes() {
    cudaEvent_t event;
    float milliseconds = 0;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventRecord(event, 0));
    CHECK(cudaEventSynchronize(event));
    const cudaError_t refused = cudaEventElapsedTime(&milliseconds, event, event);
    const cudaError_t kept = cudaGetLastError(), then = cudaGetLastError();
    printf("no time of such an event: %s; then: %s\n", cudaGetErrorString(refused),
           cudaGetErrorString(then));
    CHECK(cudaEventDestroy(event));
    return refused == cudaErrorInvalidResourceHandle && kept == refused && then == cudaSuccess ? 0
                                                                                               : 1;
}

} // namespace

int main() {
    need_device();
    const int wrong = slices() + one_after_the_other() + default_streams() + mistakes();
    CHECK(cudaDeviceReset());
    puts(wrong == 0 ? "all right" : "WRONG");
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
