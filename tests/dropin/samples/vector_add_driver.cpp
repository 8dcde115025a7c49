// Vector addition, driver API: the kernel is PTX text, launched with an array of arguments and with
// an argument buffer.
#include "check_driver.h"

#include <vector>

namespace {

const char ptx[] = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .const .align 4 .f32 factor;

// out[i] = factor * (a[i] + b[i])
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 count)
{
    .reg .pred %past_the_end;
    .reg .f32 %x, %y, %f;
    .reg .b32 %block, %width, %thread, %i, %n;
    .reg .b64 %pa, %pb, %po, %offset;

    mov.u32 %block, %ctaid.x;
    mov.u32 %width, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %i, %block, %width, %thread;
    ld.param.u32 %n, [count];
    setp.ge.u32 %past_the_end, %i, %n;
    @%past_the_end bra done;

    ld.param.u64 %pa, [a];
    ld.param.u64 %pb, [b];
    ld.param.u64 %po, [out];
    cvta.to.global.u64 %pa, %pa;
    cvta.to.global.u64 %pb, %pb;
    cvta.to.global.u64 %po, %po;
    mul.wide.u32 %offset, %i, 4;
    add.s64 %pa, %pa, %offset;
    add.s64 %pb, %pb, %offset;
    add.s64 %po, %po, %offset;
    ld.global.f32 %x, [%pa];
    ld.global.f32 %y, [%pb];
    ld.const.f32 %f, [factor];
    add.f32 %x, %x, %y;
    mul.f32 %x, %x, %f;
    st.global.f32 [%po], %x;
done:
    ret;
}
)";

constexpr unsigned count = 50000;
constexpr size_t bytes = count * sizeof(float);

CUmodule load() {
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    CUmodule module = nullptr;
    const CUresult status = cuModuleLoadDataEx(&module, ptx, 2, options, values);
    if (status != CUDA_SUCCESS) {
        fputs(log, stderr);
    }
    CHECK(status);
    return module;
}

void set_factor(CUmodule module, float factor) {
    CUdeviceptr address = 0;
    size_t size = 0;
    CHECK(cuModuleGetGlobal(&address, &size, module, "factor"));
    if (size != sizeof factor) {
        printf("factor has %u bytes\n", static_cast<unsigned>(size));
        exit(EXIT_WRONG_RESULT);
    }
    CHECK(cuMemcpyHtoD(address, &factor, size));
}

struct Vectors {
    CUdeviceptr a, b, out;
};

unsigned blocks(unsigned threads) {
    return (count + threads - 1) / threads;
}

void launch_with_array(CUfunction add, Vectors &on_device) {
    unsigned n = count;
    void *parameters[] = {&on_device.a, &on_device.b, &on_device.out, &n};
    CHECK(cuLaunchKernel(add, blocks(256), 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));
}

void launch_with_buffer(CUfunction add, const Vectors &on_device) {
    struct {
        Vectors vectors;
        unsigned n;
    } buffer{on_device, count};
    size_t size = sizeof on_device + sizeof buffer.n;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(add, blocks(128), 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
}

unsigned wrong_sums(const std::vector<float> &a, const std::vector<float> &b, float factor,
                    CUdeviceptr out) {
    std::vector<float> sums(count);
    CHECK(cuMemcpyDtoH(sums.data(), out, bytes));
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; ++i) {
        wrong += sums[i] == factor * (a[i] + b[i]) ? 0 : 1;
    }
    printf("factor %g: first %g, last %g, wrong %u\n", static_cast<double>(factor),
           static_cast<double>(sums.front()), static_cast<double>(sums.back()), wrong);
    return wrong;
}

CUcontext make_context() {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CHECK(cuDeviceGet(&device, 0));
#if CUDA_VERSION >= 13000
    CHECK(cuCtxCreate(&context, nullptr, 0, device));
#else
    CHECK(cuCtxCreate(&context, 0, device));
#endif
    return context;
}

} // namespace

int main() {
    need_device();
    const CUcontext context = make_context();
    const CUmodule module = load();
    CUfunction add = nullptr;
    CHECK(cuModuleGetFunction(&add, module, "add"));

    std::vector<float> a(count), b(count);
    for (unsigned i = 0; i < count; ++i) {
        a[i] = static_cast<float>(i);
        b[i] = static_cast<float>(3 * i + 1);
    }
    Vectors on_device{};
    CHECK(cuMemAlloc(&on_device.a, bytes));
    CHECK(cuMemAlloc(&on_device.b, bytes));
    CHECK(cuMemAlloc(&on_device.out, bytes));
    CHECK(cuMemcpyHtoD(on_device.a, a.data(), bytes));
    CHECK(cuMemcpyHtoD(on_device.b, b.data(), bytes));

    set_factor(module, 1);
    launch_with_array(add, on_device);
    unsigned wrong = wrong_sums(a, b, 1, on_device.out);
    CHECK(cuMemsetD32(on_device.out, 0, count));
    set_factor(module, 0.5F);
    launch_with_buffer(add, on_device);
    wrong += wrong_sums(a, b, 0.5F, on_device.out);

    CHECK(cuMemFree(on_device.a));
    CHECK(cuMemFree(on_device.b));
    CHECK(cuMemFree(on_device.out));
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxDestroy(context));
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
