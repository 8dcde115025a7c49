#include "device_code.hpp"

#include "simulator.hpp"

#include <cstdint>
#include <cstring>

namespace api_test {

const char device_code[] = R"(
.version 7.0
.target sm_50
.address_size 64

.visible .global .align 4 .u32 counter = 42;
.visible .global .align 1 .b8 odd[10];
.visible .const .align 4 .f32 weights[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};

.visible .entry fill(.param .u64 to, .param .u32 value, .param .u32 count)
{
    .reg .pred %outside;
    .reg .b32 %block, %width, %thread, %i, %n, %v;
    .reg .b64 %p, %offset;

    mov.u32 %block, %ctaid.x;
    mov.u32 %width, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %i, %block, %width, %thread;
    ld.param.u32 %n, [count];
    setp.ge.u32 %outside, %i, %n;
    @%outside bra done;
    ld.param.u64 %p, [to];
    ld.param.u32 %v, [value];
    cvta.to.global.u64 %p, %p;
    mul.wide.u32 %offset, %i, 4;
    add.s64 %p, %p, %offset;
    st.global.u32 [%p], %v;
done:
    ret;
}
)"
#include "../../examples/vector_add.inc"
                           R"(
.visible .entry line(.param .u64 values, .param .align 4 .b8 how[8], .param .u32 count)
{
    .reg .pred %outside;
    .reg .b32 %block, %width, %thread, %i, %n;
    .reg .f32 %x, %slope, %up;
    .reg .b64 %p, %offset;

    mov.u32 %block, %ctaid.x;
    mov.u32 %width, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %i, %block, %width, %thread;
    ld.param.u32 %n, [count];
    setp.ge.u32 %outside, %i, %n;
    @%outside bra done;
    ld.param.u64 %p, [values];
    ld.param.f32 %slope, [how];
    ld.param.f32 %up, [how+4];
    cvta.to.global.u64 %p, %p;
    mul.wide.u32 %offset, %i, 4;
    add.s64 %p, %p, %offset;
    ld.global.f32 %x, [%p];
    fma.rn.f32 %x, %x, %slope, %up;
    st.global.f32 [%p], %x;
done:
    ret;
}

.visible .entry idle()
{
    ret;
}
)";

const char managed_code[] = R"(
.version 7.0
.target sm_50
.address_size 64

.visible .global .attribute(.managed) .align 4 .u32 shared_value = 5;
)";

const char cluster_code[] = R"(
.version 7.8
.target sm_90
.address_size 64

.visible .entry idle()
{
    ret;
}
)";

const char broken_code[] = R"(
.version 7.0
.target sm_50
.address_size 64

.visible .entry broken()
{
    frobnicate.u32 %r1, 7;
    ret;
}
)";

namespace {

template <class T>
T parameter(const cushim_sim_launch *launch, unsigned int index) {
    T value;
    std::memcpy(&value, launch->parameters[index], sizeof value);
    return value;
}

// The host's view of the array that a parameter points to; null if it is not all device memory.
template <class T>
T *array(const cushim_sim_launch *launch, unsigned int index, unsigned int count) {
    const auto address = parameter<std::uint64_t>(launch, index);
    return static_cast<T *>(simulator()->view(address, count * sizeof(T)));
}

unsigned int threads(const cushim_sim_launch *launch, unsigned int count) {
    const unsigned int all = launch->grid[0] * launch->block[0];
    return all < count ? all : count;
}

int run_fill(const cushim_sim_launch *launch, void *) {
    const auto count = parameter<unsigned int>(launch, 2);
    int *const to = array<int>(launch, 0, count);
    if (to == nullptr && count != 0) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (unsigned int i = 0; i < threads(launch, count); ++i) {
        to[i] = parameter<int>(launch, 1);
    }
    return 0;
}

int run_add(const cushim_sim_launch *launch, void *) {
    const auto count = parameter<unsigned int>(launch, 3);
    const auto *const a = array<const float>(launch, 0, count);
    const auto *const b = array<const float>(launch, 1, count);
    auto *const sum = array<float>(launch, 2, count);
    if (a == nullptr || b == nullptr || sum == nullptr) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (unsigned int i = 0; i < threads(launch, count); ++i) {
        sum[i] = a[i] + b[i];
    }
    return 0;
}

int run_line(const cushim_sim_launch *launch, void *) {
    const auto count = parameter<unsigned int>(launch, 2);
    const auto how = parameter<Line>(launch, 1);
    auto *const values = array<float>(launch, 0, count);
    if (values == nullptr) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (unsigned int i = 0; i < threads(launch, count); ++i) {
        values[i] = how.slope * values[i] + how.offset;
    }
    return 0;
}

int run_idle(const cushim_sim_launch *, void *) {
    return 0;
}

} // namespace

void register_kernels() {
    if (simulator() != nullptr) {
        simulator()->register_kernel("fill", run_fill, nullptr);
        simulator()->register_kernel("add", run_add, nullptr);
        simulator()->register_kernel("line", run_line, nullptr);
        simulator()->register_kernel("idle", run_idle, nullptr);
    }
}

cushim::Result<cushim::Module> load_device_code(const cushim::Context &context) {
    register_kernels();
    return cushim::Module::load(context, device_code);
}

} // namespace api_test
