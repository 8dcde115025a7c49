#!/bin/bash
# Downloads real NVIDIA driver libraries of several branches for tests that need no device:
#   real_libraries.sh DIR      ->  DIR/drivers/<version>/libcuda.so.1, about 10 MB each
# They come from the non-free section of this Debian machine's archive. Fails if that is impossible. Never commit them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/ci/common.sh
. tools/ci/common.sh
# shellcheck source=tools/ci/private_apt.sh
. tools/ci/private_apt.sh

dir=${1:?folder}
# The Debian releases of the branches: bullseye 470, bookworm 535, trixie 550.
readonly BRANCHES=(470 535 550)

have_branch() { compgen -G "$dir/drivers/$1.*/libcuda.so.1" >/dev/null; }

missing=()
for branch in "${BRANCHES[@]}"; do
    have_branch "$branch" || missing+=("$branch")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

[[ $(uname -m) == x86_64 ]] || { note "these libraries are for x86-64"; exit 1; }
[[ $(distribution) == Debian ]] || { note "this machine does not use a Debian archive"; exit 1; }
COMPONENTS="main contrib non-free" private_apt_setup build/apt/real deb bullseye bookworm trixie ||
    { note "the archive cannot be read"; exit 1; }

for branch in "${missing[@]}"; do
    version=$(apt-cache "${PRIVATE_APT[@]}" madison libcuda1 |
        sed -n "s/^[^|]*| *\($branch\.[^ ]*\) .*/\1/p" | sort -V | tail -n 1)
    [[ -n $version ]] || { note "the archive has no driver of branch $branch"; exit 1; }
    step "real driver library $version"
    work=$dir/unpack
    rm -rf "$work"
    mkdir -p "$work"
    (cd "$work" && apt-get "${PRIVATE_APT[@]}" download "libcuda1=$version")
    dpkg -x "$work"/libcuda1_*.deb "$work/root"
    target=$dir/drivers/${version%-*}
    mkdir -p "$target"
    find "$work/root" -name 'libcuda.so.*' -exec cp -P {} "$target/" \;
    rm -rf "$work"
    have_branch "$branch" || die "package libcuda1 $version contains no libcuda.so.1"
done
