// A program that launches a graph with one fill: size.py measures it.
#include <cushim/device_buffer.hpp>
#include <cushim/graph.hpp>
#include <cushim/stream.hpp>

using namespace cushim;

static Result<void> fill_once() {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context context, Context::primary(device));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 256));
    CUSHIM_TRY(auto graph, Graph::create(context));
    CUSHIM_TRY_VOID(graph.add_memset_node({}, buffer, 1));
    CUSHIM_TRY(const auto exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    return stream.synchronize();
}

int main() {
    return fill_once() ? 0 : 1;
}
