/* Memory and events shared between processes, runtime API. Forks before either process uses CUDA:
 * CUDA cannot be used in a child whose parent used it. */
#include "check_runtime.h"

#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 20, FROM_PARENT = 0x21, FROM_CHILD = 0x42 };

struct message {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t filled;
};

static void stop(const char *what) {
    perror(what);
    exit(EXIT_WRONG_RESULT);
}

static void send_bytes(int pipe_end, const void *data, size_t size) {
    if (write(pipe_end, data, size) != (ssize_t)size) {
        stop("write");
    }
}

/* Whether the other process sent the data before it ended. */
static int receive_bytes(int pipe_end, void *data, size_t size) {
    size_t got = 0;
    while (got < size) {
        const ssize_t now = read(pipe_end, (char *)data + got, size - got);
        if (now < 0) {
            stop("read");
        }
        if (now == 0) {
            return 0;
        }
        got += (size_t)now;
    }
    return 1;
}

static size_t bytes_that_are(const unsigned char *device, unsigned char wanted) {
    unsigned char *host = (unsigned char *)malloc(SIZE);
    size_t count = 0;
    if (host == NULL) {
        stop("malloc");
    }
    CHECK(cudaMemcpy(host, device, SIZE, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < SIZE; ++i) {
        count += host[i] == wanted;
    }
    free(host);
    return count;
}

/* Reads the parent's data and writes data of its own. */
static int child(int from_parent, int to_parent) {
    struct message message;
    cudaEvent_t filled;
    unsigned char *memory;
    if (!receive_bytes(from_parent, &message, sizeof message)) {
        return EXIT_NO_DEVICE; /* the parent has reported it */
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaIpcOpenEventHandle(&filled, message.filled));
    CHECK(cudaIpcOpenMemHandle((void **)&memory, message.memory, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaStreamWaitEvent(0, filled, 0));
    const size_t right = bytes_that_are(memory, FROM_PARENT);
    CHECK(cudaMemset(memory, FROM_CHILD, SIZE));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaIpcCloseMemHandle(memory));
    CHECK(cudaEventDestroy(filled));
    send_bytes(to_parent, &right, sizeof right);
    return 0;
}

static int parent(int to_child, int from_child) {
    struct message message;
    cudaEvent_t filled;
    unsigned char *memory;
    size_t right_there = 0;
    need_device();
    CHECK(cudaMalloc((void **)&memory, SIZE));
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming | cudaEventInterprocess));
    CHECK(cudaMemset(memory, FROM_PARENT, SIZE));
    CHECK(cudaEventRecord(filled, 0));
    CHECK(cudaIpcGetMemHandle(&message.memory, memory));
    CHECK(cudaIpcGetEventHandle(&message.filled, filled));
    send_bytes(to_child, &message, sizeof message);
    if (!receive_bytes(from_child, &right_there, sizeof right_there)) {
        fprintf(stderr, "the child sent no reply\n");
        return EXIT_WRONG_RESULT;
    }
    const size_t right_here = bytes_that_are(memory, FROM_CHILD);
    printf("the child read %lu right bytes of %d, and the parent %lu\n", (unsigned long)right_there,
           SIZE, (unsigned long)right_here);
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaFree(memory));
    return right_there == SIZE && right_here == SIZE ? 0 : EXIT_WRONG_RESULT;
}

int main(void) {
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0) {
        stop("pipe");
    }
    const pid_t pid = fork();
    if (pid < 0) {
        stop("fork");
    }
    if (pid == 0) {
        close(down[1]);
        close(up[0]);
        return child(down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    const int result = parent(down[1], up[0]);
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) {
        stop("waitpid");
    }
    const int child_ended = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_WRONG_RESULT;
    return result != 0 ? result : child_ended;
}
