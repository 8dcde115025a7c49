#!/bin/bash
# `tools/dev fuzz`: builds the fuzzers of tests/fuzz and runs them, --jobs at once (default: one per processor). Without
# --seconds, each runs so long that all of them together take an hour. Inputs that reach new code are kept in
# build/fuzz/corpus for the next run; inputs that crash a fuzzer are kept in build/fuzz/crashes. Status 77 without
# libFuzzer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common packages headers; do
    # shellcheck source=/dev/null
    . "tools/ci/$part.sh"
done

# NAME EDGES: the minimum number of edges reached in a minute. A fuzzer that reaches fewer no longer tests anything, since
# the first check rejects its inputs.
readonly FUZZERS=(
    "audit 2000"
    "descriptor_channel 120"
    "image 1000"
    "loader_elf 35"
    "settings 800"
)
readonly DIR=build/fuzz BUILD=build/fuzz/build

# Limits: bytes of an input, seconds and megabytes for an input.
readonly LIMITS=(-max_len=4096 -timeout=20 -report_slow_units=20 -rss_limit_mb=2048 -print_final_stats=1)

chosen=() seconds="" jobs=$(nproc) totals=""
while [[ $# -gt 0 ]]; do
    case $1 in
    --seconds | --jobs | --totals)
        [[ $# -ge 2 ]] || die "$1 requires a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    -*) die "tools/dev fuzz has no option '$1'" ;;
    *) chosen+=("$1") ;;
    esac
    shift
done
[[ -z $seconds || $seconds =~ ^[1-9][0-9]*$ ]] || die "--seconds requires a number"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "--jobs requires a number"
if [[ ${#chosen[@]} -eq 0 ]]; then chosen=("${FUZZERS[@]%% *}"); fi
floor_of() { # NAME
    local entry
    for entry in "${FUZZERS[@]}"; do
        [[ ${entry%% *} != "$1" ]] || echo "${entry##* }"
    done
}
for name in "${chosen[@]}"; do
    [[ -n $(floor_of "$name") ]] || die "no fuzzer named '$name'; known: ${FUZZERS[*]%% *}"
done

mkdir -p "$DIR/crashes"
ensure_build_tools
need_clang libFuzzer -fsanitize=fuzzer,address
ensure_cuda_headers native
use_compilers clang++ clang
run_logged "$DIR/configure.log" "configure" configure "$BUILD" --default-library=static -Dtests=disabled \
    -Dexamples=disabled -Dtools=enabled -Dsimulator=enabled -Dfuzzers=enabled -Db_sanitize=address,undefined \
    -Db_lundef=false -Doptimization=1 -Ddebug=false -Dcpp_args=-g1
run_logged "$DIR/build.log" "build" ninja -C "$BUILD" fuzzers
rm -rf "$DIR/seeds"
python3 tests/fuzz/seeds.py "$DIR/seeds"

# Temporary files for each input: in memory if possible.
scratch=$(mktemp -d -p /dev/shm cushim-XXXXXX 2>/dev/null) || scratch=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$scratch"' EXIT

rounds=$(((${#chosen[@]} + jobs - 1) / jobs))
[[ -n $seconds ]] || seconds=$((3600 / rounds))

# last_of NAME FORM: the fuzzer's progress, or nothing: \1 stands for its inputs, \2 for edges, \3 for inputs a second.
last_of() {
    sed -nE "s|^#([0-9]+).* cov: ([0-9]+).* exec/s: ([0-9]+).*|$2|p" "$DIR/$1.log" | tail -n 1
}
progress_of() { last_of "$1" '\1 inputs, \3 a second, \2 edges'; }

# Prints the progress every minute.
fuzz() { # NAME
    local fuzzer progress status=0
    mkdir -p "$DIR/corpus/$1"
    TMPDIR=$scratch UBSAN_OPTIONS=print_stacktrace=1 \
        ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
        "$BUILD/tests/fuzz/fuzz_$1" "-max_total_time=$seconds" "${LIMITS[@]}" \
        "-artifact_prefix=$DIR/crashes/$1-" "$DIR/corpus/$1" "$DIR/seeds/$1" >"$DIR/$1.log" 2>&1 &
    fuzzer=$!
    while sleep 60 >/dev/null 2>&1; do # must not keep the output open after this is killed
        note "$1: $(progress_of "$1")"
    done &
    progress=$!
    wait "$fuzzer" || status=$?
    kill "$progress" 2>/dev/null || true
    wait "$progress" 2>/dev/null || true
    return "$status"
}

report_failure() { # NAME PROBLEM
    local found fuzzer=$BUILD/tests/fuzz/fuzz_$1
    note "$1: FAILED, $2; full output: $DIR/$1.log"
    [[ -z $totals ]] || echo "fuzz: $1: $2; see $DIR/$1.log" >>"$FAILURES"
    grep -aE -A 12 'ERROR: |runtime error: ' "$DIR/$1.log" | head -n 40 || true
    found=$(sed -nE 's/.*Test unit written to (.*)/\1/p' "$DIR/$1.log" | tail -n 1)
    [[ -n $found ]] || return 0
    note "to run only that input: $fuzzer $found"
    note "to minimize it: $fuzzer -minimize_crash=1 -runs=100000 $found"
}

# Leaves an empty file NAME.passed on success.
run_fuzzer() { # NAME
    local status=0 reached
    rm -f "$DIR/$1.passed"
    fuzz "$1" || status=$?
    reached=$(last_of "$1" '\2')
    if [[ $status -ne 0 ]]; then
        report_failure "$1" "it ended with status $status"
    elif [[ $seconds -ge 60 && $reached -lt $(floor_of "$1") ]]; then
        report_failure "$1" "it reaches $reached edges, and $(floor_of "$1") are expected"
    else
        note "$1: $(progress_of "$1")"
        touch "$DIR/$1.passed"
    fi
}

step "fuzzers, $seconds s each, $jobs at once: ${chosen[*]}"
for name in "${chosen[@]}"; do
    while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do
        wait -n || true
    done
    run_fuzzer "$name" &
done
wait

failed=()
for name in "${chosen[@]}"; do
    [[ -e $DIR/$name.passed ]] || failed+=("$name")
done
passed=$((${#chosen[@]} - ${#failed[@]}))
[[ -z $totals ]] || echo "$passed ${#failed[@]} 0" >"$totals"
step "$passed of ${#chosen[@]} fuzzers passed${failed[*]:+, failed: ${failed[*]}}"
[[ ${#failed[@]} -eq 0 ]]
