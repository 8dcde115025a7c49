/* cudaGetLastError without a runtime: each thread has its own. No output, status 0, where all is
 * well. */
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdio.h>

static int faults;

static void expect(const char *what, cudaError_t got, cudaError_t wanted) {
    if (got != wanted) {
        printf("%s: %d, not %d\n", what, (int)got, (int)wanted);
        ++faults;
    }
}

static void *other_thread(void *unused) {
    int value = 0;
    expect("new thread", cudaPeekAtLastError(), cudaSuccess);
    expect("its call", cudaGetDevice(&value), cudaErrorInsufficientDriver);
    expect("taken", cudaGetLastError(), cudaErrorInsufficientDriver);
    expect("taken twice", cudaGetLastError(), cudaSuccess);
    return unused;
}

int main(void) {
    void *memory = &faults;
    pthread_t thread;
    expect("nothing failed yet", cudaGetLastError(), cudaSuccess);
    expect("cudaMalloc", cudaMalloc(&memory, 1), cudaErrorInsufficientDriver);
    if (memory != &faults) {
        printf("an output was written\n");
        ++faults;
    }
    if (pthread_create(&thread, NULL, other_thread, NULL) != 0 || pthread_join(thread, NULL) != 0) {
        printf("no thread\n");
        return 1;
    }
    expect("looked at", cudaPeekAtLastError(), cudaErrorInsufficientDriver);
    expect("taken", cudaGetLastError(), cudaErrorInsufficientDriver);
    expect("taken twice", cudaGetLastError(), cudaSuccess);
    return faults != 0;
}
