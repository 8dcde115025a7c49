#!/bin/bash
# Applies .clang-format to the tree; with --check, only reports differences. Releases of clang-format differ in details,
# so the release is fixed: FORMAT_WHEEL of packages.sh, a wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/ci/common.sh
. tools/ci/common.sh
# shellcheck source=tools/ci/packages.sh
. tools/ci/packages.sh

program=build/venv/bin/clang-format
has_release() { "$program" --version 2>/dev/null | grep -q "version ${FORMAT_WHEEL#*==}"; }
if ! has_release && ! { install_wheel "$FORMAT_WHEEL" && has_release; }; then
    ! in_ci || die "$FORMAT_WHEEL is not available"
    note "SKIPPED: $FORMAT_WHEEL is not available on this machine"
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
