/* With the drop-in, an old driver's cuGetErrorName and cuGetErrorString name the statuses that
 * cushim returns. */
#include <cuda.h>

#include "../support/expect.h"

int main(void) {
    const char *text = NULL;
    EXPECT_INT(cuGetErrorName((CUresult)36, &text), CUDA_SUCCESS);
    EXPECT_TEXT(text, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER");
    EXPECT_INT(cuGetErrorString((CUresult)36, &text), CUDA_SUCCESS);
    EXPECT_TEXT(text, "the CUDA driver is older than this function needs");
    EXPECT_INT(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
    EXPECT_TEXT(text, "old driver: 1");
    EXPECT_INT(cuGetErrorName((CUresult)35, &text), CUDA_ERROR_INVALID_VALUE);
    return finish();
}
