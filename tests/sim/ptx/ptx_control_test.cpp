// Branches, calls, barriers and progress.
#include "ptx_kernel.hpp"

using namespace ptx_test;

TEST_CASE("lanes that took different branches meet again") {
    const auto values = values_of(R"(
    and.b32 %a0, %t, 1;
    setp.eq.u32 %p0, %a0, 0;
    @%p0 bra EVEN;
    mov.u32 %v, 100;
    bra JOINED;
EVEN:
    mov.u32 %v, 200;
JOINED:
    activemask.b32 %a1;
    popc.b32 %a1, %a1;
    add.u32 %v, %v, %a1;)");
    CHECK(values[0] == 232);
    CHECK(values[1] == 132);
}

TEST_CASE("each lane loops as often as it must") {
    const auto values = values_of(R"(
    mov.u32 %v, 0;
    mov.u32 %a0, %t;
LOOP:
    setp.eq.u32 %p0, %a0, 0;
    @%p0 bra DONE;
    add.u32 %v, %v, %a0;
    sub.u32 %a0, %a0, 1;
    bra LOOP;
DONE:)");
    for (std::uint32_t i = 0; i < 32; ++i) {
        CHECK(values[i] == i * (i + 1) / 2);
    }
}

TEST_CASE("lanes that have ended do not run") {
    const auto values = values_of(R"(
    setp.lt.u32 %p0, %t, 5;
    @%p0 exit;
    activemask.b32 %v;)");
    CHECK(values[4] == 0);
    CHECK(values[5] == ~0U << 5);
}

TEST_CASE("a spin lock between the lanes of a warp ends") {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(8);
    run(memory, R"(
.visible .entry k(.param .u64 out) {
    .reg .b32 %a<4>;
    .reg .b64 %out;
    .reg .pred %p;
    ld.param.u64 %out, [out];
AGAIN:
    atom.global.cas.b32 %a0, [%out], 0, 1;
    setp.ne.u32 %p, %a0, 0;
    @%p bra AGAIN;
    ld.volatile.global.u32 %a1, [%out+4];
    add.u32 %a1, %a1, 1;
    st.volatile.global.u32 [%out+4], %a1;
    atom.global.exch.b32 %a2, [%out], 0;
    ret;
})",
        {.grid = {4, 1, 1}, .block = {96, 1, 1}}, out);
    CHECK(memory.read<std::uint32_t>(out) == std::vector<std::uint32_t>{0, 384});
}

TEST_CASE("blocks that wait for each other make progress") {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(4);
    run(memory, R"(
.visible .entry k(.param .u64 out) {
    .reg .b32 %a<4>;
    .reg .b64 %out;
    .reg .pred %p;
    ld.param.u64 %out, [out];
    atom.global.add.u32 %a0, [%out], 1;
WAIT:
    ld.acquire.gpu.global.u32 %a1, [%out];
    setp.lt.u32 %p, %a1, 40;
    @%p bra WAIT;
    ret;
})",
        {.grid = {40, 1, 1}, .block = {1, 1, 1}}, out);
    CHECK(memory.read<std::uint32_t>(out)[0] == 40);
}

TEST_CASE("blocks make progress that wait for each other between barriers") {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(4);
    run(memory, R"(
.visible .entry k(.param .u64 out) {
    .reg .b32 %a<4>;
    .reg .b64 %out;
    .reg .pred %p;
    ld.param.u64 %out, [out];
    atom.global.add.u32 %a0, [%out], 1;
WAIT:
    bar.sync 0;
    ld.global.u32 %a1, [%out];
    setp.lt.u32 %p, %a1, 256;
    @%p bra WAIT;
    ret;
})",
        {.grid = {4, 1, 1}, .block = {64, 1, 1}}, out);
    CHECK(memory.read<std::uint32_t>(out)[0] == 256);
}

TEST_CASE("functions return values, and call themselves") {
    const auto values = values_of(R"(
    rem.u32 %a0, %t, 12;
    {
    .param .b32 argument;
    .param .b32 result;
    st.param.b32 [argument], %a0;
    call.uni (result), fibonacci, (argument);
    ld.param.b32 %v, [result];
    })",
                                  R"(
.func (.param .b32 result) fibonacci(.param .b32 n) {
    .reg .b32 %n, %a, %b;
    .reg .pred %p;
    ld.param.b32 %n, [n];
    setp.lt.u32 %p, %n, 2;
    @%p bra SMALL;
    {
    .param .b32 argument;
    .param .b32 value;
    sub.u32 %a, %n, 1;
    st.param.b32 [argument], %a;
    call.uni (value), fibonacci, (argument);
    ld.param.b32 %a, [value];
    sub.u32 %b, %n, 2;
    st.param.b32 [argument], %b;
    call.uni (value), fibonacci, (argument);
    ld.param.b32 %b, [value];
    add.u32 %n, %a, %b;
    }
SMALL:
    st.param.b32 [result], %n;
    ret;
})");
    const std::uint32_t numbers[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    for (std::uint32_t i = 0; i < 32; ++i) {
        CHECK(values[i] == numbers[i % 12]);
    }
}

TEST_CASE("a recursion without end overflows the stack") {
    TestMemory memory;
    const std::string text = R"(
.func endless() {
    .local .b32 data[64];
    call.uni endless;
    ret;
}
.visible .entry k() {
    call.uni endless;
    ret;
})";
    CHECK(fault_of(memory, text, {}).kind == KernelFault::Kind::stack_overflow);
}

TEST_CASE("a function without local memory that calls itself without end is stopped, too") {
    TestMemory memory;
    const std::string text = R"(
.func endless() {
    call.uni endless;
    ret;
}
.visible .entry k() {
    call.uni endless;
    ret;
})";
    CHECK(fault_of(memory, text, {}).kind == KernelFault::Kind::stack_overflow);
}

TEST_CASE("a barrier makes stores of other warps visible") {
    const auto values = values_of(R"(
    mov.u32 %a3, shared;
    mad.lo.u32 %a4, %a2, 4, %a3;
    st.shared.u32 [%a4], %t;
    bar.sync 0;
    sub.u32 %a5, 127, %a2;
    mad.lo.u32 %a4, %a5, 4, %a3;
    ld.shared.u32 %v, [%a4];)",
                                  ".shared .b32 shared[128];", {.block = {128, 1, 1}});
    for (std::uint32_t i = 0; i < 128; ++i) {
        CHECK(values[i] == 127 - i);
    }
}

TEST_CASE("barriers reduce predicates") {
    const auto values = values_of(R"(
    setp.lt.u32 %p0, %t, 70;
    bar.red.popc.u32 %a0, 0, %p0;
    bar.red.and.pred %p1, 1, %p0;
    bar.red.or.pred %p2, 2, %p0;
    selp.b32 %a1, 1000, 0, %p1;
    selp.b32 %a2, 2000, 0, %p2;
    add.u32 %v, %a0, %a1;
    add.u32 %v, %v, %a2;)",
                                  "", {.block = {96, 1, 1}});
    CHECK(values == std::vector<std::uint32_t>(96, 2070));
}

TEST_CASE("a barrier does not wait for threads that have ended") {
    const auto values = values_of(R"(
    setp.lt.u32 %p0, %t, 32;
    @%p0 exit;
    bar.sync 0;
    mov.u32 %v, 1;)",
                                  "", {.block = {64, 1, 1}});
    CHECK(values[31] == 0);
    CHECK(values[32] == 1);
}

TEST_CASE("threads that wait and never continue are found") {
    TestMemory memory;
    CHECK(fault_of(memory, ".visible .entry k() { bar.sync 0, 64; ret; }", {}).kind ==
          KernelFault::Kind::no_progress);
}

TEST_CASE("a kernel without end is stopped") {
    TestMemory memory;
    CHECK(fault_of(memory, ".visible .entry k() { AGAIN: bar.sync 0; bra AGAIN; }",
                   {.block = {64, 1, 1}})
              .kind == KernelFault::Kind::no_progress);
    CHECK(fault_of(memory, ".visible .entry k() { AGAIN: bra AGAIN; }", {}).kind ==
          KernelFault::Kind::no_progress);
}

TEST_CASE("a trap names the first thread and its line") {
    TestMemory memory;
    const KernelFault fault = fault_of(memory, R"(
.visible .entry k() {
    .reg .b32 %t;
    .reg .pred %p;
    mov.u32 %t, %tid.x;
    setp.eq.u32 %p, %t, 40;
    @%p trap;
    ret;
})",
                                       {.block = {64, 1, 1}});
    CHECK(fault.kind == KernelFault::Kind::trap);
    CHECK(fault.thread[0] == 40);
    CHECK(fault.line == 10);
}

TEST_CASE("an instruction that is not executed is named") {
    TestMemory memory;
    try {
        run(memory, ".visible .entry k() { barrier.cluster.arrive; ret; }", {});
        FAIL("it runs");
    } catch (const NotExecuted &problem) {
        CHECK(problem.instruction == "barrier.cluster.arrive");
        CHECK(problem.line == 4);
    }
}

TEST_CASE("clocks advance, the same in each run") {
    const std::string body = "mov.u32 %a3, %clock; mov.u32 %a4, %clock; sub.u32 %v, %a4, %a3;";
    CHECK(values_of(body)[0] > 0);
    CHECK(values_of(body) == values_of(body));
    CHECK(values_of("mov.u64 %w0, %globaltimer; mov.u64 %w1, %clock64; setp.gt.u64 %p0, %w1, %w0;"
                    "selp.b32 %v, 1, 0, %p0;")[0] == 1);
}

TEST_CASE("barriers with a number of threads count whole warps") {
    CHECK(values_of("bar.sync 1, 64; mov.u32 %v, 1;", "", {.block = {40, 1, 1}})[39] == 1);
    CHECK(values_of("setp.ge.u32 %p0, %t, 48; @%p0 exit; bar.sync 1, 64; mov.u32 %v, 1;", "",
                    {.block = {64, 1, 1}})[47] == 1);
}

TEST_CASE("reductions of a barrier take negated predicates") {
    CHECK(values_of("setp.lt.u32 %p0, %t, 10; bar.red.popc.u32 %v, 0, !%p0;")[0] == 22);
}
