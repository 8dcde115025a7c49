// Failures of calls that rarely fail, and which of several errors a call reports. Per-thread
// variants of these calls behave the same.
#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {
namespace {

constexpr auto garbage_kind = static_cast<cudaMemcpyKind>(99);

void ask_where_nothing_works() {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    ASK(cudaThreadExchangeStreamCaptureMode, "", &mode);
    ASK(cudaDestroyTextureObject, "(0)", 0);
    ASK(cudaDestroySurfaceObject, "(0)", 0);
    ASK(cudaProfilerStop, "");
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
    ASK(cudaGetTextureObjectTextureDesc, " of 0", &sampling, 0);
    ASK(cudaGetTextureObjectResourceDesc, " of 0", &resource, 0);
    ASK(cudaGetTextureObjectResourceViewDesc, " of 0", &view, 0);
    ASK(cudaGetSurfaceObjectResourceDesc, " of 0", &resource, 0);
    CUDA_TEXTURE_DESC its_sampling{};
    CUDA_RESOURCE_DESC its_resource{};
    ASK(cuTexObjectGetTextureDesc, " of 0", &its_sampling, 0);
    ASK(cuTexObjectGetResourceDesc, " of 0", &its_resource, 0);
    ASK(cuSurfObjectGetResourceDesc, " of 0", &its_resource, 0);
}

} // namespace

SECTION("rarely_failing", begin) {
    in_child(ask_where_nothing_works);
    fail_context();
    ASK(cudaPeekAtLastError, "");
    ask_where_nothing_works();
}

SECTION("several_mistakes", begin) {
    char bytes[64] = "";
    void *p = MAKE(cudaMalloc, sizeof bytes);
    ASK(cudaMemcpyToSymbol, " of none, kind 99", bytes, bytes, 4, 0, garbage_kind);
    ASK(cudaMemcpyFromSymbolAsync, " of none, kind 99", bytes, bytes, 4, 0, garbage_kind, nullptr);
    ASK(cudaFuncSetAttribute, " of null, 99", nullptr, static_cast<cudaFuncAttribute>(99), 1);
    const cudaChannelFormatDesc one{8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t array = MAKE(cudaMallocArray, &one, 16, 4, 0);
    ASK(cudaMemcpy2DToArray, " of a pitch below the width, kind 99", array, 0, 0, bytes, 4, 8, 2,
        garbage_kind);
    ASK(cudaMemcpy2DToArray, " of null, kind 99", nullptr, 0, 0, bytes, 8, 8, 2, garbage_kind);
    ASK(cudaMemcpy2DFromArray, " of null, a pitch below the width", bytes, 4, nullptr, 0, 0, 8, 2,
        cudaMemcpyDeviceToHost);
    ASK(cudaMemcpy2DArrayToArray, " of nulls, kind 99", nullptr, 0, 0, nullptr, 0, 0, 8, 2,
        garbage_kind);
    r.cudaFreeArray(array);
    r.cudaFree(p);
    ask_about_no_objects();
}

} // namespace record::QUESTIONS::runtime
