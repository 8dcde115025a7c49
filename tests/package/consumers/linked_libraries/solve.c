/* A program that calls cuSOLVER and cuBLAS, and links cuSOLVER alone, which brings the other. */
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <stdio.h>

int main(void) {
    cusolverDnHandle_t solver = 0;
    cublasHandle_t blas = 0;
    const int solver_status = (int)cusolverDnCreate(&solver);
    const int blas_status = (int)cublasCreate(&blas);
    printf("cusolverDnCreate %d, cublasCreate %d\n", solver_status, blas_status);
    return 0;
}
