# Shell functions that all scripts here share: messages, and calls of Meson. Sourced; changes to the root of the tree.
# shellcheck shell=bash

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in packages headers private_apt; do
    # shellcheck source=/dev/null
    . "tools/ci/$part.sh"
done

step() { printf '== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# The exit status that Meson and our stages treat as "skipped"; a file with the last output of failed tests of all stages.
# shellcheck disable=SC2034 # for the scripts that source this
readonly SKIP_STATUS=77 FAILURES=build/ci/failures.txt

in_ci() { [[ ${CI:-} == true || ${CI:-} == 1 ]]; }

# version_at_least HAVE WANT
version_at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# Options from ensure_cuda_headers for configure.
HEADER_OPTIONS=()

# configure DIR OPTION...: sets up a build folder, or updates the options of an existing one. A folder that a failed run
# left incomplete is set up again.
configure() {
    local dir=$1
    shift
    local options=("${HEADER_OPTIONS[@]}" "$@")
    if [[ -e $dir/build.ninja ]] && meson setup --reconfigure "$dir" "${options[@]}" \
        >"$dir/reconfigure.log" 2>&1; then
        return 0
    fi
    rm -rf "$dir"
    meson setup "$dir" "${options[@]}"
}

# A header construct that the generator does not understand is an error. The simulator, which takes as long to build as the
# rest, is built only if a stage requests it: a later option replaces an earlier one.
# shellcheck disable=SC2034 # for the scripts that source this
readonly DEVELOPER_OPTIONS=(-Dtests=enabled -Dtools=enabled -Dexamples=enabled -Dstrict_tables=true
    -Dsimulator=disabled)

# use_compilers CXX CC: for build folders that are set up afterwards. If ccache is installed, a file is compiled once for
# all folders with the same options.
use_compilers() {
    local cache=""
    if command -v ccache >/dev/null; then
        cache="ccache "
        # Required for precompiled headers. GCC looks for __TIME__ in them, which no source here uses. Tests of packages
        # compile in another locale.
        export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,locale}
        # Without it, ccache compares the preprocessed source: a precompiled header stays as it was if a macro changes.
        export CCACHE_DEPEND=1
    fi
    export CXX=$cache$1 CC=$cache$2
}

# run_logged LOG TITLE COMMAND...: runs a command, keeps its output in LOG, and shows its progress. On failure, prints the
# output from the first failed build step, or else the last lines.
run_logged() {
    local log=$1 title=$2 begin=$SECONDS status=0 progress
    shift 2
    mkdir -p "$(dirname "$log")"
    : >"$log"
    show_progress "$log" "$title" &
    progress=$!
    "$@" >"$log" 2>&1 || status=$?
    kill "$progress" 2>/dev/null || true
    wait "$progress" 2>/dev/null || true
    [[ ! -t 1 ]] || printf '\r\033[K'
    if [[ $status -eq 0 ]]; then
        note "$title: $((SECONDS - begin)) s"
        return 0
    fi
    note "$title: failed after $((SECONDS - begin)) s"
    if grep -q '^FAILED: ' "$log"; then
        sed -n '/^FAILED: /,$p' "$log" | head -n 60
    else
        tail -n 40 "$log"
    fi
    note "full output: $log"
    return "$status"
}

# The last step that Ninja ([12/345]) or Meson's tests (12/345) wrote to a log: every second on a terminal, every 20
# seconds in a log file.
show_progress() { # LOG TITLE
    local begin=$SECONDS at interval=20 form='   %s: %s %d s\n'
    [[ ! -t 1 ]] || { interval=1 form='\r\033[K   %s: %s %d s'; }
    while sleep "$interval" >/dev/null 2>&1; do # must not keep the output open after this is killed
        at=$(tail -c 20000 "$1" | grep -aoE '^ *\[?[0-9]+/[0-9]+\]?' | tail -n 1 | tr -d ' ')
        # shellcheck disable=SC2059 # the form is one of the two above
        printf "$form" "$2" "${at:+$at,}" $((SECONDS - begin))
    done
}
