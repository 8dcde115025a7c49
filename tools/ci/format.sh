#!/bin/bash
# Applies .clang-format to the tree; with --check, only reports differences. Releases of clang-format differ in details,
# so the release is fixed: FORMAT_WHEEL of packages.sh, a wheel.
set -euo pipefail
# shellcheck source=tools/ci/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ensure_wheel_program "$FORMAT_WHEEL"
program=build/venv/bin/clang-format
mapfile -t files < <(find include src tests tools -type f \
    \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' \) | sort)
[[ ${#files[@]} -gt 0 ]] || die "no sources found"
if [[ ${1:-} == --check ]]; then
    "$program" --dry-run --Werror "${files[@]}"
    note "${#files[@]} files are formatted"
else
    "$program" -i "${files[@]}"
fi
