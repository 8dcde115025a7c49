// Failures of calls that rarely fail, and which of several errors a call reports. Per-thread
// variants of these calls behave the same.
#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {
namespace {

constexpr auto garbage_kind = static_cast<cudaMemcpyKind>(99);

void ask_where_nothing_works() {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    ask("cudaThreadExchangeStreamCaptureMode", r.cudaThreadExchangeStreamCaptureMode(&mode));
    ask("cudaDestroyTextureObject(0)", r.cudaDestroyTextureObject(0));
    ask("cudaDestroySurfaceObject(0)", r.cudaDestroySurfaceObject(0));
    ask("cudaProfilerStop", r.cudaProfilerStop());
}

// Recorded: the driver accepts a copy into an array without memory, which then fails the context.
void fail_context() {
    const cudaChannelFormatDesc bytes{8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t empty = nullptr;
    const char source[16] = "";
    r.cudaMalloc3DArray(&empty, &bytes, {64, 64, 0}, cudaArrayDeferredMapping);
    d.cuMemcpyHtoA(reinterpret_cast<CUarray>(empty), 0, source, sizeof source);
    r.cudaDeviceSynchronize();
}

void ask_about_no_objects() {
    cudaTextureDesc sampling{};
    cudaResourceDesc resource{};
    cudaResourceViewDesc view{};
    ask("cudaGetTextureObjectTextureDesc of 0", r.cudaGetTextureObjectTextureDesc(&sampling, 0));
    ask("cudaGetTextureObjectResourceDesc of 0", r.cudaGetTextureObjectResourceDesc(&resource, 0));
    ask("cudaGetTextureObjectResourceViewDesc of 0",
        r.cudaGetTextureObjectResourceViewDesc(&view, 0));
    ask("cudaGetSurfaceObjectResourceDesc of 0", r.cudaGetSurfaceObjectResourceDesc(&resource, 0));
    CUDA_TEXTURE_DESC its_sampling{};
    CUDA_RESOURCE_DESC its_resource{};
    ask("cuTexObjectGetTextureDesc of 0", d.cuTexObjectGetTextureDesc(&its_sampling, 0));
    ask("cuTexObjectGetResourceDesc of 0", d.cuTexObjectGetResourceDesc(&its_resource, 0));
    ask("cuSurfObjectGetResourceDesc of 0", d.cuSurfObjectGetResourceDesc(&its_resource, 0));
}

} // namespace

void rarely_failing() {
    if (!begin()) {
        return;
    }
    in_child(ask_where_nothing_works);
    fail_context();
    ask("cudaPeekAtLastError", r.cudaPeekAtLastError());
    ask_where_nothing_works();
}

void several_mistakes() {
    if (!begin()) {
        return;
    }
    char bytes[64] = "";
    void *p = nullptr;
    r.cudaMalloc(&p, sizeof bytes);
    ask("cudaMemcpyToSymbol of none, kind 99",
        r.cudaMemcpyToSymbol(bytes, bytes, 4, 0, garbage_kind));
    ask("cudaMemcpyFromSymbolAsync of none, kind 99",
        r.cudaMemcpyFromSymbolAsync(bytes, bytes, 4, 0, garbage_kind, nullptr));
    ask("cudaFuncSetAttribute of null, 99",
        r.cudaFuncSetAttribute(nullptr, static_cast<cudaFuncAttribute>(99), 1));
    cudaArray_t array = nullptr;
    const cudaChannelFormatDesc one{8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    r.cudaMallocArray(&array, &one, 16, 4, 0);
    ask("cudaMemcpy2DToArray of a pitch below the width, kind 99",
        r.cudaMemcpy2DToArray(array, 0, 0, bytes, 4, 8, 2, garbage_kind));
    ask("cudaMemcpy2DToArray of null, kind 99",
        r.cudaMemcpy2DToArray(nullptr, 0, 0, bytes, 8, 8, 2, garbage_kind));
    ask("cudaMemcpy2DFromArray of null, a pitch below the width",
        r.cudaMemcpy2DFromArray(bytes, 4, nullptr, 0, 0, 8, 2, cudaMemcpyDeviceToHost));
    ask("cudaMemcpy2DArrayToArray of nulls, kind 99",
        r.cudaMemcpy2DArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 8, 2, garbage_kind));
    r.cudaFreeArray(array);
    r.cudaFree(p);
    ask_about_no_objects();
}

} // namespace record::QUESTIONS::runtime
