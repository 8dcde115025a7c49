#!/bin/bash
# Applies .clang-format to the tree, or with --check reports what differs. Releases of clang-format
# differ in small things, so only one release counts: the one of Debian 12.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/ci/common.sh
. tools/ci/common.sh
# shellcheck source=tools/ci/packages.sh
. tools/ci/packages.sh

readonly RELEASE=14

formatter() {
    local name
    for name in "clang-format-$RELEASE" clang-format; do
        if command -v "$name" >/dev/null && "$name" --version | grep -q "version $RELEASE\."; then
            echo "$name"
            return 0
        fi
    done
    return 1
}

if ! formatter >/dev/null; then
    if [[ -n $(package_candidate "clang-format-$RELEASE") ]]; then
        try_install "clang-format-$RELEASE" || true
    fi
fi
if ! program=$(formatter); then
    note "SKIPPED: clang-format $RELEASE cannot be had on this machine"
    exit "$SKIP_STATUS"
fi
mapfile -t files < <(find include src tests tools -type f \
    \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' \) | sort)
[[ ${#files[@]} -gt 0 ]] || die "no sources found"
if [[ ${1:-} == --check ]]; then
    "$program" --dry-run --Werror "${files[@]}"
    note "${#files[@]} files are formatted"
else
    "$program" -i "${files[@]}"
fi
