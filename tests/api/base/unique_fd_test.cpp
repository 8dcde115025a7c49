// Owners of file descriptors.
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

TEST_CASE("moving a descriptor keeps it open until its owner is replaced", "[fd]") {
    UniqueFd first = open_one();
    const int number = first.get();
    UniqueFd second(std::move(first));
    CHECK_FALSE(first); // NOLINT: a moved-from owner is empty
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

TEST_CASE("a released descriptor stays open and a replaced one is closed", "[fd]") {
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

TEST_CASE("an owner of a negative number is empty", "[fd]") {
    CHECK_FALSE(UniqueFd(-1));
    CHECK_FALSE(UniqueFd(-7));
    CHECK(UniqueFd(-7).get() == -1);
    UniqueFd descriptor = open_one();
    descriptor.reset(-7);
    CHECK(descriptor.get() == -1);
}

TEST_CASE("a duplicate is a new descriptor with FD_CLOEXEC", "[fd]") {
    UniqueFd original = open_one();
    auto copy = api_test::ok(original.duplicate());
    CHECK(copy.get() != original.get());
    CHECK((fcntl(copy.get(), F_GETFD) & FD_CLOEXEC) != 0);
    const int number = copy.get();
    original.reset();
    CHECK(is_open(number));
    CHECK_FALSE(original.duplicate());
    CHECK(api_test::refused(original.duplicate()));
}

TEST_CASE("owners preserve errno", "[fd]") {
    errno = 77;
    {
        UniqueFd bad(open_one().get()); // already closed
        CHECK_FALSE(bad.duplicate());
        CHECK(errno == 77);
    }
    CHECK(errno == 77);
}
