// Texts that the reader accepts, and that must not harm the executor.
#include "ptx_kernel.hpp"

using namespace ptx_test;

namespace {

// Runs a kernel with one parameter, whatever becomes of it.
void try_to_run(const std::string &text) {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(1024);
    try {
        run(memory, text, {.block = {40, 1, 1}, .most_branches = 100'000}, out);
    } catch (const NotExecuted &) {
    } catch (const KernelFault &) {
    } catch (const Problem &) {
    }
}

std::string entry(const std::string &body) {
    return ".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred "
           "%p<4>;"
           " .reg .v4 .b32 %v; ld.param.u64 %d0, [out]; " +
           body + " ret; }";
}

} // namespace

TEST_CASE("statements with unusual operands harm nothing") {
    for (const char *body : {
             "ldu.global.u32 %r0, [%d0];",
             "ldu;",
             "mov.u32 %r0, %r1.w;",
             "mov.u32 %r0, %v.b0;",
             "mov.u32 %r0, %v.w;",
             "ld.global.v4.u32 %v, [%d0];",
             "elect.sync %r0|%r1, -1;",
             "elect.sync %r0|_, -1;",
             ".reg .b128 %q; ld.global.b128 %q, [%d0]; st.global.b128 [%d0], 5;",
             "mov.b64 %d1, {%r0, %r1, %r2};",
             "mov.b32 {%r0, %r1}, {%r2, %r3};",
             "call %p0, ();",
         }) {
        INFO(body);
        try_to_run(entry(body));
    }
}

TEST_CASE("calls with unusual parameters harm nothing") {
    for (const char *text : {
             ".visible .entry k(.param .b8 a[30000], .param .b64 b) {"
             " .extern .func (.param .b64 r) malloc(.param .b64 s); call (b), malloc, (b); }",
             ".func f(); .visible .entry k() { call f, (); ret; } .func f(.param .b32 a) { ret; }",
             ".func f(.param .b8 a[6000], .param .b8 b[]) { ret; } .visible .entry k() {"
             " .param .b8 x[6000]; .param .b8 y[4]; call f, (x, y); ret; }",
             ".func f(.reg .pred p) { ret; } .visible .entry k() { .param .b32 a; call f, (a); "
             "ret; }",
             ".func f(.reg .b32 _) { ret; } .visible .entry k() { call f, (1); ret; }",
             ".func f(.param .b8 p[4294967264], .param .b32 a) { ret; } .visible .entry k() {"
             " .param .b32 y; call f, (y, y); ret; }",
             ".func (.reg .b64 r) f() { mov.u64 r, 7; ret; } .visible .entry k() { call (_), f, "
             "(); ret; }",
             ".visible .entry k() { call k, (); ret; }",
         }) {
        INFO(text);
        try_to_run(text);
    }
}

TEST_CASE("too many registers are refused") {
    for (const char *registers : {".reg .b64 %x<1000000>;", ".reg .v8 .b128 %x<1000000>;"}) {
        TestMemory memory;
        CHECK_THROWS_AS(
            run(memory, ".visible .entry k() { " + std::string(registers) + " ret; }", {}),
            NotExecuted);
    }
}

TEST_CASE("functions that call each other without a loop are stopped, too") {
    std::string text = ".func f40() { ret; }\n";
    for (int i = 39; i >= 0; --i) {
        const std::string next = "f" + std::to_string(i + 1);
        text +=
            ".func f" + std::to_string(i) + "() { call " + next + "; call " + next + "; ret; }\n";
    }
    TestMemory memory;
    CHECK(fault_of(memory, text + ".visible .entry k() { call f0; ret; }", {}).kind ==
          KernelFault::Kind::no_progress);
}
