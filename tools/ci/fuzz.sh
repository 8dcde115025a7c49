#!/bin/bash
# `tools/dev fuzz`: builds the fuzzers of tests/fuzz and runs them as tests of Meson, --jobs at once (default: one per
# processor). Without --seconds, each runs so long that all of them together take an hour. Status 77 without libFuzzer.
set -euo pipefail
# shellcheck source=tools/ci/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

names=() seconds="" jobs=$(nproc)
while [[ $# -gt 0 ]]; do
    case $1 in
    --seconds | --jobs)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "$1 requires a number"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    -*) die "tools/dev fuzz has no option '$1'" ;;
    *) names+=("fuzz-$1") ;;
    esac
    shift
done

ensure_build_tools
need_clang libFuzzer -fsanitize=fuzzer,address
ensure_cuda_headers native
use_compilers clang++ clang
readonly BUILD=build/fuzz/build
run_logged build/fuzz/configure.log "configure" configure "$BUILD" --default-library=static -Dtests=disabled \
    -Dexamples=disabled -Dtools=enabled -Dsimulator=enabled -Dfuzzers=enabled -Db_sanitize=address,undefined \
    -Db_lundef=false -Doptimization=1 -Ddebug=false -Dcpp_args=-g1
run_logged build/fuzz/build.log "build" ninja -C "$BUILD" fuzzers
count=${#names[@]}
[[ $count -gt 0 ]] || count=$(meson test -C "$BUILD" --list 2>/dev/null | grep -c fuzz-)
[[ -n $seconds ]] || seconds=$((3600 / ((count + jobs - 1) / jobs)))
step "$count fuzzers, $seconds s each, $jobs at once; build/fuzz/NAME.log has their progress"
FUZZ_SECONDS=$seconds FUZZ_FOLDER=$PWD/build/fuzz meson test -C "$BUILD" --no-rebuild --print-errorlogs --num-processes "$jobs" --suite fuzz "${names[@]}"
