// A CUDA version, packed as CUDA packs it: 12.6 is 12060.
//
// Usable in constant expressions; includes no header of the standard library. Versions are plain
// values.
#ifndef CUSHIM_VERSION_HPP
#define CUSHIM_VERSION_HPP

#include <cushim/detail/append_decimal.hpp>
#include <cushim/detail/cpp20.hpp>

namespace cushim {

// The version of a CUDA driver, runtime library or set of headers; 0 if unknown. An unknown version
// is older than every known one.
struct Version {
    constexpr Version() noexcept = default;

    // From CUDA's own number (CUDA_VERSION, cuDriverGetVersion, ...): 12060 is 12.6. Negative
    // numbers mean unknown.
    constexpr explicit Version(int packed) noexcept : packed_(packed < 0 ? 0 : packed) {}

    // of(12, 6) is 12.6. Unknown if CUDA cannot pack the version: major must be 0 to 2,000,000,
    // minor 0 to 99.
    static constexpr Version of(int major, int minor) noexcept {
        const bool fits = major >= 0 && major <= 2'000'000 && minor >= 0 && minor <= 99;
        return Version(fits ? major * 1000 + minor * 10 : 0);
    }

    // The parts of the version, and the number that CUDA uses for it: 12, 6 and 12060; 0 if
    // unknown.
    constexpr int major_version() const noexcept { return packed_ / 1000; }
    constexpr int minor_version() const noexcept { return packed_ % 1000 / 10; }
    constexpr int packed() const noexcept { return packed_; }

    // Whether the version is known.
    constexpr explicit operator bool() const noexcept { return packed_ != 0; }

    // Compare as numbers. Written out: <compare> would cost every user more than the rest of this
    // header.
    friend constexpr bool operator==(Version a, Version b) noexcept {
        return a.packed_ == b.packed_;
    }
    friend constexpr bool operator!=(Version a, Version b) noexcept {
        return a.packed_ != b.packed_;
    }
    friend constexpr bool operator<(Version a, Version b) noexcept { return a.packed_ < b.packed_; }
    friend constexpr bool operator>(Version a, Version b) noexcept { return a.packed_ > b.packed_; }
    friend constexpr bool operator<=(Version a, Version b) noexcept {
        return a.packed_ <= b.packed_;
    }
    friend constexpr bool operator>=(Version a, Version b) noexcept {
        return a.packed_ >= b.packed_;
    }

  private:
    int packed_ = 0;
};

// The text of a version, stored in the object, as Text is.
struct VersionText {
    // The widest version is 2147483.64; "unknown" is shorter.
    char characters[12];

    // The text; valid as long as this object.
    constexpr const char *c_str() const noexcept CUSHIM_LIFETIMEBOUND { return characters; }
};

// The version as text: "12.6", or "unknown".
constexpr VersionText to_text(Version version) noexcept {
    if (!version) {
        return VersionText{"unknown"};
    }
    VersionText text{};
    char *out = detail::append_decimal(text.characters, version.major_version());
    *out++ = '.';
    out = detail::append_decimal(out, version.minor_version());
    *out = '\0';
    return text;
}

} // namespace cushim

#endif
