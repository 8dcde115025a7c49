// A Version packs as CUDA does, compares, and prints.
#include <cushim/version.hpp>

#include "check.hpp"

#include <climits>
#include <string_view>
#include <type_traits>

using cushim::Version;

static_assert(sizeof(Version) == sizeof(int));
static_assert(std::is_trivially_copyable_v<Version>);
static_assert(!std::is_convertible_v<int, Version>, "an int is not a version by accident");
static_assert(!std::is_convertible_v<Version, bool> && !std::is_convertible_v<Version, int>);
static_assert(Version::of(12, 6) == Version(12060));
static_assert(std::string_view(to_text(Version::of(12, 6)).c_str()) == "12.6");

TEST_CASE("a version packs as CUDA packs it") {
    CHECK(Version(12060).major() == 12);
    CHECK(Version(12060).minor() == 6);
    CHECK(Version(12060).packed() == 12060);
    CHECK(Version::of(12, 6).packed() == 12060);
    CHECK(Version::of(13, 0).packed() == 13000);
    CHECK(Version::of(3, 20).packed() == 3200);
    CHECK(Version::of(99, 99).major() == 99);
    CHECK(Version::of(99, 99).minor() == 99);
}

TEST_CASE("a version that CUDA cannot have is unknown") {
    CHECK_FALSE(static_cast<bool>(Version()));
    CHECK_FALSE(static_cast<bool>(Version(0)));
    CHECK_FALSE(static_cast<bool>(Version(-1)));
    CHECK_FALSE(static_cast<bool>(Version(INT_MIN)));
    CHECK_FALSE(static_cast<bool>(Version::of(-1, 0)));
    CHECK_FALSE(static_cast<bool>(Version::of(12, -1)));
    CHECK_FALSE(static_cast<bool>(Version::of(12, 100)));
    CHECK_FALSE(static_cast<bool>(Version::of(INT_MAX, 0)));
    CHECK(static_cast<bool>(Version::of(0, 1)));
    CHECK(static_cast<bool>(Version::of(2'000'000, 99)));
    CHECK(Version(-12060) == Version());
}

TEST_CASE("versions compare by age") {
    const Version older = Version::of(11, 8);
    const Version newer = Version::of(12, 0);
    const Version same(11080);

    CHECK(older == same);
    CHECK_FALSE(older == newer);
    CHECK(older != newer);
    CHECK_FALSE(older != same);
    CHECK(older < newer);
    CHECK_FALSE(newer < older);
    CHECK_FALSE(older < same);
    CHECK(newer > older);
    CHECK_FALSE(older > newer);
    CHECK_FALSE(older > same);
    CHECK(older <= newer);
    CHECK(older <= same);
    CHECK_FALSE(newer <= older);
    CHECK(newer >= older);
    CHECK(older >= same);
    CHECK_FALSE(older >= newer);
    CHECK(Version() < older);
}

TEST_CASE("a version prints as people write it") {
    const auto text = [](Version version) { return cushim::to_text(version); };

    CHECK(std::string_view(text(Version(12060)).c_str()) == "12.6");
    CHECK(std::string_view(text(Version(13000)).c_str()) == "13.0");
    CHECK(std::string_view(text(Version(3020)).c_str()) == "3.2");
    CHECK(std::string_view(text(Version(11120)).c_str()) == "11.12");
    CHECK(std::string_view(text(Version(10)).c_str()) == "0.1");
    CHECK(std::string_view(text(Version(INT_MAX)).c_str()) == "2147483.64");
    CHECK(std::string_view(text(Version()).c_str()) == "unknown");
}
