# Shell functions that every script here shares: messages, and the few calls of Meson. Sourced.
# shellcheck shell=bash

step() { printf '== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Exit status that Meson, and our stages, read as "skipped".
# shellcheck disable=SC2034 # for the scripts that source this
readonly SKIP_STATUS=77

# What failed tests said last, of all stages of a run.
# shellcheck disable=SC2034
readonly FAILURES=build/ci/failures.txt

in_ci() { [[ ${CI:-} == true || ${CI:-} == 1 ]]; }

# version_at_least HAVE WANT
version_at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# Options that ensure_cuda_headers fills in and configure passes on.
HEADER_OPTIONS=()

# configure DIR OPTION...: sets a build folder up, or brings an existing one to these options.
# A folder that was left half-way by a failed run is set up anew.
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

# Everything is built, and a header construct that the generator does not understand is an error.
# The simulator, which takes as long to build as the rest, only where a stage says so.
# shellcheck disable=SC2034 # for the scripts that source this
readonly DEVELOPER_OPTIONS=(-Dtests=enabled -Dtools=enabled -Dexamples=enabled -Dstrict_tables=true
    -Dsimulator=disabled)
# shellcheck disable=SC2034
readonly SIMULATOR_OPTIONS=("${DEVELOPER_OPTIONS[@]/simulator=disabled/simulator=enabled}")

compile() { meson compile -C "$1"; }

# built DIR NAME: where the built program NAME is, wherever below DIR Meson put it.
built() {
    local program
    program=$(find "$1" -type f -name "$2" -perm -u+x -print -quit)
    [[ -n $program ]] || die "$2 was not built in $1"
    printf '%s\n' "$program"
}

# run_built DIR NAME ARGUMENT...: runs a built program.
run_built() {
    local program
    program=$(built "$1" "$2")
    shift 2
    "$program" "$@"
}
