// Arguments with which a call is likely to succeed: live handles, memory, structures that are
// filled validly. Each is made when it is first asked for, in the current context, and is never
// destroyed, since a call may have destroyed it.
#pragma once

#include "../record.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <deque>

namespace record::plausible {

constexpr std::size_t small = 256; // bytes of a copy, and of most allocations' use
constexpr std::size_t block = 64 << 10;
constexpr std::size_t page = 2 << 20;                     // the granularity of physical memory
constexpr unsigned int width = 16, height = 4, depth = 4; // of arrays, in elements of 4 bytes

class Values {
  public:
    // Of these devices; `peer` is the second one of calls that have two.
    Values(CUdevice device, CUdevice peer)
        : device_(device), peer_(peer), place_{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device} {}

    // The location that the call is passed, instead of that of the device.
    void set_place(CUmemLocation place) { place_ = place; }

    // Whether every value was made.
    bool complete() const { return complete_; }

    CUdevice device() const { return device_; }
    CUdevice peer() const { return peer_; }

    // Zeroed storage for an output of any type.
    void *room();
    // A copy of the value, in such storage.
    template <class Value>
    Value *put(const Value &value) {
        static_assert(sizeof value <= sizeof(Room));
        return static_cast<Value *>(std::memcpy(room(), &value, sizeof value));
    }
    template <class Value, std::size_t count>
    Value *put_all(const Value (&values)[count]) {
        static_assert(sizeof values <= sizeof(Room));
        return static_cast<Value *>(std::memcpy(room(), values, sizeof values));
    }

    CUcontext context();
    CUcontext own_context(); // to be destroyed
    CUstream stream();
    CUstream other_stream();
    CUstream capturing_stream(); // in relaxed mode
    CUevent event();
    CUevent other_event();
    CUevent shared_event(); // between processes

    CUdeviceptr memory();
    CUdeviceptr source();
    void *host();
    void *pageable();
    void *registered();
    CUdeviceptr managed();
    CUmemoryPool pool();
    CUmemoryPool imported_pool();
    int pool_descriptor();
    CUdeviceptr pool_memory();
    CUmemGenericAllocationHandle physical();
    CUdeviceptr reserved();
    CUdeviceptr mapped();
    CUdeviceptr graph_memory();
    int descriptor(); // of physical memory

    CUarray array();
    CUarray other_array();
    CUmipmappedArray levels();
    // Of a shape with these flags.
    CUarray array_with(unsigned int flags);
    CUmipmappedArray levels_with(unsigned int flags);
    CUtexObject texture();
    CUsurfObject surface();
    CUtexref texture_reference();
    CUtexref reference_to_memory();
    CUtexref reference_to_levels();
    CUtexref created_reference();
    CUsurfref surface_reference();

    CUmodule module();
    CUfunction function();
    CUfunction function_with_parameters();
    CUlibrary library();
    CUkernel kernel();
    CUkernel kernel_with_parameters();
    void *function_of_runtime(); // as functions of the runtime take it
    CUlinkState linking();
    CUlinkState linking_code();
    const char *code_file();

    CUgraph graph();
    CUgraph child();
    CUgraphNode node(); // an empty one
    CUgraphNode second_node();
    CUgraphNode dependent_node(); // depends on node()
    CUgraphNode kernel_node();
    CUgraphNode copy_node();
    CUgraphNode fill_node();
    CUgraphNode host_node();
    CUgraphNode child_node();
    CUgraphNode record_node();
    CUgraphNode wait_node();
    CUgraphNode signal_semaphore_node();
    CUgraphNode wait_semaphore_node();
    CUgraphNode value_node();
    CUgraphNode allocation_node();
    CUgraphNode free_node();
    CUgraph clone();
    CUgraph clone_with(CUgraphNode) { return clone(); }
    CUgraphExec executable();
    // An executable graph that has this node.
    CUgraphExec executable_with(CUgraphNode) { return executable(); }
    CUuserObject user_object();
    CUuserObject held_object(); // by the graph

    CUexternalMemory external_memory();
    CUexternalSemaphore semaphore();
    CUgreenCtx green();
    CUdevResourceDesc resource();
    CUdevResource multiprocessors();
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC import_memory();
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC import_semaphore();
    CUtensorMap tensor_map();
    CUasyncCallbackHandle notification();
    CUlogsCallbackHandle log_callback();
    CUipcMemHandle memory_handle();
    CUipcEventHandle event_handle();

    CUmemLocation place() const { return place_; }
    static CUmemAllocationProp physical_properties(CUmemLocation at);
    static CUmemPoolProps pool_properties(CUmemLocation at);
    static CUmemAccessDesc access(CUmemLocation at);
    CUDA_ARRAY3D_DESCRIPTOR shape() const;
    CUDA_RESOURCE_DESC of_array();
    CUDA_KERNEL_NODE_PARAMS launch();
    CUlaunchConfig configuration();
    CUDA_MEMCPY2D copy_2d();
    CUDA_MEMCPY3D copy_3d();
    CUDA_MEMCPY3D_PEER copy_between();
    CUDA_MEMCPY3D_BATCH_OP batched_copy();
    CUDA_MEMSET_NODE_PARAMS fill();
    CUDA_HOST_NODE_PARAMS host_call() const;
    static CUDA_MEM_ALLOC_NODE_PARAMS allocation(CUmemLocation at);
    CUDA_BATCH_MEM_OP_NODE_PARAMS write_values();
    CUstreamBatchMemOpParams write_value();
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals();
    CUDA_EXT_SEM_WAIT_NODE_PARAMS waits();
    CUgraphNodeParams node_parameters();
    CUmemPoolPtrExportData exported_pointer();
    const char *bus_id();

    cudaMemcpy3DParms copy_of_runtime();
    cudaMemcpy3DPeerParms copy_between_of_runtime();
    cudaMemcpy3DBatchOp batched_copy_of_runtime();
    cudaMemsetParams fill_of_runtime();
    cudaKernelNodeParams launch_of_runtime();
    cudaLaunchConfig_t configuration_of_runtime();
    cudaResourceDesc of_array_of_runtime();
    static cudaMemAllocNodeParams allocation_of_runtime(cudaMemLocation at);
    static cudaMemPoolProps pool_properties_of_runtime(cudaMemLocation at);
    cudaGraphNodeParams node_parameters_of_runtime();
    cudaExternalMemoryHandleDesc import_memory_of_runtime();
    cudaExternalSemaphoreHandleDesc import_semaphore_of_runtime();
    cudaExternalMemoryMipmappedArrayDesc levels_of_runtime() const;
    cudaMemLocation place_of_runtime() const {
        return {static_cast<cudaMemLocationType>(place_.type), place_.id};
    }
    cudaChannelFormatDesc channel() const { return {32, 0, 0, 0, cudaChannelFormatKindFloat}; }

  private:
    struct alignas(64) Room {
        std::byte bytes[32 << 10];
    };

    void check(CUresult status) { complete_ = status == CUDA_SUCCESS && complete_; }
    // Makes the value the first time.
    template <class Value, class Make>
    Value once(Value &value, Make make) {
        if (!value) {
            check(make(&value));
        }
        return value;
    }

    CUmemLocation here() const { return {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_}; }

    const CUdevice device_, peer_;
    CUmemLocation place_;
    bool complete_ = true;
    std::deque<Room> rooms_;
    CUcontext context_{}, own_context_{};
    CUstream stream_{}, other_stream_{}, capturing_stream_{};
    CUevent event_{}, other_event_{}, shared_event_{};
    CUdeviceptr memory_{}, source_{}, managed_{}, pool_memory_{}, reserved_{}, mapped_{};
    void *host_{}, *pageable_{}, *registered_{};
    CUmemoryPool pool_{}, imported_pool_{};
    CUmemGenericAllocationHandle physical_{};
    CUarray array_{}, other_array_{}, array_with_{};
    CUmipmappedArray levels_{}, levels_with_{};
    CUtexObject texture_{};
    CUsurfObject surface_{};
    CUtexref texture_reference_{}, reference_to_memory_{}, reference_to_levels_{},
        created_reference_{};
    CUsurfref surface_reference_{};
    CUmodule module_{};
    CUfunction function_{}, function_with_parameters_{};
    CUlibrary library_{};
    CUkernel kernel_{}, kernel_with_parameters_{};
    CUlinkState linking_{}, linking_code_{};
    CUgraph graph_{}, child_{}, clone_{};
    CUgraphNode node_{}, second_node_{}, dependent_node_{}, kernel_node_{}, copy_node_{},
        fill_node_{}, host_node_{}, child_node_{}, record_node_{}, wait_node_{}, signal_node_{},
        wait_semaphore_node_{}, value_node_{}, allocation_node_{}, free_node_{};
    CUDA_MEM_ALLOC_NODE_PARAMS allocated_{};
    CUgraphExec executable_{};
    CUuserObject user_object_{}, held_object_{};
    CUexternalMemory external_memory_{};
    CUexternalSemaphore semaphore_{};
    CUgreenCtx green_{};
    CUdevResourceDesc resource_{};
    CUasyncCallbackHandle notification_{};
    CUlogsCallbackHandle log_callback_{};
};

void do_nothing(void *);

// Another context of device 0, of which each process has one.
CUcontext second_context();

} // namespace record::plausible
