// Objects for most tests: streams, events, graphs, memory. Makers fail the test case if the driver
// fails; the classes destroy their object at the end of the scope and check the status.
#pragma once

#include "sim.hpp"

#include <type_traits>

namespace sim_test {

using Driver = cushim::DriverTable;
using Runtime = cushim::RuntimeTable;

// Returns the output of a call: got<int>(&Driver::cuDeviceGetAttribute, out, attribute, device)
// passes a pointer to an int in the place of `out` and checks that the call succeeds. An output
// that the call does not write has a value that no call writes.
inline constexpr struct Out {
} out;
template <class T, class Result, class Table, class... Parameters, class... Arguments>
Result call_with(T &output, Result (Table::*function)(Parameters...) const,
                 const Arguments &...arguments) {
    const auto passed = [&](const auto &argument) -> decltype(auto) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(argument)>, Out>) {
            return &output;
        } else {
            return (argument);
        }
    };
    return (Table{}.*function)(passed(arguments)...);
}
template <class T, class Result, class Table, class... Parameters, class... Arguments>
T got(Result (Table::*function)(Parameters...) const, const Arguments &...arguments) {
    T value;
    std::memset(static_cast<void *>(&value), 0x5a, sizeof value);
    require_ok(call_with(value, function, arguments...));
    return value;
}
// For an output in a variable of the caller.
template <class Status, class T>
    requires std::is_enum_v<Status>
const T &got(Status status, const T &value, const char *file = __builtin_FILE(),
             int line = __builtin_LINE()) {
    ok(status, file, line);
    return value;
}

// Checks the status, and that the simulator reports a misuse with this text.
inline void check_misuse(CUresult status, CUresult expected, const std::string &text) {
    INFO(text);
    CHECK(status == expected);
    expect_misuse(text);
}

// The lines of a report: lines_of(&cushim_sim::notes).
template <class Report>
std::vector<std::string> lines_of(Report cushim_sim::*report) {
    std::vector<std::string> lines;
    (sim_control().*
     report)([](const char *line,
                void *all) { static_cast<std::vector<std::string> *>(all)->emplace_back(line); },
             &lines);
    return lines;
}
inline std::vector<std::string> notes() {
    return lines_of(&cushim_sim::notes);
}

// Expects all misuses so far. There must be at least one.
inline void expect_misuses() {
    const std::size_t count = misuses().size();
    REQUIRE(count > 0);
    for (std::size_t i = 0; i < count; ++i) {
        expect_misuse("");
    }
}

// Checks that all calls returned this status.
template <class Status>
void check_all(Status expected, std::initializer_list<std::type_identity_t<Status>> statuses) {
    int number = 0;
    for (const Status status : statuses) {
        INFO("call " << ++number << " of " << statuses.size());
        CHECK(status == expected);
    }
}

// Integers of any types, to compare several at once.
template <class... Values>
std::vector<long long> numbers(Values... values) {
    return {static_cast<long long>(values)...};
}

// A change of valid arguments, and the status that the call then returns.
template <class T>
struct Change {
    const char *name;
    void (*make)(T &);
    CUresult expected = invalid;
};
// Makes the call with each change in turn.
template <class T, class Call>
void check_changes(const T &valid, const Call &call,
                   std::initializer_list<Change<std::type_identity_t<T>>> changes) {
    for (const Change<T> &change : changes) {
        INFO(change.name);
        T changed = valid;
        change.make(changed);
        CHECK(call(changed) == change.expected);
    }
}

// The function that the driver or another library exports by this name.
template <class Function>
Function exported_as(const char *name, const std::string &library = "") {
    const auto found = library.empty() ? exported(name) : exported(library, name);
    REQUIRE(found != nullptr);
    return reinterpret_cast<Function>(found);
}
// Calls the function that the library exports by this name.
template <class... Arguments>
CUresult call_exported(const std::string &library, const char *name, Arguments... arguments) {
    return exported_as<CUresult (*)(Arguments...)>(name, library)(arguments...);
}

// An invalid handle, as in a variable that no call has written yet.
template <class Handle>
Handle garbage() {
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(0x5150));
}

inline std::string name_of(CUdevice device) {
    char name[64] = "";
    ok(driver().cuDeviceGetName(name, sizeof name, device));
    return name;
}

constexpr unsigned int non_blocking = CU_STREAM_NON_BLOCKING;

inline CUstream make_stream(unsigned int flags = CU_STREAM_DEFAULT) {
    return got<CUstream>(&Driver::cuStreamCreate, out, flags);
}
inline CUevent make_event(unsigned int flags = CU_EVENT_DEFAULT) {
    return got<CUevent>(&Driver::cuEventCreate, out, flags);
}
inline CUgraph make_graph() {
    return got<CUgraph>(&Driver::cuGraphCreate, out, 0);
}
inline CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
    return got<CUgraphExec>(&Driver::cuGraphInstantiateWithFlags, out, graph, flags);
}
inline CUmodule load_module(const void *image) {
    return got<CUmodule>(&Driver::cuModuleLoadData, out, image);
}
inline CUfunction function_of(CUmodule module, const char *name) {
    return got<CUfunction>(&Driver::cuModuleGetFunction, out, module, name);
}
inline CUdeviceptr allocate(std::size_t size) {
    return got<CUdeviceptr>(&Driver::cuMemAlloc, out, size);
}
// The status of an allocation that is freed at once.
inline CUresult try_allocate(std::size_t size = 64) {
    CUdeviceptr address = 0;
    const CUresult status = driver().cuMemAlloc(&address, size);
    if (status == CUDA_SUCCESS) {
        ok(driver().cuMemFree(address));
    }
    return status;
}
inline CUdeviceptr allocate_managed(std::size_t size) {
    return got<CUdeviceptr>(&Driver::cuMemAllocManaged, out, size, CU_MEM_ATTACH_GLOBAL);
}
inline void *allocate_pinned(std::size_t size, unsigned int flags = 0) {
    return got<void *>(&Driver::cuMemHostAlloc, out, size, flags);
}
inline void *allocate_by_runtime(std::size_t size) {
    return got<void *>(&Runtime::cudaMalloc, out, size);
}

inline CUcontext current() {
    return got<CUcontext>(&Driver::cuCtxGetCurrent, out);
}
// Creates a context and makes it current.
inline CUcontext make_context(int ordinal = 0) {
    return got<CUcontext>(&Driver::cuCtxCreate_v2, out, 0, ordinal);
}
inline CUcontext pop_current() {
    return got<CUcontext>(&Driver::cuCtxPopCurrent, out);
}
inline CUcontext retain_primary(int ordinal) {
    return got<CUcontext>(&Driver::cuDevicePrimaryCtxRetain, out, ordinal);
}
inline CUmemoryPool default_pool(int ordinal = 0) {
    return got<CUmemoryPool>(&Driver::cuDeviceGetDefaultMemPool, out, ordinal);
}

inline void destroy(CUstream stream) {
    ok(driver().cuStreamDestroy(stream));
}
inline void destroy(CUevent event) {
    ok(driver().cuEventDestroy(event));
}
inline void destroy(CUgraph graph) {
    ok(driver().cuGraphDestroy(graph));
}
inline void destroy(CUgraphExec exec) {
    ok(driver().cuGraphExecDestroy(exec));
}
inline void destroy(CUmodule module) {
    ok(driver().cuModuleUnload(module));
}
inline void destroy(CUmemoryPool pool) {
    ok(driver().cuMemPoolDestroy(pool));
}
inline void destroy(CUcontext context) {
    ok(driver().cuCtxDestroy(context));
}
inline void release(CUdeviceptr address) {
    ok(driver().cuMemFree(address));
}
inline void release(void *pinned) {
    ok(driver().cuMemFreeHost(pinned));
}
template <class Handle>
void release(Handle *) = delete; // a stream is not memory
inline void release(unsigned char *pinned) {
    release(static_cast<void *>(pinned));
}
inline void release(char *pinned) {
    release(static_cast<void *>(pinned));
}

// Ends the value at the end of the scope.
template <class Value, void (*End)(Value)>
class Owned : Unique {
  public:
    explicit Owned(Value value) : value_(value) {}
    ~Owned() { End(value_); }
    operator Value() const { return value_; }
    Value get() const { return value_; }

  private:
    Value value_;
};
struct Stream : Owned<CUstream, destroy> {
    explicit Stream(unsigned int flags = CU_STREAM_DEFAULT) : Owned(make_stream(flags)) {}
};
struct Event : Owned<CUevent, destroy> {
    explicit Event(unsigned int flags = CU_EVENT_DEFAULT) : Owned(make_event(flags)) {}
};
struct Graph : Owned<CUgraph, destroy> {
    Graph() : Owned(make_graph()) {}
    explicit Graph(CUgraph graph) : Owned(graph) {}
};
struct Executable : Owned<CUgraphExec, destroy> {
    explicit Executable(CUgraph graph, unsigned long long flags = 0)
        : Owned(instantiate(graph, flags)) {}
};
struct Module : Owned<CUmodule, destroy> {
    explicit Module(const void *image) : Owned(load_module(image)) {}
    CUfunction function(const char *name) const { return function_of(*this, name); }
    CUdeviceptr global(const char *name) const {
        return got<CUdeviceptr>(&Driver::cuModuleGetGlobal, out, nullptr, *this, name);
    }
};
struct DeviceMemory : Owned<CUdeviceptr, release> {
    explicit DeviceMemory(std::size_t size) : Owned(allocate(size)) {}
};
struct ManagedMemory : Owned<CUdeviceptr, release> {
    explicit ManagedMemory(std::size_t size) : Owned(allocate_managed(size)) {}
};
struct PinnedMemory : Owned<void *, release> {
    explicit PinnedMemory(std::size_t size, unsigned int flags = 0)
        : Owned(allocate_pinned(size, flags)) {}
};
inline void destroy(CUarray array) {
    ok(driver().cuArrayDestroy(array));
}
struct Array : Owned<CUarray, destroy> {
    explicit Array(const CUDA_ARRAY3D_DESCRIPTOR &description)
        : Owned(got<CUarray>(&Driver::cuArray3DCreate, out, &description)) {}
};
// Destroyed by the runtime.
template <auto Function, class Value>
void end_by_runtime(Value value) {
    ok((runtime().*Function)(value));
}
struct RuntimeStream : Owned<cudaStream_t, end_by_runtime<&Runtime::cudaStreamDestroy>> {
    explicit RuntimeStream(unsigned int flags = cudaStreamDefault)
        : Owned(got<cudaStream_t>(&Runtime::cudaStreamCreateWithFlags, out, flags)) {}
};
struct RuntimeEvent : Owned<cudaEvent_t, end_by_runtime<&Runtime::cudaEventDestroy>> {
    explicit RuntimeEvent(unsigned int flags = cudaEventDefault)
        : Owned(got<cudaEvent_t>(&Runtime::cudaEventCreateWithFlags, out, flags)) {}
};
struct RuntimeGraph : Owned<cudaGraph_t, end_by_runtime<&Runtime::cudaGraphDestroy>> {
    RuntimeGraph() : Owned(got<cudaGraph_t>(&Runtime::cudaGraphCreate, out, 0)) {}
};
struct RuntimeExecutable : Owned<cudaGraphExec_t, end_by_runtime<&Runtime::cudaGraphExecDestroy>> {
    explicit RuntimeExecutable(cudaGraph_t graph)
        : Owned(got<cudaGraphExec_t>(&Runtime::cudaGraphInstantiateWithFlags, out, graph, 0)) {}
};
struct RuntimeArray : Owned<cudaArray_t, end_by_runtime<&Runtime::cudaFreeArray>> {
    RuntimeArray(const cudaChannelFormatDesc &format, cudaExtent extent)
        : Owned(got<cudaArray_t>(&Runtime::cudaMalloc3DArray, out, &format, extent, 0)) {}
};
struct RuntimeMemory : Owned<void *, end_by_runtime<&Runtime::cudaFree>> {
    explicit RuntimeMemory(std::size_t size) : Owned(allocate_by_runtime(size)) {}
};

// The primary context of a device, retained until the end of the scope but not made current.
class PrimaryContext : Unique {
  public:
    explicit PrimaryContext(int ordinal) : ordinal_(ordinal), context_(retain_primary(ordinal)) {}
    ~PrimaryContext() { ok(driver().cuDevicePrimaryCtxRelease(ordinal_)); }
    operator CUcontext() const { return context_; }

  private:
    int ordinal_;
    CUcontext context_;
};

} // namespace sim_test
