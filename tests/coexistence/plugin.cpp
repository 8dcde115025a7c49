#include "plugin.h"

#include <cushim/cushim.hpp>
#include <cushim/entry.hpp>

#include <cstdio>
#include <span>
#include <vector>

using namespace cushim;

namespace {

std::vector<DeviceBuffer<int>> allocated;

Result<Context> primary() {
    return Device::get(0).and_then(&Context::primary);
}

// Calls a function in the primary context.
template <class Function>
int in_primary(Function function) {
    const Result<void> result = primary().and_then(function);
    if (!result) {
        std::fprintf(stderr, "%s\n", result.error().message());
    }
    return result ? 0 : 1;
}

} // namespace

#define PLUGIN_DECLARE(type, name, parameters)                                                     \
    extern "C" __attribute__((visibility("default"))) type name parameters;
PLUGIN_FUNCTIONS(PLUGIN_DECLARE)

void *plugin_primary() {
    const auto context = primary();
    return context ? context->native() : nullptr;
}

void *plugin_current() {
    CUcontext context = nullptr;
    return driver().cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : nullptr;
}

int plugin_read(unsigned long long address, int *values, size_t count) {
    return in_primary([&](const Context &context) {
        return copy(context, std::span(values, count), DeviceSpan<const int>(address, count));
    });
}

int plugin_write(unsigned long long address, const int *values, size_t count) {
    return in_primary([&](const Context &context) {
        return copy(context, DeviceSpan<int>(address, count), std::span(values, count));
    });
}

int plugin_fill_in(void *stream, unsigned long long address, int value, size_t count) {
    return in_primary([&](const Context &) {
        return fill(Stream::borrow(static_cast<CUstream>(stream)), DeviceSpan<int>(address, count),
                    value);
    });
}

unsigned long long plugin_allocate(size_t count) {
    const int failed = in_primary([&](const Context &context) {
        return DeviceBuffer<int>::allocate(context, count)
            .transform([](DeviceBuffer<int> &&buffer) { allocated.push_back(std::move(buffer)); });
    });
    return failed == 0 ? allocated.back().native() : 0;
}

void plugin_release() {
    allocated.clear();
}

void *plugin_end_capture(void *stream) {
    void *handle = nullptr;
    in_primary([&](const Context &) {
        return Stream::borrow(static_cast<CUstream>(stream))
            .end_capture()
            .transform([&](const Graph &graph) { handle = graph.native(); });
    });
    return handle;
}

int plugin_end_capture_to(void *stream, void *graph) {
    return in_primary([&](const Context &context) {
        return Graph::borrow(context, static_cast<CUgraph>(graph)).and_then([&](Graph &&lent) {
            return Stream::borrow(static_cast<CUstream>(stream)).end_capture_to(lent);
        });
    });
}

void *plugin_row() {
    return static_cast<void *>(cushim::detail::slot_of<entry::cuInit>());
}

void *plugin_malloc() {
    const auto function = runtime().pfn<entry::cudaMalloc>();
    return function ? reinterpret_cast<void *>(*function) : nullptr;
}
