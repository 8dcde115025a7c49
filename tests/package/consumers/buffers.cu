// The wrappers' copies and fills of buffers, compiled by nvcc.
#include <cushim/cushim.hpp>

#include <cstdio>
#include <vector>

static cushim::Result<void> use() {
    CUSHIM_TRY(const cushim::Device device, cushim::Device::get(0));
    CUSHIM_TRY(const cushim::Context context, cushim::Context::primary(device));
    CUSHIM_TRY(auto buffer, cushim::DeviceBuffer<float>::allocate(context, 4));
    CUSHIM_TRY_VOID(cushim::fill(buffer, 0));
    return cushim::copy(buffer, std::vector<float>(4));
}

int main() {
    const cushim::Result<void> used = use();
    std::puts(used ? "used" : used.error().message());
}
