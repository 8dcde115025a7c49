// Asynchronous copies and barriers in shared memory.
#include "ptx_kernel.hpp"

using namespace ptx_test;

namespace {

// A kernel that copies from `in`, at %in plus 16 bytes for each thread, to the thread's 16 bytes
// of shared memory, at %a3; their words are in %a4 to %a7 then, and their sum in %v.
std::vector<std::uint32_t> sums_of(const std::string &copy) {
    TestMemory memory;
    std::vector<std::uint32_t> values(4 * 32);
    for (std::uint32_t i = 0; i < values.size(); ++i) {
        values[i] = 1U << (i % 4 * 8);
    }
    const std::uint64_t out = memory.allocate(128), in = memory.allocate<std::uint32_t>(values);
    run(memory, R"(
.visible .entry k(.param .u64 out, .param .u64 in) {
    .reg .b32 %a<10>, %v, %t;
    .reg .b64 %w<4>, %out, %in, %policy;
    .reg .pred %p<4>;
    .shared .align 16 .b8 cells[512];
    .shared .align 8 .b64 barrier;
    ld.param.u64 %out, [out];
    ld.param.u64 %in, [in];
    mov.u64 %policy, 0;
    mov.u32 %t, %tid.x;
    mad.wide.u32 %in, %t, 16, %in;
    mov.u64 %w0, cells;
    cvt.u32.u64 %a3, %w0;
    mad.lo.u32 %a3, %t, 16, %a3;
    mov.u32 %a4, 7;
    st.shared.v4.u32 [%a3], {%a4, %a4, %a4, %a4};
)" + copy + R"(
    ld.shared.v4.u32 {%a4, %a5, %a6, %a7}, [%a3];
    add.u32 %v, %a4, %a5;
    add.u32 %v, %v, %a6;
    add.u32 %v, %v, %a7;
    mad.wide.u32 %w1, %t, 4, %out;
    st.global.u32 [%w1], %v;
    ret;
})",
        {}, out, in);
    return memory.read<std::uint32_t>(out);
}

std::vector<std::uint32_t> all(std::uint32_t value) {
    return std::vector<std::uint32_t>(32, value);
}

} // namespace

TEST_CASE("cp.async copies to shared memory") {
    const std::string wait = "cp.async.commit_group; cp.async.wait_group 0;";
    CHECK(sums_of("cp.async.cg.shared.global [%a3], [%in], 16;" + wait) == all(0x01010101));
    CHECK(sums_of("cp.async.ca.shared.global.L2::128B [%a3], [%in], 4; cp.async.wait_all;") ==
          all(1 + 3 * 7));
    CHECK(sums_of("cp.async.ca.shared.global [%a3+8], [%in+8], 8;" + wait) ==
          all(0x01010000 + 2 * 7));
    CHECK(sums_of("cp.async.cg.shared.global.L2::cache_hint [%a3], [%in], 16, %policy;" + wait) ==
          all(0x01010101));
}

TEST_CASE("cp.async fills with zeros what it does not read") {
    CHECK(sums_of("mov.u32 %a8, 5; cp.async.cg.shared.global [%a3], [%in], 16, %a8;") ==
          all(0x00000001));
    CHECK(sums_of("cp.async.cg.shared.global [%a3], [%in], 16, 8;") == all(0x00000101));
    // Zero bytes may come from anywhere.
    CHECK(sums_of("mov.u64 %in, 0; cp.async.cg.shared.global [%a3], [%in], 16, 0;") == all(0));
    CHECK(sums_of("setp.eq.u32 %p0, %t, 3; cp.async.cg.shared.global [%a3], [%in], 16, %p0;")[3] ==
          0);
    CHECK(sums_of("setp.eq.u32 %p0, %t, 3; cp.async.cg.shared.global [%a3], [%in], 16, %p0;")[4] ==
          0x01010101);
}

TEST_CASE("a bulk copy completes the transactions of a barrier") {
    CHECK(sums_of(R"(
    setp.eq.u32 %p0, %t, 0;
    @!%p0 bra WAIT;
    mbarrier.init.shared.b64 [barrier], 1;
    mbarrier.arrive.expect_tx.shared.b64 %w2, [barrier], 512;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a3], [%in], 512, [barrier];
WAIT:
    bar.sync 0;
AGAIN:
    mbarrier.try_wait.parity.shared.b64 %p1, [barrier], 0;
    @!%p1 bra AGAIN;)") == all(0x01010101));
}

TEST_CASE("a bulk copy goes to global memory") {
    // The words of each thread are those of shared memory, read back from global memory.
    CHECK(sums_of(R"(
    mov.u32 %a4, 9;
    st.shared.u32 [%a3], %a4;
    bar.sync 0;
    setp.eq.u32 %p0, %t, 0;
    @%p0 cp.async.bulk.global.shared::cta.bulk_group [%in], [%a3], 512;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    bar.sync 0;
    ld.global.u32 %a4, [%in];
    add.u32 %a4, %a4, 100;
    st.shared.u32 [%a3+12], %a4;)") == all(9 + 7 + 7 + 109));
}

TEST_CASE("copies to misaligned places are faults") {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(128);
    const KernelFault fault = fault_of(memory, kernel_of(R"(
    .shared .align 16 .b8 cells[512];
    cp.async.cg.shared.global [cells+8], [%out], 16;)"),
                                       {}, out);
    CHECK(fault.kind == KernelFault::Kind::misaligned_address);
    CHECK(fault.space == Space::shared);
}

namespace {

// An mbarrier at `barrier` for `count` arrivals, which all warps see.
std::string with_barrier(const std::string &count, const std::string &body) {
    return R"(
    .shared .align 8 .b64 barrier;
    .shared .b32 cell;
    setp.eq.u32 %p0, %t, 0;
    @%p0 mbarrier.init.shared.b64 [barrier], )" +
           count + ";\nbar.sync 0;\n" + body;
}

} // namespace

TEST_CASE("warps wait for the arrivals of others") {
    // The first warp arrives and waits; the second one stores before it arrives.
    const auto values = values_of(with_barrier("64", R"(
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra ARRIVE;
    mov.u32 %a3, 5;
    st.shared.u32 [cell], %a3;
ARRIVE:
    mbarrier.arrive.shared::cta.b64 %w0, [barrier];
AGAIN:
    mbarrier.try_wait.shared.b64 %p2, [barrier], %w0;
    @!%p2 bra AGAIN;
    ld.shared.u32 %v, [cell];)"),
                                  "", {.block = {64, 1, 1}});
    CHECK(values == std::vector<std::uint32_t>(64, 5));
}

TEST_CASE("phases of an mbarrier") {
    // Bit 0: phase 0 has not completed; bits 1 and 2: after the arrivals it has, and phase 1 not.
    CHECK(values_of(with_barrier("32", R"(
    mbarrier.test_wait.parity.shared.b64 %p1, [barrier], 0;
    selp.b32 %v, 0, 1, %p1;
    bar.warp.sync -1;
    mbarrier.arrive.shared.b64 %w0, [barrier];
    bar.warp.sync -1;
    mbarrier.test_wait.parity.shared.b64 %p1, [barrier], 0;
    selp.b32 %a3, 2, 0, %p1;
    or.b32 %v, %v, %a3;
    mbarrier.test_wait.parity.shared.b64 %p1, [barrier], 1;
    selp.b32 %a3, 0, 4, %p1;
    or.b32 %v, %v, %a3;)")) == all(7));
    // The count before each lane's arrival.
    const auto counts = values_of(with_barrier("40", R"(
    mbarrier.arrive.shared.b64 %w0, [barrier];
    mbarrier.pending_count.b64 %v, %w0;)"));
    CHECK(counts[0] == 40);
    CHECK(counts[31] == 9);
}

TEST_CASE("arrivals can have counts, drop and wait for bytes") {
    const auto waited = [](const std::string &arrivals, const std::string &parity = "0") {
        return values_of(
                   with_barrier("3", "setp.eq.u32 %p1, %t, 0; @!%p1 bra DONE;" + arrivals +
                                         "DONE: bar.warp.sync -1;"
                                         "mbarrier.test_wait.parity.shared.b64 %p2, [barrier], " +
                                         parity + "; selp.b32 %v, 1, 0, %p2;"))[7] == 1;
    };
    CHECK(waited("mbarrier.arrive.shared.b64 %w0, [barrier], 3;"));
    CHECK_FALSE(waited("mbarrier.arrive.shared.b64 %w0, [barrier], 2;"));
    CHECK_FALSE(waited("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [barrier], 16;"
                       "mbarrier.arrive.shared.b64 %w0, [barrier], 3;"));
    CHECK(waited("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [barrier], 16;"
                 "mbarrier.arrive.shared.b64 %w0, [barrier], 3;"
                 "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [barrier], 16;"));
    // After a drop the next phase needs two arrivals.
    const std::string dropped = "mbarrier.arrive_drop.shared.b64 %w0, [barrier];"
                                "mbarrier.arrive.shared.b64 %w0, [barrier], 2;";
    CHECK(waited(dropped));
    CHECK(waited(dropped + "mbarrier.arrive.shared.b64 %w0, [barrier], 2;", "1"));
    CHECK_FALSE(waited(dropped + "mbarrier.arrive.shared.b64 %w0, [barrier], 1;", "1"));
    CHECK(waited("mbarrier.arrive.shared.b64 %w0, [barrier], 2;"
                 "cp.async.mbarrier.arrive.noinc.shared.b64 [barrier];"));
    CHECK_FALSE(waited("mbarrier.arrive.shared.b64 %w0, [barrier], 2;"
                       "cp.async.mbarrier.arrive.shared.b64 [barrier];"));
}

TEST_CASE("an mbarrier has generic addresses of shared memory alone") {
    CHECK(values_of(with_barrier("32", R"(
    mov.u64 %w1, barrier;
    cvta.shared.u64 %w1, %w1;
    mbarrier.arrive.b64 %w0, [%w1];
    bar.warp.sync -1;
    mbarrier.test_wait.b64 %p1, [%w1], %w0;
    selp.b32 %v, 1, 0, %p1;)")) == all(1));
    TestMemory memory;
    const std::uint64_t out = memory.allocate(128);
    CHECK(fault_of(memory, kernel_of("mbarrier.arrive.b64 %w0, [%out]; mov.u32 %v, 0;"), {}, out)
              .kind == KernelFault::Kind::wrong_space);
}

TEST_CASE("waiting for a phase that never completes is a fault") {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(128);
    const KernelFault fault = fault_of(memory, kernel_of(with_barrier("33", R"(
AGAIN:
    mbarrier.try_wait.parity.shared.b64 %p1, [barrier], 0;
    @!%p1 bra AGAIN;
    mov.u32 %v, 0;)")),
                                       {}, out);
    CHECK(fault.kind == KernelFault::Kind::no_progress);
}
