#include "memory/stream_memory_operations.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/memory.hpp"
#include "engine/stream.hpp"
#include "memory/kernel_memory.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace sim {
namespace {

using MemoryOperation = CUstreamBatchMemOpParams;
using Operations = std::vector<MemoryOperation>;

constexpr unsigned int flush = CU_STREAM_WAIT_VALUE_FLUSH;
constexpr unsigned int most_operations = 256;

bool is_wait(const MemoryOperation &operation) {
    return operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
           operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

bool is_write(const MemoryOperation &operation) {
    return operation.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
           operation.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

// Width of the value in bytes.
std::size_t width_of(const MemoryOperation &operation) {
    return operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                   operation.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64
               ? 8
               : 4;
}

template <class T>
bool holds(T found, T wanted, unsigned int flags) {
    switch (flags & ~flush) {
    case CU_STREAM_WAIT_VALUE_EQ:
        return found == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
        return (found & wanted) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
        return static_cast<T>(~(found | wanted)) != 0;
    default: // cyclic greater or equal
        return static_cast<std::make_signed_t<T>>(static_cast<T>(found - wanted)) >= 0;
    }
}

// Host threads and other processes may write there concurrently.
template <class T>
T load(const std::byte *where) {
    return __atomic_load_n(reinterpret_cast<const T *>(where), __ATOMIC_ACQUIRE);
}
template <class T>
void store(std::byte *where, T value) {
    __atomic_store_n(reinterpret_cast<T *>(where), value, __ATOMIC_RELEASE);
}

// An operation on freed memory does not block; it fails when it runs.
bool is_satisfied(const MemoryOperation &operation) {
    const auto &wait = operation.waitValue;
    const std::byte *view = view_or_null(wait.address, width_of(operation), false);
    if (view == nullptr) {
        return true;
    }
    return width_of(operation) == 8
               ? holds<std::uint64_t>(load<std::uint64_t>(view), wait.value64, wait.flags)
               : holds<std::uint32_t>(load<std::uint32_t>(view), wait.value, wait.flags);
}

void write(const MemoryOperation &operation) {
    const auto &parameters = operation.writeValue;
    std::byte *view = device_view(parameters.address, width_of(operation), true);
    if (width_of(operation) == 8) {
        store<std::uint64_t>(view, parameters.value64);
    } else {
        store<std::uint32_t>(view, parameters.value);
    }
}

void require_flush(CUdevice device) {
    require(device_attribute(device, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES) != 0,
            CUDA_ERROR_NOT_SUPPORTED);
}

Range &value_range(CUdeviceptr address, std::size_t width, bool written) try {
    return device_range(address, width, written);
} catch (const Refusal &) {
    if (AddressSpace::get().find(address) == nullptr) {
        explain("Batch memory address 0x%016llx is not valid",
                static_cast<unsigned long long>(address));
    }
    throw;
}

[[noreturn]] void refuse_flags(unsigned int flags, std::size_t index) {
    refuse(CUDA_ERROR_INVALID_VALUE, "Index %zu: Invalid flags 0x%x", index, flags);
}

// As for memsets, the stream's device must have access to the memory.
void check_value(const Context &context, CUdeviceptr address, std::size_t width, bool written,
                 std::size_t index) {
    if (address % width != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Index %zu: Address 0x%llx not aligned", index,
               static_cast<unsigned long long>(address));
    }
    const Range &range = value_range(address, width, written);
    require(!range.managed && range.memory != Memory::pool);
    check_access_by(context.device, address, width, written);
    require(in_reach(context, range));
}

// The first ABI is disabled unless the kernel module enables it; it adds a weaker write.
void require_first_abi(CUdevice device, std::size_t width) {
    const auto attribute = static_cast<CUdevice_attribute>(width == 8 ? 93 : 92);
    require(device_attribute(device, attribute) != 0, CUDA_ERROR_NOT_SUPPORTED,
            "Stream memory operations are not supported on this device");
}

void check_abi(Abi abi, const MemoryOperation &operation, CUdevice device) {
    if (abi == Abi::first) {
        require_first_abi(device, width_of(operation));
        require(operation.operation != CU_STREAM_MEM_OP_BARRIER);
    }
}

void check_operation(Abi abi, const MemoryOperation &operation, const Context &context,
                     std::size_t index) {
    const CUdevice device = context.device;
    check_abi(abi, operation, device);
    switch (static_cast<int>(operation.operation)) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        if ((operation.waitValue.flags & ~flush) > CU_STREAM_WAIT_VALUE_NOR) {
            refuse_flags(operation.waitValue.flags, index);
        }
        if ((operation.waitValue.flags & flush) != 0) {
            require_flush(device);
        }
        check_value(context, operation.waitValue.address, width_of(operation), false, index);
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        if (operation.writeValue.flags != CU_STREAM_WRITE_VALUE_DEFAULT &&
            (abi == Abi::second ||
             operation.writeValue.flags != CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)) {
            refuse_flags(operation.writeValue.flags, index);
        }
        check_value(context, operation.writeValue.address, width_of(operation), true, index);
        break;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        require(operation.flushRemoteWrites.flags == 0);
        require_flush(device);
        break;
    case CU_STREAM_MEM_OP_BARRIER:
        require(operation.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
        break;
    case 8: // atomic reduction, CUDA 13.1
        refuse(CUDA_ERROR_NOT_SUPPORTED);
    default:
        refuse(CUDA_ERROR_INVALID_VALUE, "Index %zu: Invalid operation %u", index,
               static_cast<unsigned int>(operation.operation));
    }
}

// The progress of one execution of a batch.
struct Progress {
    Operations operations;
    std::size_t next = 0;

    bool ready() const {
        return next == operations.size() || !is_wait(operations[next]) ||
               is_satisfied(operations[next]);
    }
    void run() {
        for (; next != operations.size(); ++next) {
            const MemoryOperation &operation = operations[next];
            if (is_wait(operation)) {
                device_view(operation.waitValue.address, width_of(operation), false);
                if (!is_satisfied(operation)) {
                    throw Again();
                }
            } else if (is_write(operation)) {
                write(operation);
            } // barriers and flushes: writes are visible immediately here
        }
    }
};

} // namespace

Work batch_memory_work(std::vector<CUstreamBatchMemOpParams> operations, unsigned int flags,
                       const char *what) {
    if (flags != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid global flags 0x%x", flags);
    }
    require(!operations.empty() && operations.size() <= most_operations);
    Work work;
#if CUDA_VERSION >= 11070
    work.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
#endif
    work.what = what;
    work.parameters = operations;
    for (const MemoryOperation &operation : operations) {
        if (is_wait(operation) || is_write(operation)) {
            work.uses.push_back(
                {is_wait(operation) ? operation.waitValue.address : operation.writeValue.address,
                 width_of(operation)});
        }
    }
    // Each launch of a graph starts the batch from the beginning.
    work.enqueued = [operations = std::move(operations)](const Ticket &operation) {
        const auto progress = std::make_shared<Progress>(Progress{operations});
        operation->work.ready = [progress] { return progress->ready(); };
        operation->work.run = [progress](Stream &) { progress->run(); };
    };
    return work;
}

namespace {

CUresult submit_batch(Abi abi, CUstream handle, const CUstreamBatchMemOpParams *operations,
                      unsigned int count, unsigned int flags, const char *what) {
    require(count <= most_operations);
    Stream &stream = stream_of(handle);
    if (abi == Abi::first) { // Recorded: unlike the second, it is not captured.
        refuse_capturing(stream);
        potentially_unsafe_call();
    }
    if (abi == Abi::first && (count == 0 || operations == nullptr)) {
        require_first_abi(stream.context->device, 4);
    }
    if (count == 0) {
        return CUDA_SUCCESS;
    }
    if (operations == nullptr) {
        refuse_fatal(std::string(what) + " of a null list");
    }
    for (unsigned int i = 0; i < count; ++i) {
        check_operation(abi, operations[i], *stream.context, i);
    }
    submit(stream, batch_memory_work({operations, operations + count}, flags, what));
    return CUDA_SUCCESS;
}

const char *name_of(CUstreamBatchMemOpType type) {
    switch (type) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return "cuStreamWaitValue32";
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return "cuStreamWaitValue64";
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return "cuStreamWriteValue32";
    default:
        return "cuStreamWriteValue64";
    }
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                      CUstreamBatchMemOpParams *paramArray, unsigned int flags) {
    return submit_batch(Abi::second, stream, paramArray, count, flags, "cuStreamBatchMemOp");
}

EXPORT CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                   CUstreamBatchMemOpParams *paramArray, unsigned int flags) {
    return submit_batch(Abi::first, stream, paramArray, count, flags, "cuStreamBatchMemOp");
}

} // namespace sim::driver

namespace sim {

// Waits and writes have the same members.
CUresult submit_value(Abi abi, CUstreamBatchMemOpType type, CUstream stream, CUdeviceptr address,
                      cuuint64_t value, unsigned int flags) {
    CUstreamBatchMemOpParams parameters{};
    parameters.waitValue.operation = type;
    parameters.waitValue.address = address;
    if (width_of(parameters) == 8) {
        parameters.waitValue.value64 = value;
    } else {
        parameters.waitValue.value = static_cast<cuuint32_t>(value);
    }
    parameters.waitValue.flags = flags;
    return submit_batch(abi, stream, &parameters, 1, 0, name_of(type));
}

} // namespace sim
