#!/bin/bash
# Puts the source archive that subprojects/catch2.wrap names into subprojects/packagecache, where Meson looks before it
# downloads: the distribution's unchanged upstream archive, if it is identical. Needs no root. Fails without side
# effects if the archive does not exist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/ci/common.sh
. tools/ci/common.sh
# shellcheck source=tools/ci/private_apt.sh
. tools/ci/private_apt.sh

wrap_value() { sed -n "s/^$1 *= *//p" subprojects/catch2.wrap; }
name=$(wrap_value source_filename)
hash=$(wrap_value source_hash)
target=subprojects/packagecache/$name
is_right() { [[ -e $1 && $(sha256sum "$1" | cut -d' ' -f1) == "$hash" ]]; }

[[ ! -d subprojects/$(wrap_value directory) ]] || exit 0
! is_right "$target" || exit 0
version=${name##*-}
version=${version%.tar.gz}
# Older releases find the newer source in an archive that they can read: Debian in its backports, Ubuntu in its release
# 26.04.
case $(distribution) in
Debian) private_apt_setup build/apt/source deb-src release backports || exit 1 ;;
Ubuntu) COMPONENTS=universe private_apt_setup build/apt/source deb-src release resolute || exit 1 ;;
*) exit 1 ;;
esac
package=$(apt-cache "${PRIVATE_APT[@]}" showsrc catch2 2>/dev/null |
    sed -n "s/^Version: *\($version-.*\)/\1/p" | head -n 1)
[[ -n $package ]] || exit 1
step "source of Catch2 $version"
(cd build/apt/source &&
    apt-get "${PRIVATE_APT[@]}" source --download-only "catch2=$package" 2>/dev/null) || exit 1
is_right "build/apt/source/catch2_$version.orig.tar.gz" || exit 1
mkdir -p subprojects/packagecache
cp "build/apt/source/catch2_$version.orig.tar.gz" "$target"
