#!/bin/bash
# Runs clang-tidy with .clang-tidy on the sources of src and tools that changed since the commit BASE, and on those that
# include a changed header directly. Usage: tools/ci/tidy.sh [BASE | --all]. BASE is by default TIDY_BASE of the
# environment, or the commit where this branch left its upstream, or else the last commit but one. After a change of
# .clang-tidy run it with --all: some ten minutes. As of clang-format, one release counts, which comes as a wheel.
set -euo pipefail
# shellcheck source=tools/ci/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

base=${1:-${TIDY_BASE:-}}
if [[ -z $base ]]; then
    base=$(git merge-base HEAD '@{upstream}' 2>/dev/null) || base=$(git rev-parse HEAD)
    [[ $base != $(git rev-parse HEAD) ]] ||
        base=$(git rev-parse --verify --quiet HEAD~1) || base=--all # in a clone of one commit
fi
wanted=. # matches what is to be checked
if [[ $base != --all ]]; then
    git rev-parse --verify --quiet "$base^{commit}" >/dev/null || die "'$base' is not a commit"
    # Sources and headers that differ, new ones included, as an expression for a path or a line that includes it.
    wanted=$({
        git diff --name-only --diff-filter=d "$base" -- src tools include
        git ls-files --others --exclude-standard -- src tools include
    } | sed -nE 's/\./\\./g; /\.(h|hpp|c|cpp)$/p' | while read -r path; do
        case $path in
        include/*) echo "# *include <${path#include/}>" ;;
        *) printf '%s\n' "^$path\$" "# *include \"(.*/)?${path##*/}\"" ;;
        esac
    done)
    [[ -n $wanted ]] || { note "no source changed since ${base:0:12}"; exit 0; }
fi

ensure_wheel_program "$TIDY_WHEEL"
need_clang "a standard library"
ensure_build_tools
ensure_cuda_headers native
dir=build/ci/tidy
# Its compiler's options are the ones that clang-tidy knows.
export CXX=clang++ CC=clang
run_logged "$dir.log" "configure" configure "$dir" -Db_pch=false -Ddebug=false -Dtests=disabled -Dtools=enabled \
    -Dexamples=disabled -Dsimulator=enabled
# Tables and other generated sources, without compiling anything.
ninja -C "$dir" -t targets all | sed -nE 's/^(.*\.(h|hpp|c|cpp|inc)): CUSTOM_COMMAND.*/\1/p' |
    run_logged "$dir.log" "generate" xargs -r ninja -C "$dir"
mapfile -t sources < <(
    sed -nE 's#^ *"file": "(\.\./)+((src|tools)/.*)",?$#\2#p' "$dir/compile_commands.json" | sort -u |
        while read -r source; do
            ! { echo "$source" && grep -E "^# *include" "$source"; } | grep -E -- "$wanted" >/dev/null || echo "$source"
        done
)
[[ ${#sources[@]} -gt 0 ]] || { note "no source that is compiled here changed"; exit 0; }
printf '%s\0' "${sources[@]}" |
    xargs -0 -P "$(nproc)" -n 4 build/venv/bin/clang-tidy --quiet -p "$dir" 2>"$dir.errors" || {
    grep -v 'warnings\? generated\|^\[[0-9/]*\] Processing' "$dir.errors" || true
    die "clang-tidy has remarks; tools/ci/tidy.sh shows them, .clang-tidy has the checks"
}
note "${#sources[@]} sources pass clang-tidy"
