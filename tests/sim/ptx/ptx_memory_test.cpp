// Loads, stores, atomic operations and their faults.
#include "ptx_kernel.hpp"

using namespace ptx_test;

TEST_CASE("addresses of one warp may be anywhere") {
    TestMemory memory;
    std::vector<std::uint64_t> pointers;
    for (std::uint32_t i = 0; i < 32; ++i) {
        const std::uint32_t value = i * i;
        pointers.push_back(memory.allocate<std::uint32_t>({&value, 1}));
    }
    const std::uint64_t in = memory.allocate<std::uint64_t>(pointers);
    const std::uint64_t out = memory.allocate(128);
    run(memory, R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
    .reg .b32 %t, %v;
    .reg .b64 %in, %out, %at;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %at, %t, 8, %in;
    ld.global.u64 %at, [%at];
    ld.global.u32 %v, [%at];
    mad.wide.u32 %at, %t, 4, %out;
    st.global.u32 [%at], %v;
    ret;
})",
        {}, in, out);
    const auto values = memory.read<std::uint32_t>(out);
    for (std::uint32_t i = 0; i < 32; ++i) {
        CHECK(values[i] == i * i);
    }
}

TEST_CASE("vectors, and registers that are wider than what is loaded") {
    TestMemory memory;
    const std::uint8_t bytes[8] = {0x80, 0x7f, 0xff, 1, 2, 3, 4, 5};
    const std::uint64_t in = memory.allocate<std::uint8_t>(bytes);
    const std::uint64_t out = memory.allocate(32);
    run(memory, R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
    .reg .b32 %a<8>;
    .reg .b16 %h<4>;
    .reg .b64 %in, %out;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    ld.global.s8 %a0, [%in];
    ld.global.u8 %a1, [%in];
    ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%in+4];
    ld.global.v2.u32 {%a2, %a3}, [%in];
    cvt.u32.u16 %a4, %h3;
    st.global.v4.u32 [%out], {%a0, %a1, %a2, %a3};
    st.global.u32 [%out+16], %a4;
    st.global.u8 [%out+20], %a0;
    ret;
})",
        {.block = {1, 1, 1}}, in, out);
    const auto values = memory.read<std::uint32_t>(out);
    CHECK(values[0] == 0xffffff80);
    CHECK(values[1] == 0x80);
    CHECK(values[2] == 0x01ff7f80);
    CHECK(values[3] == 0x05040302);
    CHECK(values[4] == 5);
    CHECK(values[5] == 0x80);
}

TEST_CASE("shared, local and parameter memory have generic addresses") {
    const auto values = values_of(R"(
    .local .b32 local[4];
    .shared .b32 shared[32];
    mov.u64 %w0, local;
    st.local.u32 [%w0+8], %t;
    cvta.local.u64 %w1, %w0;
    ld.u32 %a3, [%w1+8];
    mov.u64 %w2, shared;
    cvta.shared.u64 %w2, %w2;
    mad.wide.u32 %w3, %t, 4, %w2;
    st.u32 [%w3], %a3;
    xor.b32 %a4, %t, 31;
    mad.wide.u32 %w3, %a4, 4, %w2;
    bar.warp.sync 0xffffffff;
    ld.u32 %v, [%w3];
    isspacep.shared %p0, %w3;
    isspacep.local %p1, %w1;
    isspacep.global %p2, %out;
    and.pred %p0, %p0, %p1;
    and.pred %p0, %p0, %p2;
    @!%p0 mov.u32 %v, 1000;)");
    for (std::uint32_t i = 0; i < 32; ++i) {
        CHECK(values[i] == 31 - i);
    }
}

TEST_CASE("dynamic shared memory begins behind the static one") {
    const auto values = values_of(R"(
    mov.u32 %a3, dynamic;
    mov.u32 %a4, fixed;
    sub.u32 %v, %a3, %a4;
    st.shared.u32 [%a3+60], %v;)",
                                  R"(
.shared .b32 fixed[8];
.extern .shared .align 16 .b8 dynamic[];)",
                                  {.dynamic_shared = 64});
    CHECK(values[0] == 32);
}

TEST_CASE("variables of the module have their initial values") {
    const auto values = values_of(R"(
    and.b32 %a3, %t, 3;
    mov.u64 %w0, table;
    mad.wide.u32 %w0, %a3, 4, %w0;
    ld.const.u32 %v, [%w0];
    ld.global.u32 %a4, [counter+4];
    add.u32 %v, %v, %a4;)",
                                  R"(
.const .b32 table[4] = {10, 20, 30, 40};
.global .b32 counter[2] = {0, 5};)");
    CHECK(values[0] == 15);
    CHECK(values[7] == 45);
}

namespace {

// The result of an operation on out[0], of each of four lanes in order, and out[0] afterwards.
std::vector<std::uint32_t> atomic(const std::string &operation, std::uint32_t initial) {
    TestMemory memory;
    const std::uint32_t values[5] = {initial, 0, 0, 0, 0};
    const std::uint64_t out = memory.allocate<std::uint32_t>(values);
    run(memory,
        R"(
.visible .entry k(.param .u64 out) {
    .reg .b32 %t, %old;
    .reg .b64 %out, %at;
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    atom.global.)" +
            operation + R"(;
    mad.wide.u32 %at, %t, 4, %out;
    st.global.u32 [%at+4], %old;
    ret;
})",
        {.block = {4, 1, 1}}, out);
    return memory.read<std::uint32_t>(out);
}

} // namespace

TEST_CASE("atomic operations return the old value") {
    using List = std::vector<std::uint32_t>;
    CHECK(atomic("add.u32 %old, [%out], %t", 10) == List{16, 10, 10, 11, 13});
    CHECK(atomic("exch.b32 %old, [%out], %t", 9) == List{3, 9, 0, 1, 2});
    CHECK(atomic("cas.b32 %old, [%out], 1, %t", 1) == List{0, 1, 0, 0, 0});
    CHECK(atomic("inc.u32 %old, [%out], 2", 1) == List{2, 1, 2, 0, 1});
    CHECK(atomic("dec.u32 %old, [%out], 2", 1) == List{0, 1, 0, 2, 1});
    CHECK(atomic("min.s32 %old, [%out], -5", 3) == List{~4U, 3, ~4U, ~4U, ~4U});
    CHECK(atomic("max.u32 %old, [%out], %t", 1) == List{3, 1, 1, 1, 2});
    CHECK(atomic("or.b32 %old, [%out], %t", 4) == List{7, 4, 4, 5, 7});
    CHECK(atomic("add.f32 %old, [%out], 0f3F800000", 0) ==
          List{0x40800000, 0, 0x3f800000, 0x40000000, 0x40400000});
}

namespace {

const std::string store_at = R"(
.visible .entry k(.param .u64 at) {
    .reg .b64 %at, %mine;
    .reg .b32 %t;
    ld.param.u64 %at, [at];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %mine, %t, 4, %at;
    st.global.u32 [%mine], %t;
    ret;
})";

} // namespace

TEST_CASE("a fault names the address, the access and the thread") {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(160);
    const KernelFault fault = fault_of(memory, store_at, {.block = {64, 1, 1}}, out);
    CHECK(fault.kind == KernelFault::Kind::illegal_address);
    CHECK(fault.address == out + 160);
    CHECK(fault.size == 4);
    CHECK(fault.write);
    CHECK(fault.thread[0] == 40);
    CHECK(fault.line == 11);
    CHECK(memory.read<std::uint32_t>(out)[39] == 39);
}

TEST_CASE("a null pointer, a freed one and one that is not aligned") {
    TestMemory memory;
    CHECK(fault_of(memory, store_at, {}, std::uint64_t(0)).kind ==
          KernelFault::Kind::illegal_address);
    const std::uint64_t out = memory.allocate(256);
    CHECK(fault_of(memory, store_at, {}, out + 2).kind == KernelFault::Kind::misaligned_address);
    memory.free(out);
    CHECK(fault_of(memory, store_at, {}, out).kind == KernelFault::Kind::illegal_address);
}

TEST_CASE("accesses past the end of shared and local memory") {
    TestMemory memory;
    const auto fault = [&](const std::string &statements) {
        return fault_of(memory, ".visible .entry k() { .reg .b32 %a; " + statements + " ret; }",
                        {.block = {1, 1, 1}})
            .kind;
    };
    CHECK(fault(".shared .b32 s[4]; ld.shared.u32 %a, [s+16];") ==
          KernelFault::Kind::illegal_address);
    CHECK(fault(".local .b32 l[4]; ld.local.u32 %a, [l+4096];") ==
          KernelFault::Kind::illegal_address);
    CHECK(fault(".shared .b32 s[4]; ld.shared.u32 %a, [s+2];") ==
          KernelFault::Kind::misaligned_address);
}
