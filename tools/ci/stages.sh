# The stages of `tools/dev test`, one function each, run in order of STAGES. Sourced by stage.sh, in
# a process of its own for every stage. A stage fails by its status and skips with `skip`.
# shellcheck shell=bash

# shellcheck disable=SC2034 # for the scripts that source this
readonly STAGES=(format gcc clang asan tsan both windows aarch64 matrix real bench)
# What the cross builds run: everything that needs nothing but the loader and fake libraries.
readonly CROSS_SUITES=(loader forward values nodriver dropin)

describe_stage() {
    case $1 in
    format) echo "sources are formatted" ;;
    gcc) echo "g++, static: every suite, package consumers included; what needs a GPU is compiled" ;;
    clang) echo "clang++, static, no precompiled headers: every suite but package" ;;
    asan) echo "address and undefined-behaviour sanitizers" ;;
    tsan) echo "thread sanitizer: loader, forward, values, dropin" ;;
    both) echo "static and shared libraries from one build" ;;
    windows) echo "mingw-w64, run under Wine: ${CROSS_SUITES[*]}" ;;
    aarch64) echo "64-bit Arm, run under QEMU: ${CROSS_SUITES[*]}" ;;
    matrix) echo "headers and libcudart of every supported CUDA release" ;;
    real) echo "real NVIDIA driver libraries, without a device" ;;
    bench) echo "benchmarks: instruction counts and sizes" ;;
    esac
}

skip() {
    note "SKIPPED: $*"
    exit "$SKIP_STATUS"
}

# Where CI runs, packages can be had: a toolchain that is missing there is an error.
need_toolchain() {
    try_commands "$@" && return 0
    ! in_ci || die "missing toolchain: ${*//:*/}"
    skip "missing toolchain: ${*//:*/}"
}

# run_suites STAGE DIR SUITE...: runs these suites (none: all; -SUITE: all but that one) and holds
# the counts against tools/ci/expected_counts.txt.
run_suites() {
    local stage=$1 dir=$2 suite options=() status=0
    shift 2
    for suite in "$@"; do
        case $suite in
        -*) options+=(--no-suite "${suite#-}") ;;
        *) options+=(--suite "$suite") ;;
        esac
    done
    "${TEST_PREFIX[@]}" meson test -C "$dir" --print-errorlogs \
        --timeout-multiplier "${TIMEOUT_FACTOR:-2}" "${options[@]}" || status=$?
    check_counts "$stage" "$dir"
    return $status
}
TEST_PREFIX=()

check_counts() { # STAGE DIR OPTION...
    local stage=$1 dir=$2
    shift 2
    python3 tools/ci/check_counts.py "$dir" --stage "$stage" --totals "build/ci/$stage.totals" \
        --failures "$FAILURES" ${UPDATE_COUNTS:+--update} "$@"
}

# Not optimised, with assertions; debug information, which takes long to write and to link, only as
# far as a sanitizer's report needs it.
readonly LINE_NUMBERS=(-Dcpp_args=-g1 -Dc_args=-g1)

build_stage() { # STAGE OPTION...
    local dir=build/ci/$1 options=("${DEVELOPER_OPTIONS[@]}")
    shift
    [[ -z ${WITH_SIMULATOR:-} ]] || options=("${SIMULATOR_OPTIONS[@]}")
    configure "$dir" -Doptimization=0 -Ddebug=false --default-library=static "${options[@]}" "$@"
    compile "$dir"
}

stage_format() {
    bash tools/ci/format.sh --check
}

stage_gcc() {
    try_commands cmake:cmake || note "without CMake one of the package consumers is skipped"
    build_everything
    run_suites gcc build/ci/gcc -gpu
}
# What needs a GPU too, so that it compiles wherever somebody has one.
build_everything() {
    WITH_SIMULATOR=1 CXX=g++ CC=gcc build_stage gcc -Dwerror=true -Dgpu_tests=enabled
}

stage_clang() {
    need_toolchain clang++:clang
    # Without precompiled headers each file must include what it needs.
    CXX=clang++ CC=clang build_stage clang -Dwerror=true -Db_pch=false
    run_suites clang build/ci/clang -package -reports
}

stage_asan() {
    WITH_SIMULATOR=1 CXX=g++ CC=gcc build_stage asan -Db_sanitize=address,undefined \
        "${LINE_NUMBERS[@]}"
    # LeakSanitizer takes a thread's block of a loaded library for what glibc 2.19 had, where it begins 16
    # bytes behind a page, and ends by a fault of its own: one test program in some hundred. Not told of such
    # blocks, it finds them as it finds all other memory.
    export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
    ASAN_OPTIONS+=:intercept_tls_get_addr=0
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    TIMEOUT_FACTOR=4 run_suites asan build/ci/asan -package -headers -reports
}

# No suppressions. ThreadSanitizer stops at start-up where the kernel randomises addresses further
# than it knows; a run without randomisation shows the same races.
stage_tsan() {
    CXX=g++ CC=gcc build_stage tsan -Db_sanitize=thread "${LINE_NUMBERS[@]}"
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
    tsan_works || TEST_PREFIX=(setarch -R)
    TIMEOUT_FACTOR=6 run_suites tsan build/ci/tsan loader forward values dropin
}
tsan_works() {
    local program=build/ci/tsan/tsan-works
    echo 'int main() {}' | g++ -fsanitize=thread -x c++ - -o "$program"
    for _ in 1 2 3 4 5 6 7 8; do "$program" 2>/dev/null || return 1; done
}

stage_both() {
    CXX=g++ CC=gcc build_stage both --default-library=both
    run_suites both build/ci/both loader forward values nodriver dropin info package-both
}

# Unity builds for subprojects only: that is Catch2, in a third of the time.
cross_stage() { # STAGE CROSSFILE
    ensure_catch2 cross
    ensure_cuda_headers cross
    PATH=$PWD/tools/cross:$PATH
    build_stage "$1" --cross-file "tools/cross/$2" -Dunity=subprojects
    TIMEOUT_FACTOR=6 run_suites "$1" "build/ci/$1" "${CROSS_SUITES[@]}"
}

stage_windows() {
    need_toolchain x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix
    find_wine || try_install wine64 || try_install wine || true
    if ! find_wine; then
        ! in_ci || die "Wine is missing"
        skip "Wine is missing"
    fi
    trap stop_wine EXIT
    cross_stage windows x86_64-w64-mingw32.ini
}
find_wine() { command -v wine64 wine /usr/lib/wine/wine64 >/dev/null; }
stop_wine() { # the server that tools/cross/cushim-wine keeps
    local server
    server=$(command -v wineserver /usr/lib/wine/wineserver wineserver-stable | head -n 1) || return 0
    WINEPREFIX=${CUSHIM_WINEPREFIX:-$PWD/build/wine} "$server" -k || true
}

stage_aarch64() {
    need_toolchain aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64:qemu-user
    cross_stage aarch64 aarch64-linux-gnu.ini
}

stage_matrix() { bash tools/ci/matrix.sh; }

stage_real() {
    bash tools/ci/real_libraries.sh build/real ||
        skip "real driver libraries cannot be brought to this machine"
    build_everything
    CUSHIM_REAL_LIBS=$PWD/build/real run_suites real build/ci/gcc real
}

# The benchmarks build what they measure, each with the options it needs.
stage_bench() {
    need_toolchain valgrind:valgrind clang++:clang
    CXX=g++ CC=gcc configure build/ci/bench --buildtype=release --default-library=static \
        "${DEVELOPER_OPTIONS[@]}"
    local status=0
    meson test -C build/ci/bench --no-rebuild --print-errorlogs --benchmark \
        --logbase benchmarklog || status=$?
    check_counts bench build/ci/bench --log benchmarklog.json
    return $status
}
