// A kernel as PTX text, so that no CUDA compiler is needed: sum[i] = a[i] + b[i], for i < count.
#pragma once

inline constexpr char vector_add_ptx[] = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 sum, .param .u32 count)
{
    .reg .pred %out_of_range;
    .reg .f32 %x, %y, %z;
    .reg .b32 %block, %width, %thread, %i, %n;
    .reg .b64 %pa, %pb, %ps, %offset;

    mov.u32 %block, %ctaid.x;
    mov.u32 %width, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %i, %block, %width, %thread;
    ld.param.u32 %n, [count];
    setp.ge.u32 %out_of_range, %i, %n;
    @%out_of_range bra done;

    ld.param.u64 %pa, [a];
    ld.param.u64 %pb, [b];
    ld.param.u64 %ps, [sum];
    cvta.to.global.u64 %pa, %pa;
    cvta.to.global.u64 %pb, %pb;
    cvta.to.global.u64 %ps, %ps;
    mul.wide.u32 %offset, %i, 4;
    add.s64 %pa, %pa, %offset;
    add.s64 %pb, %pb, %offset;
    add.s64 %ps, %ps, %offset;
    ld.global.f32 %x, [%pa];
    ld.global.f32 %y, [%pb];
    add.f32 %z, %x, %y;
    st.global.f32 [%ps], %z;
done:
    ret;
}
)";
