// A program like those that a CUDA compiler makes: it registers device code before main. The first
// argument selects what it does next; registration_test.py reads what reached libcudart.
#include "../../support/loading.hpp"
#include "compiled_code.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

void **all_kinds;
void **second;

void unregister_all() {
    __cudaUnregisterFatBinary(second);
    __cudaUnregisterFatBinary(all_kinds);
}

__attribute__((constructor)) void register_all() {
    all_kinds = __cudaRegisterFatBinary(at<void *>(0x100));
    __cudaRegisterFunction(all_kinds, at(0x101), at(0x102), "kernel", 3, at<uint3 *>(4),
                           at<uint3 *>(5), at<dim3 *>(6), at<dim3 *>(7), at<int *>(8));
    __cudaRegisterVar(all_kinds, at(0x111), at(0x112), "variable", 1, 2, 3, 4);
    __cudaRegisterManagedVar(all_kinds, at<void **>(0x121), at(0x122), "managed", 5, 6, 7, 8);
    __cudaRegisterHostVar(all_kinds, "host", at<void *>(0x131), 9);
    __cudaRegisterTexture(all_kinds, at<textureReference *>(0x141), at<const void **>(0x142),
                          "texture", 1, 2, 3);
    __cudaRegisterSurface(all_kinds, at<surfaceReference *>(0x151), at<const void **>(0x152),
                          "surface", 4, 5);
    __cudaRegisterUnifiedTable(all_kinds, at<void *>(0x161), at<void *>(0x162), at<void *>(0x163),
                               at<void *>(0x164));
    __cudaRegisterFatBinaryEnd(all_kinds);
    second = register_one(0x200, "second");
    std::atexit(unregister_all);
}

bool runtime_is_mapped() {
#if defined(_WIN32)
    constexpr int major = CUDART_VERSION / 1000;
    return is_loaded(
        ("cudart64_" + (major == 11 ? "110" : std::to_string(major)) + ".dll").c_str());
#else
    std::FILE *maps = std::fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;
    while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
        found = found || std::strstr(line, "libcudart") != nullptr;
    }
    if (maps != nullptr) {
        std::fclose(maps);
    }
    return found;
#endif
}

int known() {
    int count = -1;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : -1;
}

int unused() {
    return runtime_is_mapped() ? 1 : 0;
}

int first_use() {
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}

int late() {
    (void)cudaDeviceSynchronize();
    void **handle = register_one(0x300, "late");
    (void)cudaDeviceSynchronize();
    __cudaUnregisterFatBinary(handle);
    (void)cudaDeviceSynchronize();
    return 0;
}

// Unregisters the first fat binary before first use, then registers more after the others.
int withdrawn_first() {
    __cudaUnregisterFatBinary(all_kinds);
    register_kernel(second, 0x600, "more for the second");
    all_kinds = register_one(0x400, "in its place");
    return first_use();
}

int withdrawn() {
    __cudaUnregisterFatBinary(second);
    second = register_one(0x400, "in its place");
    return first_use();
}

// Registers more for a fat binary that libcudart has, and that is not the newest one.
int more_for_older() {
    (void)cudaDeviceSynchronize();
    void **newest = register_one(0x300, "newest");
    register_kernel(second, 0x600, "more for the second");
    register_kernel(newest, 0x700, "more for the newest");
    __cudaUnregisterFatBinary(newest);
    register_kernel(second, 0x800, "yet more");
    return first_use();
}

int launch() {
    dim3 grid{}, block{};
    std::size_t shared = 0;
    cudaStream_t stream = nullptr;
    CUkern_st *kernel = nullptr;
    const bool done =
        __cudaPushCallConfiguration({1, 2, 3}, {4, 5, 6}, 7, at<CUstream_st *>(8)) == 0 &&
        __cudaGetKernel(&kernel, at(0x101)) == cudaSuccess &&
        __cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess && grid.x == 9 &&
        kernel == at<CUkern_st *>(0x77) &&
        __cudaLaunchKernel(kernel, {1, 2, 3}, {4, 5, 6}, at<void **>(7), 8, at<cudaStream_t>(9)) ==
            cudaErrorLaunchTimeout &&
        __cudaLaunchKernel_ptsz(kernel, {6, 5, 4}, {3, 2, 1}, at<void **>(16), 17,
                                at<cudaStream_t>(18)) == cudaErrorLaunchOutOfResources &&
        __cudaInitModule(all_kinds) == 7;
    return done ? 0 : 1;
}

// As with a static libcudart, the launch fails, and cudaGetLastError returns the cause.
int absent() {
    const bool started = cudaPeekAtLastError() == cudaSuccess && __cudaInitModule(all_kinds) == 0;
    const bool refused = __cudaPushCallConfiguration({1, 1, 1}, {1, 1, 1}, 0, nullptr) != 0;
    const bool reported =
        cudaGetLastError() == cudaErrorInsufficientDriver && cudaGetLastError() == cudaSuccess;
    int count = 5;
    const bool counted = cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver && count == 0;
    CUkern_st *kernel = nullptr;
    const bool launched =
        __cudaGetKernel(&kernel, at(0x101)) == cudaErrorInsufficientDriver &&
        __cudaLaunchKernel(kernel, {}, {}, nullptr, 0, nullptr) == cudaErrorInsufficientDriver &&
        __cudaLaunchKernel_ptsz(kernel, {}, {}, nullptr, 0, nullptr) == cudaErrorInsufficientDriver;
    std::printf("%d %d %d %d %d\n", started, refused, reported, counted, launched);
    return started && refused && reported && counted && launched ? 0 : 1;
}

// CPU time to unregister `count` fat binaries, newest first as programs do when they end, after as
// many were registered and immediately unregistered.
std::clock_t cost_of(int count) {
    std::vector<void **> handles;
    for (int i = 0; i < count; ++i) {
        handles.push_back(register_one(0x1000, "one of many"));
    }
    const std::clock_t start = std::clock();
    for (int i = 0; i < count; ++i) {
        __cudaUnregisterFatBinary(__cudaRegisterFatBinary(at<void *>(0x2000)));
    }
    for (int i = count - 1; i >= 0; --i) {
        __cudaUnregisterFatBinary(handles[static_cast<std::size_t>(i)]);
    }
    return std::clock() - start;
}

// Four times the number takes about four times the CPU time, not sixteen times. The best of several
// runs counts.
int many() {
    constexpr int count = 4000, limit = 9;
    std::clock_t few = cost_of(count), more = cost_of(4 * count);
    for (int i = 0; i < 5 && more > limit * few; ++i) {
        few = std::min(few, cost_of(count));
        more = std::min(more, cost_of(4 * count));
    }
    std::printf("%d: %ld, %d: %ld\n", count, long(few), 4 * count, long(more));
    return more <= limit * few ? first_use() : 1;
}

// A call of the runtime finds everything that was registered before it.
int threads() {
    constexpr int users = 100, registrars = 20, each = 25;
    std::atomic<bool> go{false};
    std::atomic<int> registered{2}, overtaken{0};
    std::vector<std::thread> all;
    for (int i = 0; i < registrars; ++i) {
        all.emplace_back([&, i] {
            while (!go) {
                std::this_thread::yield();
            }
            for (int j = 0; j < each; ++j) {
                void **handle = register_one(
                    std::uintptr_t{0x1000} * (i + 1) + std::uintptr_t{0x10} * j, "of a thread");
                registered.fetch_add(1);
                if (j % 5 == 4) {
                    __cudaUnregisterFatBinary(
                        handle); // its kernel is counted, or was never registered
                    registered.fetch_sub(1);
                }
            }
        });
    }
    for (int i = 0; i < users; ++i) {
        all.emplace_back([&] {
            while (!go) {
                std::this_thread::yield();
            }
            for (int j = 0; j < 20; ++j) {
                const int before = registered;
                if (known() < before - registrars) { // each may be between its two steps
                    ++overtaken;
                }
            }
        });
    }
    go = true;
    for (std::thread &thread : all) {
        thread.join();
    }
    std::printf("overtaken %d\n", overtaken.load());
    return overtaken == 0 ? 0 : 1;
}

#if defined(_WIN32)
int in_child(int (*)()) {
    return 0; // no fork on Windows
}
#else
int in_child(int (*function)()) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(function());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
#endif

int forked() {
    return in_child([] { return first_use() + (known() == 2 ? 0 : 2); });
}

// A child can use the runtime whatever another thread of its parent was doing during the fork; in
// the child, no other thread can release the lists' locks.
int forked_in_between() {
#ifdef __SANITIZE_THREAD__
    std::puts("ThreadSanitizer does not support fork in a program with threads");
    return 77;
#endif
    std::atomic<bool> done{false};
    std::thread other([&] {
        while (!done) {
            void **first = register_one(0x300, "of a thread"), **last = register_one(0x400, "too");
            __cudaUnregisterFatBinary(first);
            __cudaUnregisterFatBinary(last);
        }
    });
    int status = 0;
    for (int i = 0; i < 300 && status == 0; ++i) {
        status = in_child([] {
            void **last = register_one(0x500, "of the child");
            __cudaUnregisterFatBinary(second);
            second = register_one(0x600, "in its place");
            __cudaUnregisterFatBinary(last);
            const int there = known();
            return there >= 2 && there <= 4 ? 0 : 1; // up to two are the thread's
        });
    }
    done = true;
    other.join();
    return status;
}

// A plugin with device code and its own drop-in is loaded, uses the runtime, and is unloaded unless
// it stays until exit.
int plugin(const char *path, bool used_before, bool goes = true) {
    if (used_before) {
        (void)cudaDeviceSynchronize();
    }
    void *library = load(path);
    if (library == nullptr) {
        return 1;
    }
    const int answer = function_in<int()>(library, "plugin_use")();
    if (goes) {
        unload(library);
    }
    return answer == 0 && cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}

// A plugin that is unloaded before the first use of CUDA leaves no registration and no fork handler
// behind. Loaded again, it works.
int plugin_unused(const char *path) {
#ifdef __SANITIZE_THREAD__
    std::puts("ThreadSanitizer keeps the exit handlers of unloaded modules");
    return 77;
#endif
    for (int i = 0; i < 2; ++i) {
        void *library = load(path);
        if (library == nullptr || !unload(library)) {
            return 1;
        }
        if (is_loaded(path)) {
            return 2;
        }
        if (in_child([] { return 0; }) != 0) {
            return 3;
        }
    }
    return runtime_is_mapped() ? 4 : plugin(path, false);
}

} // namespace

int main(int argc, char **argv) {
    const auto is = [&](const char *name) { return argc > 1 && std::strcmp(argv[1], name) == 0; };
    return is("unused")                           ? unused()
           : is("first")                          ? first_use()
           : is("late")                           ? late()
           : is("withdrawn")                      ? withdrawn()
           : is("more-for-older")                 ? more_for_older()
           : is("withdrawn-first")                ? withdrawn_first()
           : is("launch")                         ? launch()
           : is("absent")                         ? absent()
           : is("threads")                        ? threads()
           : is("many")                           ? many()
           : is("fork")                           ? forked()
           : is("fork-in-between")                ? forked_in_between()
           : is("plugin") && argc > 2             ? plugin(argv[2], false)
           : is("plugin-after") && argc > 2       ? plugin(argv[2], true)
           : is("plugin-stays") && argc > 2       ? plugin(argv[2], false, false)
           : is("plugin-stays-after") && argc > 2 ? plugin(argv[2], true, false)
           : is("plugin-unused") && argc > 2      ? plugin_unused(argv[2])
                                                  : 64;
}
