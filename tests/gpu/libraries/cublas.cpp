// cuBLAS and cuBLASLt: products of matrices of small integers, which are exact.
#include "call.hpp"

#if defined(USE_TABLES)
#include <cushim/cublas_table.hpp>
#include <cushim/cublaslt_table.hpp>
#else
#include <cublasLt.h>
#include <cublas_v2.h>
#endif

namespace {

constexpr int side = 64;

std::vector<float> matrix(int seed) {
    std::vector<float> values(side * side);
    for (int i = 0; i < side * side; ++i) {
        values[static_cast<std::size_t>(i)] = static_cast<float>((i * seed) % 7 - 3);
    }
    return values;
}

} // namespace

int library_calls() {
    cublasHandle_t handle;
    REQUIRE_OK(CALL(cublas, cublasCreate)(&handle));
    int version = 0;
    REQUIRE_OK(CALL(cublas, cublasGetVersion)(handle, &version));
    std::printf("cuBLAS %d: %s\n", version,
                CALL(cublas, cublasGetStatusString)(CUBLAS_STATUS_NOT_INITIALIZED));
    const OnDevice<float> a(matrix(5)), b(matrix(11)), c(std::vector<float>(side * side, 1.0F));
    const float alpha = 2, beta = 3;
    REQUIRE_OK(CALL(cublas, cublasSgemm)(handle, CUBLAS_OP_N, CUBLAS_OP_T, side, side, side, &alpha,
                                         a.data(), side, b.data(), side, &beta, c.data(), side));
    print_values("cublasSgemm", c.values());
    float dot = 0;
    REQUIRE_OK(CALL(cublas, cublasSdot)(handle, side * side, a.data(), 1, b.data(), 1, &dot));
    std::printf("cublasSdot: %.9g\n", static_cast<double>(dot));
    REQUIRE_OK(CALL(cublas, cublasDestroy)(handle));

    cublasLtHandle_t light;
    REQUIRE_OK(CALL(cublaslt, cublasLtCreate)(&light));
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layout;
    REQUIRE_OK(
        CALL(cublaslt, cublasLtMatmulDescCreate)(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    REQUIRE_OK(CALL(cublaslt, cublasLtMatrixLayoutCreate)(&layout, CUDA_R_32F, side, side, side));
    REQUIRE_OK(CALL(cublaslt, cublasLtMatmul)(light, operation, &alpha, a.data(), layout, b.data(),
                                              layout, &beta, c.data(), layout, c.data(), layout,
                                              nullptr, nullptr, 0, nullptr));
    REQUIRE_OK(CALL(runtime, cudaDeviceSynchronize)());
    print_values("cublasLtMatmul", c.values());
    REQUIRE_OK(CALL(cublaslt, cublasLtMatrixLayoutDestroy)(layout));
    REQUIRE_OK(CALL(cublaslt, cublasLtMatmulDescDestroy)(operation));
    REQUIRE_OK(CALL(cublaslt, cublasLtDestroy)(light));
    return 0;
}
