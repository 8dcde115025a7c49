// A Version packs as CUDA does, compares, and prints.
#include <cushim/version.hpp>

#include "check.hpp"

#include <climits>
#include <string_view>
#include <type_traits>
#include <utility>

using cushim::Version;

static_assert(sizeof(Version) == sizeof(int));
static_assert(std::is_trivially_copyable_v<Version>);
static_assert(!std::is_convertible_v<int, Version>,
              "an int does not convert to a version implicitly");
static_assert(!std::is_convertible_v<Version, bool> && !std::is_convertible_v<Version, int>);
static_assert(Version::of(12, 6) == Version(12060));
static_assert(std::string_view(to_text(Version::of(12, 6)).c_str()) == "12.6");

TEST_CASE("a version packs as in CUDA") {
    CHECK(Version(12060).major_version() == 12);
    CHECK(Version(12060).minor_version() == 6);
    CHECK(Version(12060).packed() == 12060);
    CHECK(Version::of(12, 6).packed() == 12060);
    CHECK(Version::of(13, 0).packed() == 13000);
    CHECK(Version::of(3, 20).packed() == 3200);
    CHECK(Version::of(99, 99).major_version() == 99);
    CHECK(Version::of(99, 99).minor_version() == 99);
}

TEST_CASE("an impossible version is unknown") {
    for (const Version version :
         {Version(), Version(0), Version(-1), Version(INT_MIN), Version::of(-1, 0),
          Version::of(12, -1), Version::of(12, 100), Version::of(INT_MAX, 0)}) {
        CHECK_FALSE(static_cast<bool>(version));
    }
    CHECK(static_cast<bool>(Version::of(0, 1)));
    CHECK(static_cast<bool>(Version::of(2'000'000, 99)));
    CHECK(Version(-12060) == Version());
}

TEST_CASE("versions compare by age") {
    const Version versions[] = {Version(), Version::of(11, 8), Version::of(12, 0)};
    CHECK(versions[1] == Version(11080));
    for (int i = 0; i != 3; ++i) {
        for (int j = 0; j != 3; ++j) {
            CHECK((versions[i] == versions[j]) == (i == j));
            CHECK((versions[i] != versions[j]) == (i != j));
            CHECK((versions[i] < versions[j]) == (i < j));
            CHECK((versions[i] > versions[j]) == (i > j));
            CHECK((versions[i] <= versions[j]) == (i <= j));
            CHECK((versions[i] >= versions[j]) == (i >= j));
        }
    }
}

TEST_CASE("a version prints as major.minor") {
    for (const auto &[version, expected] :
         {std::pair{Version(12060), "12.6"}, std::pair{Version(13000), "13.0"},
          std::pair{Version(3020), "3.2"}, std::pair{Version(11120), "11.12"},
          std::pair{Version(10), "0.1"}, std::pair{Version(INT_MAX), "2147483.64"},
          std::pair{Version(), "unknown"}}) {
        CHECK(std::string_view(to_text(version).c_str()) == expected);
    }
}
