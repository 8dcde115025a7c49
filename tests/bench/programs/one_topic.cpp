/* A program that uses one topic of the wrappers, which a macro selects. Without one it only loads
 * the driver. */
#ifdef STREAMS
#include <cushim/stream.hpp>
#elif defined(EVENTS)
#include <cushim/event.hpp>
#include <cushim/stream.hpp>
#elif defined(DEVICE_MEMORY)
#include <cushim/copy.hpp>
#include <cushim/device_buffer.hpp>
#elif defined(KERNELS)
#include <cushim/kernel.hpp>
#include <cushim/module.hpp>
#elif defined(GRAPHS)
#include <cushim/graph.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/stream.hpp>
#endif
#include <cushim/context.hpp>
#include <cushim/loader.h>

#if !defined(STREAMS) && !defined(EVENTS) && !defined(DEVICE_MEMORY) && !defined(KERNELS) &&       \
    !defined(GRAPHS)
int main() {
    return cushim_load(CUSHIM_LIBRARY_DRIVER) != CUSHIM_STATE_LOADED;
}
#else

using namespace cushim;

namespace {

Result<void> run() {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context context, Context::primary(device));
#ifdef STREAMS
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(const Stream other, Stream::create(context));
    return stream.synchronize();
#elif defined(EVENTS)
    CUSHIM_TRY(const Event event, Event::create(context));
    CUSHIM_TRY_VOID(event.record(Stream::legacy()));
    return event.synchronize();
#elif defined(DEVICE_MEMORY)
    int values[256] = {};
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 256));
    CUSHIM_TRY_VOID(copy(context, buffer.span(), std::span(values)));
    return copy(context, std::span(values), buffer.span());
#elif defined(KERNELS)
    CUSHIM_TRY(const Module module, Module::load(context, ""));
    CUSHIM_TRY(const auto kernel, module.kernel<void(int *, unsigned int)>("fill"));
    return kernel.launch(Stream::legacy(), LaunchConfig::covering(256), nullptr, 256U);
#elif defined(GRAPHS)
    CUSHIM_TRY(Graph graph, Graph::create(context));
    CUSHIM_TRY(const GraphNode first, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode second, graph.add_empty_node({first}));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    return exec.launch(Stream::legacy());
#endif
}

} // namespace

int main() {
    return !run().has_value();
}
#endif
