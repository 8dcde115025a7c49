// Descriptors that are owned.
#include "harness/checks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cushim/unique_fd.hpp>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <type_traits>
#include <utility>

using cushim::ErrorKind;
using cushim::UniqueFd;

namespace {

bool is_open(int descriptor) {
    return fcntl(descriptor, F_GETFD) != -1;
}

UniqueFd open_one() {
    UniqueFd descriptor(open("/dev/null", O_RDWR));
    REQUIRE(descriptor);
    return descriptor;
}

static_assert(!std::is_copy_constructible_v<UniqueFd> && !std::is_copy_assignable_v<UniqueFd>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFd>);
static_assert(!std::is_convertible_v<int, UniqueFd>);

} // namespace

TEST_CASE("a descriptor is closed by its last owner, once", "[fd]") {
    UniqueFd first = open_one();
    const int number = first.get();
    UniqueFd second(std::move(first));
    CHECK_FALSE(first); // NOLINT: what was moved from is empty
    CHECK(first.get() == -1);
    first.reset();
    CHECK(is_open(number));
    first = std::move(second);
    CHECK(is_open(number));
    first = UniqueFd();
    CHECK_FALSE(is_open(number));
}

TEST_CASE("a descriptor survives being moved to itself", "[fd]") {
    UniqueFd descriptor = open_one();
    const int number = descriptor.get();
    UniqueFd &same = descriptor;
    descriptor = std::move(same);
    CHECK(descriptor.get() == number);
    CHECK(is_open(number));
}

TEST_CASE("what is released stays open, what is replaced is closed", "[fd]") {
    UniqueFd descriptor = open_one();
    const int first = descriptor.release();
    CHECK_FALSE(descriptor);
    CHECK(is_open(first));
    descriptor.reset(first);
    UniqueFd other = open_one();
    const int second = other.get();
    descriptor.reset(other.release());
    CHECK_FALSE(is_open(first));
    CHECK(descriptor.get() == second);
}

TEST_CASE("every negative number is an empty owner", "[fd]") {
    CHECK_FALSE(UniqueFd(-1));
    CHECK_FALSE(UniqueFd(-7));
    CHECK(UniqueFd(-7).get() == -1);
    UniqueFd descriptor = open_one();
    descriptor.reset(-7);
    CHECK(descriptor.get() == -1);
}

TEST_CASE("a duplicate is another descriptor, and not inherited", "[fd]") {
    UniqueFd original = open_one();
    auto copy = api_test::required(original.duplicate());
    CHECK(copy.get() != original.get());
    CHECK((fcntl(copy.get(), F_GETFD) & FD_CLOEXEC) != 0);
    const int number = copy.get();
    original.reset();
    CHECK(is_open(number));
    CHECK_FALSE(original.duplicate());
    CHECK(api_test::refused(original.duplicate()));
}

TEST_CASE("owners leave errno alone", "[fd]") {
    errno = 77;
    {
        UniqueFd bad(open_one().get()); // closed by now
        CHECK_FALSE(bad.duplicate());
        CHECK(errno == 77);
    }
    CHECK(errno == 77);
}
