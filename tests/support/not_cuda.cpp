// A library that loads but has no CUDA function.
#include "fake_rows.h"

FAKE_EXPORT int not_cuda() {
    return 1;
}
