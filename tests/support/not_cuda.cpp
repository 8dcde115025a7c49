// A library that loads, but has nothing of CUDA.
#include "fake_rows.h"

FAKE_EXPORT int not_cuda() {
    return 1;
}
