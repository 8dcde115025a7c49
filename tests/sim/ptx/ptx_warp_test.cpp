// Exchange among the lanes of a warp.
#include "ptx_kernel.hpp"

using namespace ptx_test;

namespace {

// The value and the predicate of a shuffle of the lanes' numbers, for the first lanes.
std::vector<std::uint32_t> shuffle(const std::string &operation) {
    auto values = values_of("mov.u32 %v, %t; shfl.sync." + operation +
                            ", 0xffffffff; selp.b32 %a4, 100, 0, %p0; add.u32 %v, %a3, %a4;");
    values.resize(10);
    return values;
}

} // namespace

TEST_CASE("shuffles move values between lanes") {
    using List = std::vector<std::uint32_t>;
    CHECK(shuffle("up.b32 %a3|%p0, %v, 2, 0") ==
          List{0, 1, 100, 101, 102, 103, 104, 105, 106, 107});
    CHECK(shuffle("down.b32 %a3|%p0, %v, 1, 31") ==
          List{101, 102, 103, 104, 105, 106, 107, 108, 109, 110});
    CHECK(shuffle("bfly.b32 %a3|%p0, %v, 3, 31") ==
          List{103, 102, 101, 100, 107, 106, 105, 104, 111, 110});
    // Segments of four lanes.
    CHECK(shuffle("idx.b32 %a3|%p0, %v, 1, 7199") ==
          List{101, 101, 101, 101, 105, 105, 105, 105, 109, 109});
    CHECK(shuffle("down.b32 %a3|%p0, %v, 2, 7199") ==
          List{102, 103, 2, 3, 106, 107, 6, 7, 110, 111});
}

TEST_CASE("votes, matches and reductions") {
    CHECK(values_of("setp.lt.u32 %p0, %t, 3; vote.sync.ballot.b32 %v, %p0, -1;")[9] == 7);
    CHECK(values_of("setp.lt.u32 %p0, %t, 3; vote.sync.ballot.b32 %v, !%p0, -1;")[9] == ~7U);
    CHECK(values_of("setp.lt.u32 %p0, %t, 3; vote.sync.all.pred %p1, %p0, -1;"
                    "selp.b32 %v, 1, 2, %p1;")[0] == 2);
    CHECK(values_of("and.b32 %a3, %t, 3; match.any.sync.b32 %v, %a3, -1;")[1] == 0x22222222);
    CHECK(values_of("mov.u32 %a3, 5; match.all.sync.b32 %v|%p0, %a3, -1;")[1] == ~0U);
    CHECK(values_of("match.all.sync.b32 %v|%p0, %t, -1;")[1] == 0);
    CHECK(values_of("redux.sync.add.s32 %v, %t, -1;")[4] == 496);
    CHECK(values_of("sub.s32 %a3, %t, 10; redux.sync.min.s32 %v, %a3, -1;")[4] == ~9U);
    CHECK(values_of("redux.sync.xor.b32 %v, %t, 15;", "", {.block = {4, 1, 1}})[0] == 0);
}

TEST_CASE("lanes wait for the others of an exchange") {
    const auto values = values_of(R"(
    setp.lt.u32 %p0, %t, 16;
    mov.u32 %a3, 1000;
    @%p0 bra LATE;
    bra EXCHANGE;
LATE:
    mov.u32 %a3, 2000;
    bra EXCHANGE;
EXCHANGE:
    shfl.sync.bfly.b32 %v, %a3, 16, 31, 0xffffffff;)");
    CHECK(values[0] == 1000);
    CHECK(values[16] == 2000);
}

TEST_CASE("lanes of different branches meet at a barrier of the warp") {
    const auto values = values_of(R"(
    .shared .b32 cell;
    setp.eq.u32 %p0, %t, 31;
    @%p0 bra LAST;
    bar.warp.sync 0xffffffff;
    ld.shared.u32 %v, [cell];
    bra DONE;
LAST:
    mov.u32 %v, 77;
    st.shared.u32 [cell], %v;
    bar.warp.sync 0xffffffff;
DONE:)");
    CHECK(values == std::vector<std::uint32_t>(32, 77));
}

TEST_CASE("halves of a warp name their own members") {
    const std::string masks = "setp.lt.u32 %p0, %t, 16; selp.b32 %a3, 0xffff, 0xffff0000, %p0;"
                              "setp.ge.u32 %p1, %t, 8;";
    const auto votes = values_of(masks + "vote.sync.ballot.b32 %v, %p1, %a3;");
    CHECK(votes[0] == 0xff00);
    CHECK(votes[31] == 0xffff0000);
    const auto sums = values_of(masks + "redux.sync.add.s32 %v, %t, %a3;");
    CHECK(sums[0] == 120);
    CHECK(sums[31] == 376);
    CHECK(values_of(masks + "bar.warp.sync %a3; mov.u32 %v, 3;")[31] == 3);
}
