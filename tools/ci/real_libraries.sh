#!/bin/bash
# Downloads real NVIDIA driver libraries of several branches for tests that need no device:
#   real_libraries.sh DIR      ->  DIR/drivers/<version>/libcuda.so.1, about 10 MB each
# They come from the non-free section of this Debian machine's archive. Fails if that is impossible. Never commit them.
set -euo pipefail
# shellcheck source=tools/ci/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

dir=${1:?folder}
# The Debian releases of the branches: bullseye 470, bookworm 535, trixie 550.
for branch in 470 535 550; do
    ! compgen -G "$dir/drivers/$branch.*/libcuda.so.1" >/dev/null || continue
    [[ $(uname -m) == x86_64 ]] || die "these libraries are for x86-64"
    [[ ${#PRIVATE_APT[@]} -gt 0 ]] ||
        private_apt build/apt/real Debian deb "main contrib non-free" bullseye bookworm trixie ||
        die "this machine does not use a Debian archive, or it cannot be read"
    version=$(apt-cache "${PRIVATE_APT[@]}" madison libcuda1 |
        sed -n "s/^[^|]*| *\($branch\.[^ ]*\) .*/\1/p" | sort -V | tail -n 1)
    [[ -n $version ]] || die "the archive has no driver of branch $branch"
    step "real driver library $version"
    rm -rf "$dir/unpack"
    mkdir -p "$dir/unpack" "$dir/drivers/${version%-*}"
    (cd "$dir/unpack" && apt-get "${PRIVATE_APT[@]}" download "libcuda1=$version")
    dpkg -x "$dir"/unpack/libcuda1_*.deb "$dir/unpack/root"
    find "$dir/unpack/root" -name 'libcuda.so.*' -exec cp -P {} "$dir/drivers/${version%-*}/" \;
done
