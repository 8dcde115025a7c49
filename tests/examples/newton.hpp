// One step of Newton's iteration for a square root, x = (x + value / x) / 2, as PTX text, so that
// no CUDA compiler is needed. It continues the loop as long as x changes by more than the bound.
//
// cudaGraphSetConditional is part of the CUDA device runtime, libcudadevrt.a, which must be linked
// to it.
#pragma once

struct Root {
    double x; // the first guess, then the approximations
    double value;
    double steps; // taken so far
};
using Newton = void(Root *root, double bound, unsigned long long condition);

inline constexpr char newton_ptx[] = R"(
.version 8.0
.target sm_70
.address_size 64

.extern .func cudaGraphSetConditional
(
    .param .b64 handle,
    .param .b32 value
);

.visible .entry newton(.param .u64 root, .param .f64 bound, .param .u64 condition)
{
    .reg .pred %more;
    .reg .b32 %go_on;
    .reg .b64 %p, %handle;
    .reg .f64 %x, %next, %value, %steps, %change, %bound;

    ld.param.u64 %p, [root];
    ld.param.f64 %bound, [bound];
    ld.param.u64 %handle, [condition];
    cvta.to.global.u64 %p, %p;
    ld.global.f64 %x, [%p];
    ld.global.f64 %value, [%p+8];
    ld.global.f64 %steps, [%p+16];

    div.rn.f64 %next, %value, %x;
    add.rn.f64 %next, %next, %x;
    mul.rn.f64 %next, %next, 0d3FE0000000000000;
    add.rn.f64 %steps, %steps, 0d3FF0000000000000;
    st.global.f64 [%p], %next;
    st.global.f64 [%p+16], %steps;

    sub.rn.f64 %change, %next, %x;
    abs.f64 %change, %change;
    setp.gt.f64 %more, %change, %bound;
    selp.u32 %go_on, 1, 0, %more;
    {
        .param .b64 first;
        .param .b32 second;
        st.param.b64 [first], %handle;
        st.param.b32 [second], %go_on;
        call.uni cudaGraphSetConditional, (first, second);
    }
    ret;
}
)";
