// cuFFT, cuRAND, cuSOLVER and cuSPARSE: one computation each.
#include "call.hpp"

#if defined(USE_TABLES)
#include <cushim/cufft_table.hpp>
#include <cushim/curand_table.hpp>
#include <cushim/cusolver_table.hpp>
#include <cushim/cusparse_table.hpp>
#else
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#endif

namespace {

void transform() {
    constexpr int count = 256;
    std::vector<float> wave(2 * count);
    for (int i = 0; i < count; ++i) {
        wave[2 * static_cast<std::size_t>(i)] = static_cast<float>(i % 16);
    }
    const OnDevice<float> memory(wave);
    auto *data = reinterpret_cast<cufftComplex *>(memory.data());
    cufftHandle plan;
    REQUIRE_OK(CALL(cufft, cufftPlan1d)(&plan, count, CUFFT_C2C, 1));
    REQUIRE_OK(CALL(cufft, cufftExecC2C)(plan, data, data, CUFFT_FORWARD));
    print_values("cufftExecC2C", memory.values());
    REQUIRE_OK(CALL(cufft, cufftDestroy)(plan));
}

void random_numbers() {
    curandGenerator_t generator;
    REQUIRE_OK(CALL(curand, curandCreateGenerator)(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    REQUIRE_OK(CALL(curand, curandSetPseudoRandomGeneratorSeed)(generator, 1234));
    const OnDevice<float> memory(10'000);
    REQUIRE_OK(CALL(curand, curandGenerateUniform)(generator, memory.data(), 10'000));
    print_values("curandGenerateUniform", memory.values());
    REQUIRE_OK(CALL(curand, curandDestroyGenerator)(generator));
}

void solve() {
    cusolverDnHandle_t handle;
    REQUIRE_OK(CALL(cusolver, cusolverDnCreate)(&handle));
    const OnDevice<double> a(std::vector<double>{4, 2, 1, 1, 5, 2, 2, 1, 6}), b({9, 17, 23});
    int size = 0;
    REQUIRE_OK(CALL(cusolver, cusolverDnDgetrf_bufferSize)(handle, 3, 3, a.data(), 3, &size));
    const OnDevice<double> work(static_cast<std::size_t>(size));
    const OnDevice<int> pivots(3), info(1);
    REQUIRE_OK(CALL(cusolver, cusolverDnDgetrf)(handle, 3, 3, a.data(), 3, work.data(),
                                                pivots.data(), info.data()));
    REQUIRE_OK(CALL(cusolver, cusolverDnDgetrs)(handle, CUBLAS_OP_N, 3, 1, a.data(), 3,
                                                pivots.data(), b.data(), 3, info.data()));
    print_values("cusolverDnDgetrs", b.values());
    REQUIRE_OK(CALL(cusolver, cusolverDnDestroy)(handle));
}

void multiply_sparse() {
    cusparseHandle_t handle;
    REQUIRE_OK(CALL(cusparse, cusparseCreate)(&handle));
    const OnDevice<int> rows({0, 2, 3, 5}), columns({0, 2, 1, 0, 2});
    const OnDevice<float> values({1, 2, 3, 4, 5}), x({1, 10, 100}), y({7, 7, 7});
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t from, to;
    REQUIRE_OK(CALL(cusparse, cusparseCreateCsr)(
        &matrix, 3, 3, 5, rows.data(), columns.data(), values.data(), CUSPARSE_INDEX_32I,
        CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    REQUIRE_OK(CALL(cusparse, cusparseCreateDnVec)(&from, 3, x.data(), CUDA_R_32F));
    REQUIRE_OK(CALL(cusparse, cusparseCreateDnVec)(&to, 3, y.data(), CUDA_R_32F));
    const float alpha = 1, beta = 2;
    std::size_t size = 0;
    REQUIRE_OK(CALL(cusparse, cusparseSpMV_bufferSize)(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                                       &alpha, matrix, from, &beta, to, CUDA_R_32F,
                                                       CUSPARSE_SPMV_ALG_DEFAULT, &size));
    const OnDevice<char> buffer(size + 1);
    REQUIRE_OK(CALL(cusparse, cusparseSpMV)(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha,
                                            matrix, from, &beta, to, CUDA_R_32F,
                                            CUSPARSE_SPMV_ALG_DEFAULT, buffer.data()));
    print_values("cusparseSpMV", y.values());
    REQUIRE_OK(CALL(cusparse, cusparseDestroyDnVec)(from));
    REQUIRE_OK(CALL(cusparse, cusparseDestroyDnVec)(to));
    REQUIRE_OK(CALL(cusparse, cusparseDestroySpMat)(matrix));
    REQUIRE_OK(CALL(cusparse, cusparseDestroy)(handle));
}

} // namespace

int library_calls() {
    transform();
    random_numbers();
    solve();
    multiply_sparse();
    return 0;
}
