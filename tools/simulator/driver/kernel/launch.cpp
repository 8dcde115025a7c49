// Kernel launches: arguments are copied at the call; the registered host function runs in stream
// order.
#include "kernel/launch.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/event_work.hpp"
#include "engine/host_function.hpp"
#include "engine/stream.hpp"
#include "kernel/host_kernels.hpp"
#include "kernel/texture.hpp"
#include "memory/kernel_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <utility>

namespace sim {
namespace {

using Arguments = KernelArguments;

Arguments copy_each(const ImageKernel &code, void **parameters) {
    Arguments arguments;
    arguments.reserve(code.parameters.size());
    for (std::size_t i = 0; i < code.parameters.size(); ++i) {
        if (parameters[i] == nullptr) {
            refuse(CUDA_ERROR_INVALID_VALUE, "kernelParams[%zu] for kernel %s is NULL", i,
                   code.name.c_str());
        }
        const auto *bytes = static_cast<const std::byte *>(parameters[i]);
        arguments.emplace_back(bytes, bytes + code.parameters[i].size);
    }
    return arguments;
}

// A buffer of exactly the size of all parameters. Recorded: a larger one returns 701.
Arguments copy_packed(const ImageKernel &code, void **extra) {
    const std::byte *buffer = nullptr;
    const std::size_t *size = nullptr;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        require(*extra == CU_LAUNCH_PARAM_BUFFER_POINTER || *extra == CU_LAUNCH_PARAM_BUFFER_SIZE);
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            buffer = static_cast<const std::byte *>(extra[1]);
        } else {
            size = static_cast<const std::size_t *>(extra[1]);
        }
    }
    const std::size_t bytes = code.parameter_bytes();
    require(size != nullptr && *size >= bytes);
    require(*size == bytes, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    require(buffer != nullptr || bytes == 0);
    Arguments arguments;
    arguments.reserve(code.parameters.size());
    for (const KernelParameter &parameter : code.parameters) {
        const std::byte *begin = buffer + parameter.offset;
        arguments.emplace_back(begin, begin + parameter.size);
    }
    return arguments;
}

// An enqueued launch; its module may be unloaded before it runs.
struct Queued {
    Queued(KernelLaunch &&given, const ImageKernel &its_code)
        : launch(std::move(given)), image(image_of(*launch.function)), code(its_code) {}

    const KernelLaunch launch;
    const std::shared_ptr<const Image> image;
    const ImageKernel &code;
};

bool is_alive(const Object *callable) {
    return Registry::get().find(callable) == callable;
}

// The module with the variables that the kernel uses in that context.
CUmodule launched_module(Object &callable, CUctx_st &context) {
    return callable.kind == Kind::function ? static_cast<Function &>(callable).module
                                           : function_in(callable, context).module;
}

void run_kernel(const Queued &queued, CUstream_st &stream) {
    const KernelLaunch &launch = queued.launch;
    const std::string &name = queued.code.name;
    if (!is_alive(launch.function)) {
        misuse("kernel " + name + " runs after its module was unloaded");
        throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS};
    }
    const std::vector<CUdeviceptr> reported =
        check_pointers(launch.arguments, name, *stream.context);
    check_textures(launch.arguments, name);
    const HostKernel kernel = host_kernel(queued.code, queued.image);
    if (kernel.function == nullptr) {
        return;
    }
    // The only memory needed for kernels with up to 32 parameters.
    alignas(std::max_align_t) std::byte storage[512];
    std::pmr::monotonic_buffer_resource buffer(storage, sizeof storage);
    const std::pmr::polymorphic_allocator<> memory(&buffer);
    std::pmr::vector<const void *> pointers(launch.arguments.size(), memory);
    std::pmr::vector<std::size_t> sizes(launch.arguments.size(), memory);
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
        pointers[i] = launch.arguments[i].data();
        sizes[i] = launch.arguments[i].size();
    }
    cushim_sim_launch seen{};
    seen.kernel = name.c_str();
    std::copy_n(launch.grid, 3, seen.grid);
    std::copy_n(launch.block, 3, seen.block);
    seen.shared_bytes = launch.shared_bytes;
    seen.stream = &stream;
    seen.parameters = pointers.data();
    seen.parameter_sizes = sizes.data();
    seen.parameter_count = static_cast<unsigned int>(sizes.size());
    seen.module = launched_module(*launch.function, *stream.context);
    int status = 0;
    {
        const KernelScope in_kernel(*stream.context, seen.kernel, reported);
        const HostFunctionScope scope; // kernels do not call the API
        status = kernel.function(&seen, kernel.user);
    }
    if (status != 0) {
        throw Fault{static_cast<CUresult>(status), true};
    }
}

// For unload_module().
void note_launch(Object *callable, const Ticket &operation) {
    if (!is_alive(callable)) {
        return; // a graph that outlived its kernels: reported when it runs
    }
    Function &function = function_in(*callable, *operation->stream->context);
    function.loaded = true;
    auto &launches = function.launches;
    const auto is_over = [](const std::weak_ptr<Operation> &launch) {
        const Ticket ticket = launch.lock();
        return !ticket || ticket->done;
    };
    while (!launches.empty() && is_over(launches.front())) {
        launches.pop_front();
    }
    launches.push_back(operation);
}

// Without the parameters that a graph node returns, which need another copy of all arguments.
Work make_work(const LaunchTarget &target, KernelLaunch &&launch, const char *what) {
    check_launch(target, launch);
    Work work;
    work.type = CU_GRAPH_NODE_TYPE_KERNEL;
    work.what = what;
    work.uses = uses_of(launch.arguments);
    work.enqueued = [callable = launch.function](const Ticket &operation) {
        note_launch(callable, operation);
    };
    auto queued = std::make_shared<const Queued>(std::move(launch), target.code);
    work.run = [queued = std::move(queued)](CUstream_st &stream) { run_kernel(*queued, stream); };
    return work;
}

// With the parameters that a graph node returns.
Work make_node_work(const LaunchTarget &target, const KernelLaunch &launch, const char *what) {
    Work work = make_work(target, KernelLaunch(launch), what);
    work.parameters = launch;
    return work;
}

void record_event(CUstream_st &stream, const KernelLaunch &launch, int id, const char *what) {
    if (const CUlaunchAttribute *attribute = find_attribute(launch, id)) {
        Event &event = checked(attribute->value.programmaticEvent.event);
        if (!capture_event_record(stream, event)) {
            submit(stream, event_record_work(&event, what));
        }
    }
}

// A captured launch without a priority attribute gets the priority of its stream.
void add_priority(KernelLaunch &launch, int priority) {
    if (priority != 0 && find_attribute(launch, launch_priority) == nullptr) {
        CUlaunchAttribute attribute{};
        attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        attribute.value.priority = priority;
        launch.attributes.push_back(attribute);
    }
}

CUlaunchAttribute cooperative_attribute() {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    return attribute;
}

} // namespace

KernelLaunch kernel_launch(void *function, const unsigned int (&grid)[3],
                           const unsigned int (&block)[3], unsigned int shared_bytes,
                           void **parameters, void **extra) {
    KernelLaunch launch;
    launch.function = &callable(function);
    std::copy_n(grid, 3, launch.grid);
    std::copy_n(block, 3, launch.block);
    launch.shared_bytes = shared_bytes;
    require(parameters == nullptr || extra == nullptr,
            "Specified kernel arguments in both kernelParams and extra");
    const ImageKernel &code = code_of(*launch.function);
    if (extra != nullptr) {
        launch.arguments = copy_packed(code, extra);
    } else if (!code.parameters.empty()) {
        if (parameters == nullptr) {
            refuse(CUDA_ERROR_INVALID_VALUE,
                   "CUDA kernel %s has %zu parameters but none provided at launch",
                   code.name.c_str(), code.parameters.size());
        }
        launch.arguments = copy_each(code, parameters);
    }
    return launch;
}

Work kernel_work(KernelLaunch launch, const char *what) {
    if (launch.function->kind == Kind::function) {
        const auto &function = static_cast<const Function &>(*launch.function);
        return make_node_work({function.code, settings_of(function), function.context->device,
                               function.context->cache_config},
                              launch, what);
    }
    // The context is known when the node runs; until then, the current device applies.
    auto &kernel = static_cast<Kernel &>(*launch.function);
    const CUdevice device = current_device();
    return make_node_work({kernel.code, settings_of(kernel, device), device}, launch, what);
}

Work launch_work(CUstream_st &stream, KernelLaunch launch, const char *what) {
    check_usable(*stream.context);
    const Function &function = function_in(*launch.function, *stream.context);
    const LaunchTarget target{function.code, settings_of(function), stream.context->device,
                              stream.context->cache_config};
    if (!stream.capture) {
        return make_work(target, std::move(launch), what);
    }
    add_priority(launch, stream.priority);
    return make_node_work(target, launch, what);
}

void launch_into(CUstream_st &stream, KernelLaunch launch, const char *what) {
    const bool has_attributes = !launch.attributes.empty();
    if (!has_attributes) {
        submit(stream, launch_work(stream, std::move(launch), what));
        return;
    }
    Work work = launch_work(stream, launch, what);
    const CUlaunchAttribute *updatable = find_attribute(launch, launch_device_updatable);
    require(updatable == nullptr || updatable->value.cooperative == 0 || stream.capture);
    const InUse in_use(stream);
    submit(stream, std::move(work));
    record_event(stream, launch, launch_programmatic_event, what);
    record_event(stream, launch, launch_completion_event, what);
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                               unsigned int gridDimZ, unsigned int blockDimX,
                               unsigned int blockDimY, unsigned int blockDimZ,
                               unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
                               void **extra) {
    Stream &stream = stream_of(hStream);
    launch_into(stream,
                kernel_launch(f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ},
                              sharedMemBytes, kernelParams, extra),
                "cuLaunchKernel");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                                 void **extra) {
    require(config != nullptr, "launchConfig is NULL");
    require(config->numAttrs == 0 || config->attrs != nullptr);
    Stream &stream = stream_of(config->hStream);
    KernelLaunch launch = kernel_launch(f, {config->gridDimX, config->gridDimY, config->gridDimZ},
                                        {config->blockDimX, config->blockDimY, config->blockDimZ},
                                        config->sharedMemBytes, kernelParams, extra);
    if (config->numAttrs != 0) {
        launch.attributes.assign(config->attrs, config->attrs + config->numAttrs);
    }
    launch_into(stream, std::move(launch), "cuLaunchKernelEx");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                          unsigned int gridDimY, unsigned int gridDimZ,
                                          unsigned int blockDimX, unsigned int blockDimY,
                                          unsigned int blockDimZ, unsigned int sharedMemBytes,
                                          CUstream hStream, void **kernelParams) {
    Stream &stream = stream_of(hStream);
    KernelLaunch launch =
        kernel_launch(f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ},
                      sharedMemBytes, kernelParams, nullptr);
    launch.attributes.push_back(cooperative_attribute());
    launch_into(stream, std::move(launch), "cuLaunchCooperativeKernel");
    return CUDA_SUCCESS;
}

} // namespace sim::driver
