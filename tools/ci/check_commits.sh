#!/bin/bash
# Checks the subjects of the commits that this branch adds to its upstream: an area, a colon, at most 72 characters.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly AREA='(loader|api|tests|tools|build|docs)'
if [[ $(git rev-parse --show-toplevel 2>/dev/null) != "$(pwd -P)" ]] ||
    ! base=$(git rev-parse --verify --quiet '@{upstream}'); then
    echo "   no upstream branch: subjects of commits are not checked"
    exit 0
fi
subjects=$(git log --no-merges --format='%h %s' "$base..")
wrong=$(sed '/^$/d' <<<"$subjects" | grep -vE "^[0-9a-f]+ $AREA(, $AREA)*: .+" || true
    sed -nE '/^[0-9a-f]+ .{73}/p' <<<"$subjects")
if [[ -n $wrong ]]; then
    printf 'error: subjects must begin with an area, like "api: ", and have at most 72 characters:\n%s\n' "$wrong" >&2
    exit 1
fi
echo "   subjects of $(grep -c . <<<"$subjects") commits follow the rule"
