// A kernel as PTX text, so that no CUDA compiler is needed: sum[i] = a[i] + b[i], for i < count.
#pragma once

inline constexpr char vector_add_ptx[] = R"(
.version 6.0
.target sm_50
.address_size 64
)"
#include "vector_add.inc" // the kernel add
    ;
