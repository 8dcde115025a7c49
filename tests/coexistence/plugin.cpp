#include "plugin.h"

#include <cushim/cushim.hpp>

#include <cstdio>
#include <span>
#include <vector>

using namespace cushim;

namespace {

std::vector<DeviceBuffer<int>> allocated;

int told(const Result<void> &result) {
    if (!result) {
        std::fprintf(stderr, "%s\n", result.error().message());
    }
    return result ? 0 : 1;
}

Result<Context> primary() {
    return Device::get(0).and_then(&Context::primary);
}

Result<void> read(DeviceSpan<const int> from, std::span<int> to) {
    CUSHIM_TRY(const Context context, primary());
    return copy(context, to, from);
}

Result<void> write(DeviceSpan<int> to, std::span<const int> from) {
    CUSHIM_TRY(const Context context, primary());
    return copy(context, to, from);
}

Result<void> allocate(std::size_t count) {
    CUSHIM_TRY(const Context context, primary());
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, count));
    allocated.push_back(std::move(buffer));
    return {};
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
    return told(read({address, count}, {values, count}));
}

int plugin_write(unsigned long long address, const int *values, size_t count) {
    return told(write({address, count}, {values, count}));
}

int plugin_fill_in(void *stream, unsigned long long address, int value, size_t count) {
    return told(fill(Stream::borrow(static_cast<CUstream>(stream)), DeviceSpan<int>(address, count),
                     value));
}

unsigned long long plugin_allocate(size_t count) {
    return told(allocate(count)) == 0 ? allocated.back().native() : 0;
}

void plugin_release() {
    allocated.clear();
}

void *plugin_row() {
    return static_cast<void *>(entry::cuInit::slot());
}

void *plugin_malloc() {
    const auto function = runtime().pfn<entry::cudaMalloc>();
    return function ? reinterpret_cast<void *>(*function) : nullptr;
}
