// Functions of the driver that kernels call, and indirect calls.
#include "ptx_kernel.hpp"

using namespace ptx_test;

namespace {

std::string bytes_of(const std::string &text) {
    std::string list;
    for (const char c : text) {
        list += std::to_string(int(c)) + ", ";
    }
    return "{" + list + "0}";
}

// What a kernel of one thread prints, and the number of arguments that printf returns. The values
// stand in local memory at %w0.
std::string printed(const std::string &format, const std::string &stores) {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(4);
    run(memory,
        kernel_of(R"(
    .local .align 8 .b8 values[64];
    mov.u64 %w0, values;
)" + stores + R"(
    cvta.local.u64 %w1, %w0;
    mov.u64 %w2, format;
    cvta.global.u64 %w2, %w2;
    {
    .param .b64 a;
    .param .b64 b;
    .param .b32 r;
    st.param.b64 [a], %w2;
    st.param.b64 [b], %w1;
    call.uni (r), vprintf, (a, b);
    ld.param.b32 %v, [r];
    })",
                  R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 format[] = )" +
                      bytes_of(format) + ";"),
        {.block = {1, 1, 1}}, out);
    return memory.printed + "; " + std::to_string(memory.read<std::uint32_t>(out)[0]);
}

} // namespace

TEST_CASE("printf formats as in C") {
    CHECK(printed("plain 100%%\n", "") == "plain 100%\n; 0");
    CHECK(printed("%d|%5u|%-4x|%lld", R"(
    st.local.s32 [%w0], -7;
    st.local.u32 [%w0+4], 42;
    st.local.u32 [%w0+8], 255;
    st.local.u64 [%w0+16], 10000000000;)") == "-7|   42|ff  |10000000000; 4");
    CHECK(printed("%.2f %c %s", R"(
    mov.f64 %w5, 0d400A000000000000;
    st.local.f64 [%w0], %w5;
    st.local.u32 [%w0+8], 65;
    mov.u64 %w3, format;
    cvta.global.u64 %w3, %w3;
    st.local.u64 [%w0+16], %w3;)") == "3.25 A %.2f %c %s; 3");
    CHECK(printed("%*d %q", "st.local.u32 [%w0], 4; st.local.u32 [%w0+4], 9;") == "   9 %q; 2");
}

TEST_CASE("printf of an address that cannot be read is a fault") {
    TestMemory memory;
    const std::string text = R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.visible .entry k() {
    .param .b64 a;
    .param .b64 b;
    .param .b32 r;
    .reg .b64 %w;
    mov.u64 %w, 16;
    st.param.b64 [a], %w;
    st.param.b64 [b], %w;
    call.uni (r), vprintf, (a, b);
    ret;
})";
    CHECK(fault_of(memory, text, {.block = {1, 1, 1}}).kind == KernelFault::Kind::illegal_address);
}

TEST_CASE("a failed assertion names the expression and its place") {
    TestMemory memory;
    const KernelFault fault = fault_of(memory,
                                       R"(
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.global .b8 message[] = )" + bytes_of("x > 0") +
                                           "; .global .b8 file[] = " + bytes_of("k.cu") +
                                           "; .global .b8 name[] = " + bytes_of("k()") + R"(;
.visible .entry k() {
    .param .b64 m;
    .param .b64 f;
    .param .b32 l;
    .param .b64 n;
    .param .b64 s;
    .reg .b64 %w;
    .reg .b32 %a;
    mov.u64 %w, message;
    st.param.b64 [m], %w;
    mov.u64 %w, file;
    st.param.b64 [f], %w;
    mov.u32 %a, 17;
    st.param.b32 [l], %a;
    mov.u64 %w, name;
    st.param.b64 [n], %w;
    mov.u64 %w, 1;
    st.param.b64 [s], %w;
    call.uni __assertfail, (m, f, l, n, s);
    ret;
})",
                                       {});
    CHECK(fault.kind == KernelFault::Kind::assertion);
    CHECK(fault.text == "k.cu:17: k(): Assertion `x > 0' failed.");
}

TEST_CASE("kernels allocate and free memory") {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(4);
    run(memory,
        kernel_of(R"(
    {
    .param .b64 size;
    .param .b64 r;
    mov.u64 %w0, 64;
    st.param.b64 [size], %w0;
    call.uni (r), malloc, (size);
    ld.param.b64 %w1, [r];
    st.u32 [%w1+60], %t;
    ld.u32 %v, [%w1+60];
    st.param.b64 [size], %w1;
    call.uni free, (size);
    })",
                  R"(
.extern .func (.param .b64 r) malloc(.param .b64 s);
.extern .func free(.param .b64 p);)"),
        {.block = {1, 1, 1}}, out);
    CHECK(memory.buffers() == 1);
}

TEST_CASE("functions are called by their addresses") {
    const auto values = values_of(R"(
    and.b32 %a3, %t, 1;
    setp.eq.u32 %p0, %a3, 0;
    mov.u64 %w0, twice;
    mov.u64 %w1, plus_100;
    selp.b64 %w2, %w0, %w1, %p0;
    {
    .param .b32 a;
    .param .b32 r;
    st.param.b32 [a], %t;
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r), %w2, (a), prototype;
    ld.param.b32 %v, [r];
    })",
                                  R"(
.func (.param .b32 r) twice(.param .b32 a) {
    .reg .b32 %a;
    ld.param.b32 %a, [a];
    add.u32 %a, %a, %a;
    st.param.b32 [r], %a;
    ret;
}
.func (.param .b32 r) plus_100(.param .b32 a) {
    .reg .b32 %a;
    ld.param.b32 %a, [a];
    add.u32 %a, %a, 100;
    st.param.b32 [r], %a;
    ret;
})");
    CHECK(values[4] == 8);
    CHECK(values[5] == 105);
}

TEST_CASE("a call of an address without a function is a fault") {
    TestMemory memory;
    const std::string text = R"(
.visible .entry k() {
    .reg .b64 %w;
    mov.u64 %w, 4096;
    prototype: .callprototype _ ();
    call %w, (), prototype;
    ret;
})";
    CHECK(fault_of(memory, text, {}).kind == KernelFault::Kind::bad_program_counter);
}

TEST_CASE("functions in initializers are called by their addresses") {
    const auto values = values_of(R"(
    .local .align 8 .b8 unused[8];
    mov.u64 %w0, seven;
    {
    .param .b32 r;
    prototype: .callprototype (.param .b32 _) _ ();
    call (r), %w0, (), prototype;
    ld.param.b32 %v, [r];
    })",
                                  R"(
.func (.param .b32 r) seven() {
    .reg .b32 %a;
    mov.u32 %a, 7;
    st.param.b32 [r], %a;
    ret;
}
.global .align 8 .u64 table[1] = {seven};)");
    CHECK(values[0] == 7);
}
