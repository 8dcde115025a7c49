// Several processes.
#include "tools.hpp"

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace bugs {
namespace {

constexpr std::size_t bytes = 64;

// A pipe, for values between the two processes.
class Pipe {
  public:
    Pipe() {
        if (pipe(ends_) != 0) {
            std::abort();
        }
    }
    template <class T>
    void send(const T &value) const {
        if (write(ends_[1], &value, sizeof value) != sizeof value) {
            std::abort();
        }
    }
    template <class T>
    T receive() const {
        T value{};
        if (read(ends_[0], &value, sizeof value) != sizeof value) {
            std::abort();
        }
        return value;
    }

  private:
    int ends_[2];
};

// Forks before the first CUDA call. The child runs the function and exits as a program does.
template <class Function>
pid_t in_child(const Function &function) {
    const pid_t child = fork();
    if (child == 0) {
        function();
        std::exit(0);
    }
    return child;
}
// The program fails if its child does.
void await(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
        std::exit(1);
    }
}

// A process lends memory to its child.
struct Lending {
    Pipe handles, used;

    template <class Borrow>
    pid_t borrow(const Borrow &borrow) {
        return in_child([&] {
            borrow(handles.receive<cudaIpcMemHandle_t>());
            used.send('.');
        });
    }
    void lend(void *memory) const {
        cudaIpcMemHandle_t handle;
        must(cudaIpcGetMemHandle(&handle, memory));
        handles.send(handle);
    }
};

void *opened(const cudaIpcMemHandle_t &handle) {
    void *memory = nullptr;
    must(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess));
    return memory;
}

} // namespace

void add_process_bugs(Programs &programs) {
    programs["memory of another process is not closed"] = [](bool buggy) {
        Lending lending;
        const pid_t child = lending.borrow([&](const cudaIpcMemHandle_t &handle) {
            void *memory = opened(handle);
            must(cudaMemset(memory, 0, bytes));
            must(cudaDeviceSynchronize());
            if (!buggy) {
                must(cudaIpcCloseMemHandle(memory));
            }
        });
        DeviceMemory memory(bytes);
        lending.lend(memory);
        lending.used.receive<char>();
        await(child);
    };
    // Both handles give the same address, which must be closed as often.
    programs["memory of another process is opened twice and closed once"] = [](bool buggy) {
        Lending lending;
        const pid_t child = lending.borrow([&](const cudaIpcMemHandle_t &handle) {
            void *const first = opened(handle);
            void *const second = opened(handle);
            must(cudaIpcCloseMemHandle(first));
            if (!buggy) {
                must(cudaIpcCloseMemHandle(second));
            }
        });
        DeviceMemory memory(bytes);
        lending.lend(memory);
        lending.used.receive<char>();
        await(child);
    };
    programs["memory is freed while another process has it open"] = [](bool buggy) {
        Lending lending;
        Pipe open, freed;
        const pid_t child = lending.borrow([&](const cudaIpcMemHandle_t &handle) {
            void *memory = opened(handle);
            open.send('.');
            if (buggy) {
                freed.receive<char>();
            }
            must(cudaIpcCloseMemHandle(memory));
        });
        void *memory = allocated(bytes);
        lending.lend(memory);
        open.receive<char>();
        if (!buggy) {
            lending.used.receive<char>();
        }
        must(cudaFree(memory));
        freed.send('.');
        await(child);
    };
    programs["memory of another process is freed instead of closed"] = [](bool buggy) {
        Lending lending;
        const pid_t child = lending.borrow([&](const cudaIpcMemHandle_t &handle) {
            void *memory = opened(handle);
            if (buggy) {
                ignore(cudaFree(memory));
            } else {
                must(cudaIpcCloseMemHandle(memory));
            }
        });
        DeviceMemory memory(bytes);
        lending.lend(memory);
        lending.used.receive<char>();
        await(child);
    };
    programs["a child uses CUDA of its parent after a fork"] = [](bool buggy) {
        const auto sum = [] {
            DeviceMemory memory(bytes);
            must(cudaMemset(memory, 0, bytes));
            must(cudaDeviceSynchronize());
        };
        if (buggy) {
            sum();
        }
        const pid_t child = in_child([&] {
            void *memory = nullptr;
            const bool done = cudaMalloc(&memory, bytes) == cudaSuccess;
            if (!done) {
                std::fputs("sim-bugs: wrong result\n", stderr);
                std::exit(1);
            }
            must(cudaFree(memory));
        });
        if (!buggy) {
            sum();
        }
        await(child);
    };
}

} // namespace bugs
