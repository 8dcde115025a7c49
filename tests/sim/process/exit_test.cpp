// Calls at the end of threads and of the process, after objects of the simulator were destroyed.
#include "../support/contains.hpp"
#include "handles.hpp"

#include <cstdio>

#ifndef _WIN32
#include "../support/child_process.hpp"
#endif

using namespace sim_test;
using support::contains;

namespace {

// Memory of the program, of all sizes that small freed objects may have had.
class Own {
  public:
    Own() {
        for (std::size_t size = 8; size <= 256; size += 8) {
            pieces_.insert(pieces_.end(), 16, std::vector<unsigned char>(size, mark));
        }
    }
    // Whether no other code has written to it.
    bool intact() const {
        return std::ranges::all_of(pieces_, [](const auto &piece) {
            return std::ranges::all_of(piece, [](unsigned char byte) { return byte == mark; });
        });
    }

  private:
    static constexpr unsigned char mark = 0x41;
    std::vector<std::vector<unsigned char>> pieces_;
};

// Results of a destructor that runs after those of thread-local objects in the simulator.
struct Found {
    cudaError_t freed = cudaErrorUnknown;
    bool intact = false;
    CUcontext context = nullptr;
    CUresult allocated = CUDA_ERROR_UNKNOWN;
};

// A thread-local object, constructed before the first call of the thread.
struct Last {
    Found *found = nullptr;
    void *memory = nullptr;
    ~Last() {
        if (found == nullptr) {
            return;
        }
        driver().cuCtxGetCurrent(&found->context);
        CUdeviceptr more = 0;
        found->allocated = driver().cuMemAlloc(&more, 16);
        if (found->allocated == CUDA_SUCCESS) {
            driver().cuMemFree(more);
        }
        const Own own;
        found->freed = runtime().cudaFree(memory);
        found->intact = own.intact();
    }
};

Last &last() {
    static thread_local Last object;
    return object;
}

} // namespace

TEST_CASE("runtime calls work in destructors of thread-local objects") {
    Found found;
    std::thread([&] {
        last().found = &found;
        runtime().cudaMalloc(&last().memory, 64);
    }).join();
    CHECK(found.freed == cudaSuccess);
    CHECK(found.intact);
}

TEST_CASE("a thread's context stays current in destructors of thread-local objects") {
    const CUcontext context = current();
    for (CUcontext current : {context, CUcontext(nullptr), context, CUcontext(nullptr)}) {
        Found found;
        std::thread([&] {
            last().found = &found;
            driver().cuCtxSetCurrent(current);
        }).join();
        CHECK(found.context == current);
        CHECK(found.allocated == (current != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT));
    }
}

TEST_CASE("a reset of the simulator forgets the current contexts of all threads") {
    CUcontext context = nullptr;
    std::thread([&] {
        driver().cuCtxCreate_v2(&context, 0, 0);
        start();
        CUcontext now = pop_current();
        CHECK(driver().cuCtxPopCurrent(&now) == CUDA_ERROR_INVALID_CONTEXT);
    }).join();
    CHECK(got<CUcontext>(&Driver::cuCtxGetCurrent, out) == nullptr);
}

#ifndef _WIN32
namespace {

// A device buffer that lives as long as the process.
struct Cache {
    Cache() { runtime().cudaMalloc(&memory, 64); }
    ~Cache() {
        const Own own;
        void *more = nullptr;
        const cudaError_t allocated = runtime().cudaMalloc(&more, 64),
                          freed = runtime().cudaFree(memory);
        std::fprintf(stderr, "cudaMalloc %d, cudaFree %d, own memory %s\n",
                     static_cast<int>(allocated), static_cast<int>(freed),
                     own.intact() ? "intact" : "overwritten");
    }
    void *memory = nullptr;
};

} // namespace

TEST_CASE("child frees memory of the runtime at its exit", "[.]") {
    static const Cache cache;
    allow_leaks();
}

TEST_CASE("static objects can free memory of the runtime at exit") {
    const Outcome outcome = run_alone("child frees memory of the runtime at its exit", "");
    CHECK(outcome.status == 0);
    CHECK(contains(outcome.errors, "cudaMalloc 0, cudaFree 0, own memory intact\n"));
}
#endif
