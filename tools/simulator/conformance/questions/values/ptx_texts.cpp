// PTX with one statement that may be wrong.
#include "../../record.hpp"

#include <string>

namespace record::QUESTIONS {

namespace {

// A kernel with some registers of each type, and this statement.
std::string kernel_with(const std::string &statement) {
    return R"(.version 8.0
.target sm_80
.address_size 64
.extern .func ext(.param .b32 a);
.global .u32 gv[4];
.visible .entry k(.param .u64 p, .param .u32 n) {
    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .b16 %h<5>;
    .reg .f64 %d<4>;
    .shared .u32 sh[8];
)" + statement +
           "\n    ret;\n}\n";
}

constexpr const char *statements[] = {
    "mov.u32 %r1, 4*2+1;",
    "mov.u32 %r1, -(1+2);",
    "mov.f32 %f1, 0d3FF0000000000000;",
    "mov.f64 %d1, 0f3F800000;",
    "mov.f32 %f1, 1.5;",
    "mov.b32 %r1, 0f3F800000;",
    "mov.b32 %r1, 1.5;",
    "add.f32 %f1,%f2,0f3F800000;",
    "add.s32 %r1,%r2,-%r3;",
    "mov.b32 %f1, %r1;",
    "mov.f32 %f1, %r1;",
    "mov.u32 %r1, %f1;",
    "mov.b64 %rd1,{%r1,%r2};",
    "mov.b32 {%h1,%h2}, %r1;",
    "mov.b32 {%h1,_}, %r1;",
    "mov.b64 {%r1,%r2}, %d1;",
    "setp.lt.and.u32 %p1|%p2, %r1, %r2, %p2;",
    "setp.lt.and.u32 %p1|%p2, %r1, %r2, !%p2;",
    "shl.b32 %r1,%r2,%rd1;",
    "shl.b32 %r1,%r2,%h1;",
    "ld.global.u8 %r1,[%rd1];",
    "ld.global.u8 %rd3,[%rd1];",
    "ld.global.u8 %f1,[%rd1];",
    "ld.global.f32 %r1,[%rd1];",
    "ld.global.u32 %f1,[%rd1];",
    "ld.global.b32 %f1,[%rd1];",
    "ld.global.f32 %d1,[%rd1];",
    "st.global.u8 [%rd1],%r1;",
    "st.global.u32 [%rd1],%rd2;",
    "st.global.u32 [%rd1], 5;",
    "st.global.f32 [%rd1], 1;",
    "cvt.u32.u8 %r1,%r2;",
    "cvt.u32.u16 %r1,%r2;",
    "cvt.u16.u32 %r1,%r2;",
    "cvt.u8.u32 %r1,%r2;",
    "cvt.rn.f32.s32 %r1,%r2;",
    "cvt.rzi.s32.f32 %r1,%r2;",
    "and.b32 %r1,%f1,%r2;",
    "and.b32 %f1,%f1,%f2;",
    "neg.f32 %f1, 1.0;",
    "selp.f32 %f1,%f2,0f00000000,%p1;",
    "selp.b32 %r1,1,0,!%p1;",
    "mov.pred %p1, 1;",
    "mov.pred %p1, %p2;",
    "not.pred %p1,%p2;",
    "mov.u16 %h1, %r1;",
    "mul.wide.u32 %rd1,%r1,%r2;",
    "mad.wide.u32 %rd1,%r1,%r2,%r3;",
    "mad.lo.s32 %r1,%r2,%r3,%rd1;",
    "atom.global.add.u32 %r1,[%rd1],%r2;",
    "atom.global.add.u32 _,[%rd1],%r2;",
    "atom.global.cas.b32 %r1,[%rd1],%r2;",
    "atom.global.add.f32 %f1,[%rd1],%f2;",
    "atom.global.add.b32 %r1,[%rd1],%r2;",
    "vote.sync.ballot.b32 %r1,%p1,-1;",
    "vote.sync.ballot.b32 %r1,!%p1,-1;",
    "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;",
    "shfl.sync.bfly.b32 %f1, %f2, 1, 31, -1;",
    "ret.uni;",
    "exit;",
    "bar.sync 0, 64;",
    "bar.sync %r1;",
    "barrier.sync 0;",
    "ld.global.u32 %r1,[gv];",
    "ld.global.u32 %r1,[gv+4];",
    "ld.global.u32 %r1,[%rd1+8];",
    "ld.global.u32 %r1,[%rd1+-8];",
    "ld.global.u32 %r1,[%rd1-8];",
    "ld.global.u32 %r1,[8];",
    "ld.shared.u32 %r1,[%r2];",
    "ld.shared.u32 %r1,[sh];",
    "mov.u64 %rd1,sh;",
    "cvta.to.global.u64 %rd1,%rd2;",
    "cvta.global.u64 %rd1,gv;",
    "mov.u64 %rd1, ext;",
    "mov.u64 %rd1, k;",
    "mov.u32 %r1, %rd1;",
    "sub.u32 %r1, 5, %r2;",
    "prmt.b32 %r1,%r2,%r3,0x5410;",
    "mov.u32 %r1, _;",
    "add.u32 _,%r1,%r2;",
    "ld.global.v2.u32 {%r1,_},[%rd1];",
    "ld.global.v4.u8 {%h1,%h2,%h3,%h4},[%rd1];",
    "st.global.v2.u32 [%rd1],{%r1,5};",
    "ex2.approx.ftz.f32 %f1,%f2;",
    "mov.u32 %r1, %clock64;",
    "mov.u64 %rd1, %clock;",
    "mov.u16 %h1, %tid.x;",
    "cvt.u64.u32 %rd1, %tid.x;",
    "add.u32 %r1, %tid.x, 1;",
    "setp.eq.u32 %p1, %tid.x, 0;",
    "st.shared.u32 [sh], %tid.x;",
    "trap;",
    "fma.rn.f32 %f1,%f2,%f3,0f00000000;",
    "fma.f32 %f1,%f2,%f3,%f4;",
    "bfe.u32 %r1,%r2,%r3,8;",
    "call.uni nosuch;",
    "mul.lo.u32 %r1, %r2, %r3, %r4;",
    "@!%p1 ret;",
    "@%p1 ret",
    "ld.param.u32 %r1, [n]; ld.param.u64 %rd1, [n];",
    "ld.param.u32 %r1, [p+4];",
    "ld.param.u32 %r1, [p+400];",
    "add.cc.u32 %r1,%r2,%r3;",
    "add.rn.ftz.sat.f32 %f1,%f2,%f3;",
    "ld.global.nc.L2::128B.u32 %r1,[%rd1];",
    "ld.u32 %r1,[%rd1], 5;",
    "neg.u32 %r1,%r2;",
    "abs.u32 %r1,%r2;",
    "setp.lt.b32 %p1,%r1,%r2;",
    "setp.nan.s32 %p1,%r1,%r2;",
    "setp.lo.s32 %p1,%r1,%r2;",
    "setp.ltu.u32 %p1,%r1,%r2;",
    "max.relu.s32 %r1,%r2,%r3;",
    "mov.u32 %r1,0f3F800000;",
    "and.b32 %r1,%r2,0f3F800000;",
    "add.u32 %r1,%r2,0f3F800000;",
    "ld.global.s32 %f1,[%rd1];",
    ".reg .u32 %u1; ld.global.f32 %u1,[%rd1];",
    ".reg .u32 %u1; add.f32 %f1,%f2,%u1;",
    ".reg .u32 %u1; mov.b32 %f1,%u1;",
    ".reg .u32 %u1; mov.f32 %f1,%u1;",
    ".reg .s32 %s1; add.u32 %s1,%s1,%s1;",
    "ld.global.f32 %rd3,[%rd1];",
    "ld.global.f64 %rd3,[%rd1];",
    "ld.global.b16 %f1,[%rd1];",
    "ld.global.b32 %d1,[%rd1];",
    "st.global.f32 [%rd1],%r1;",
    "st.global.f32 [%rd1],%rd2;",
    "st.global.b32 [%rd1],%d1;",
    "st.global.b64 [%rd1],%r1;",
    "cvt.rn.f32.f64 %f1,%d1;",
    "cvt.rn.f32.f64 %r1,%rd1;",
    "cvt.rn.f32.f64 %rd1,%rd1;",
    "cvt.s32.s8 %r1,%h1;",
    "cvt.u32.u64 %h1,%rd1;",
    "cvt.rn.f32.s16 %f1,%rd1;",
    "cvt.u64.u16 %rd1,%f1;",
    ".reg .b32 %v; .reg .f32 %w; mov.b32 %w,%v; and.b32 %w,%w,%v;",
    ".reg .f16 %x; add.f16 %x,%x,%h1; mov.b16 %h1,%x;",
    ".reg .f16x2 %x; add.f16x2 %x,%x,%r1;",
    ".reg .u32 %u; add.f16x2 %u,%u,%r1;",
    ".reg .u16 %u; add.f16 %u,%u,%h1;",
    "add.bf16 %h1,%h1,%h1;",
    ".reg .v4 .f32 %v; ld.global.v4.f32 %v,[%rd1]; mov.f32 %f1,%v.x;",
    "trap.u32;",
    "bra.uni x; x:",
    "ret.f32;",
    "not.b32 %r1,%r2,%r3;",
    "add.u32.u32 %r1,%r2,%r3;",
    "add.u32.sat.sat %r1,%r2,%r3;",
    "add.lo.u32 %r1,%r2,%r3;",
    "add.rn.rz.f32 %f1,%f2,%f3;",
    "mad.lo.f32 %f1,%f2,%f3,%f4;",
    "popc.b32 %rd1,%r1;",
    "popc.b64 %r1,%rd1;",
    "bfind.u64 %r1,%rd1;",
    "setp.eq.pred %p1,%p2,%p0;",
    "xor.pred %p1,%p2,!%p0;",
    "xor.b32 %r1,%r2,!%r3;",
    "selp.pred %p1,%p2,%p0,%p1;",
    "mov.v2.u32 {%r1,%r2},{%r3,%r4};",
    "mov.b128 %rd1,{%rd2,%rd3};",
    "mov.u64 %rd1, gv+8;",
    "mov.u64 %rd1, p;",
    "ld.global.u32 %r1,[p];",
    "ld.u32 %r1,[p];",
    "ld.param.u32 %r1,[%rd1];",
    "call (%r1), ext, (%r2);",
    "sub.cc.u32 %r1,%r2,%r3; subc.u32 %r1,%r2,%r3;",
    "mad.lo.cc.u32 %r1,%r2,%r3,%r4; madc.hi.u32 %r1,%r2,%r3,%r4;",
    "shfl.sync.idx.b32 %r1,%r2,%rd1,31,-1;",
    "shfl.sync.idx.b64 %rd1,%rd2,1,31,-1;",
    "setp.lt.f32 %p1,%f1,0f00000000;",
    "setp.lt.f32 %p1,0f00000000,%f1;",
    "setp.lt.u32 _|%p1,%r1,%r2;",
    "setp.lt.u32 %p1|_,%r1,%r2;",
    "st.global.u64 [%rd1], gv;",
    "add.u64 %rd1, gv, 8;",
    "add.s64 %rd1,%rd2,gv;",
    "mad.lo.u32 %r1,%r2,4,gv;",
    "membar.gl;",
    "fence.sc.gpu;",
    "membar.cta.u32;",
    "nanosleep.u32 5;",
    "ret 5;",
    "@%p1 { ret; }",
    "exit; exit",
    "%p1 ret;",
};

void load(const std::string &what, const std::string &text) {
    CUmodule module = nullptr;
    const CUresult status = d.cuModuleLoadData(&module, text.c_str());
    ask("cuModuleLoadData " + what, status);
    if (status == CUDA_SUCCESS) {
        d.cuModuleUnload(module);
    }
}

void add(CUlinkState link, const std::string &text) {
    std::string copy = text;
    ASK(cuLinkAddData, " of PTX", link, CU_JIT_INPUT_PTX, copy.data(), copy.size() + 1, "input", 0,
        nullptr, nullptr);
}

std::string text_of(const char *rest) {
    return std::string(".version 8.0\n.target sm_80\n.address_size 64\n") + rest;
}

constexpr char caller[] = ".extern .func f();\n.visible .entry k() { call f; ret; }\n";
constexpr char callee[] = ".visible .func f() { ret; }\n";

void link(const std::string &what, const std::vector<const char *> &inputs) {
    CUlinkState state = nullptr;
    d.cuLinkCreate(0, nullptr, nullptr, &state);
    for (const char *input : inputs) {
        add(state, text_of(input));
    }
    void *image = nullptr;
    std::size_t bytes = 0;
    ASK(cuLinkComplete, " " + what, state, &image, &bytes);
    d.cuLinkDestroy(state);
}

} // namespace

SECTION_ONCE("ptx_statements", start) {
    for (const char *statement : statements) {
        load(statement, kernel_with(statement));
    }
}

SECTION_ONCE("ptx_functions", start) {
    load("that calls an external function", text_of(caller));
    load("that declares an external function",
         text_of(".extern .func f();\n.entry k() { ret; }\n"));
    load("that calls a declared function", text_of(".func f();\n.entry k() { call f; ret; }\n"));
    for (const std::string name : {"vprintf", "malloc", "free", "__assertfail", "cudaGraphLaunch",
                                   "cudaLaunchDeviceV2", "memcpy"}) {
        load("that calls " + name,
             text_of((".extern .func " + name + "();\n.entry k() { call " + name + "; ret; }\n")
                         .c_str()));
    }
    load("with an external variable", text_of(".extern .global .u32 x;\n.entry k() { .reg .b32 "
                                              "%r<2>; ld.global.u32 %r1, [x]; ret; }\n"));
    load("with two kernels of a name", text_of(".entry k() { ret; }\n.entry k() { ret; }\n"));
    load("with two variables of a name", text_of(".global .u32 x;\n.global .u32 x;\n"));
    load("with an initializer of an unknown name", text_of(".global .u64 x = y;\n"));
    load("without an end", text_of(".entry k() { ret;\n"));
    link("without the function", {caller});
    link("with the function", {caller, callee});
    link("with the function first", {callee, caller});
    link("with the function twice", {caller, callee, callee});
}

} // namespace record::QUESTIONS
