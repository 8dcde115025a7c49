#!/bin/bash
# Unpacks the source that subprojects/catch2.wrap names, for Meson. Meson downloads it, unless the distribution has the
# identical upstream archive. Needs no root.
set -euo pipefail
# shellcheck source=tools/ci/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

wrap_value() { sed -n "s/^$1 *= *//p" subprojects/catch2.wrap; }
is_right() { echo "$(wrap_value source_hash)  $1" | sha256sum --check --status 2>/dev/null; }

# Older releases find the newer source in an archive that they can read: Debian in its backports, Ubuntu in its release 26.04.
take_from_distribution() { # ARCHIVE
    local version=${1##*-} package
    version=${version%.tar.gz}
    private_apt build/apt/source Debian deb-src main release backports ||
        private_apt build/apt/source Ubuntu deb-src universe release resolute || return 1
    package=$(apt-cache "${PRIVATE_APT[@]}" showsrc catch2 2>/dev/null |
        sed -n "s/^Version: *\($version-.*\)/\1/p" | head -n 1)
    step "source of Catch2 $version"
    (cd build/apt/source && apt-get "${PRIVATE_APT[@]}" source --download-only "catch2=$package" 2>/dev/null) || return 1
    is_right "build/apt/source/catch2_$version.orig.tar.gz" || return 1
    mkdir -p subprojects/packagecache
    cp "build/apt/source/catch2_$version.orig.tar.gz" "$1"
}

[[ ! -d subprojects/$(wrap_value directory) ]] || exit 0
archive=subprojects/packagecache/$(wrap_value source_filename) # where Meson looks
is_right "$archive" || take_from_distribution "$archive" || true
meson subprojects download catch2 >/dev/null
