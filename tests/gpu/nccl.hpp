// The part of NCCL that the tests use, declared as in its header and loaded at run time: building
// the tests does not need NCCL.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include <dlfcn.h>

namespace gpu_test::nccl {

using Result = int; // 0: success
using Communicator = struct CommunicatorHandle *;

// Passed by value, as in NCCL.
struct UniqueId {
    char bytes[128];
};

constexpr int uint32 = 3; // a data type
constexpr int sum = 0;    // an operation

// Every function that the tests call: X(return type, name without "nccl", parameters).
#define NCCL_FUNCTIONS(X)                                                                          \
    X(Result, GetVersion, (int *))                                                                 \
    X(Result, GetUniqueId, (UniqueId *))                                                           \
    X(Result, CommInitRank, (Communicator *, int, UniqueId, int))                                  \
    X(Result, AllReduce, (const void *, void *, std::size_t, int, int, Communicator, CUstream))    \
    X(Result, GroupStart, ())                                                                      \
    X(Result, GroupEnd, ())                                                                        \
    X(Result, CommDestroy, (Communicator))                                                         \
    X(const char *, GetErrorString, (Result))                                                      \
    X(const char *, GetLastError, (Communicator))

struct Functions {
#define NCCL_DECLARE(type, name, parameters) type(*name) parameters = nullptr;
    NCCL_FUNCTIONS(NCCL_DECLARE)
#undef NCCL_DECLARE
};

// Turns off NVLink multicast, whatever the environment says: it is a resource shared by all
// programs of the machine. Then loads the library. Returns false and prints a line to standard
// error if the library or one of the functions is missing.
inline bool load(const char *library, Functions &functions) {
    // NVLink SHARP is multicast. It needs memory from cuMemCreate, which NCCL can do without.
    for (const char *variable : {"NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE", "NCCL_MNNVL_ENABLE"}) {
        setenv(variable, "0", 1);
    }
    void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    bool complete = true;
#define NCCL_LOAD(type, name, parameters)                                                          \
    functions.name = reinterpret_cast<type(*) parameters>(dlsym(handle, "nccl" #name));            \
    complete = complete && functions.name != nullptr;
    NCCL_FUNCTIONS(NCCL_LOAD)
#undef NCCL_LOAD
    if (!complete) {
        std::fprintf(stderr, "%s lacks functions: it is older than NCCL 2.13\n", library);
    }
    return complete;
}

} // namespace gpu_test::nccl
