#!/bin/bash
# The stages of CI, one function each. `stages.sh NAME` runs a stage; run_stages.sh sources this file for the list. A stage
# fails by its status, and skips with `skip`.
set -euo pipefail
# shellcheck source=tools/ci/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Tests that contributors need not wait for: whole builds of consumers, recordings of real drivers, and tests
# that compile, link or run many times. Suite `ci` marks such tests of other suites.
readonly SLOW_SUITES=(package conformance headers ci)
# The suites of cross builds: those that need only the loader and fake libraries.
readonly CROSS_SUITES=(loader forward values nodriver dropin)

# In the order in which they begin: the longest first. The first, `tools/dev test`, ends before the others begin, since they
# use its files.
# shellcheck disable=SC2034 # for run_stages.sh
readonly STAGES="\
test           g++, static: behavior of the library, the tools and the simulator; in CI without a toolkit
asan           clang++, address and undefined-behavior sanitizers; without a toolkit
gcc            static and shared libraries from one build: consumers, headers alone, nvcc's objects, the loader
windows        mingw-w64, run under Wine: ${CROSS_SUITES[*]}; clang in MSVC's mode reads headers and sources
matrix-11.8    headers and libcudart of CUDA 11.8, the oldest tested; graphs and the drop-in on its simulator
bare           the rest of stage test: no CUDA but cuda.h, cuda_runtime_api.h and what they include
format         sources are formatted, include downwards and are documented; commits; recipes; clang-tidy on what changed
tsan           thread sanitizer, no precompiled headers: loader, forward, values, dropin
matrix-13.0    headers and libcudart of CUDA 13.0, as users build it
aarch64        64-bit Arm, run under QEMU: ${CROSS_SUITES[*]}
bench          benchmarks: instruction counts and sizes
matrix-newest  headers and libcudart of the newest release in the package index
matrix-12.0    headers and libcudart of CUDA 12.0
matrix-12.4    headers and libcudart of CUDA 12.4
matrix-12.9    headers and libcudart of CUDA 12.9
real           real NVIDIA driver libraries, without a device
fuzz           all fuzzers at once, for a minute"

# These run where without_cuda.sh hides all of CUDA but a few headers; test does so only in CI.
# shellcheck disable=SC2034
readonly WITHOUT_CUDA=" test asan bare "

# need_toolchain COMMAND:PACKAGE...
need_toolchain() { try_commands "$@" || skip_or_fail "missing toolchain: ${*//:*/}"; }

# run_suites STAGE DIR SUITE...: runs these suites (-SUITE: all except that one).
run_suites() {
    local suite options=()
    for suite in "${@:3}"; do
        if [[ $suite == -* ]]; then options+=(--no-suite "${suite#-}"); else options+=(--suite "$suite"); fi
    done
    run_tests "$1" "$2" "${RUN_TESTS[@]}" meson test -C "$2" --print-errorlogs \
        --timeout-multiplier "${TIMEOUT_FACTOR:-2}" "${options[@]}"
}
RUN_TESTS=() # a command before it

# run_tests STAGE DIR COMMAND...: runs the command, and checks the counts against tools/ci/expected_counts.txt.
run_tests() {
    local status=0
    rm -f "$2/meson-logs/testlog.json" # of an earlier run, in case the build fails
    "${@:3}" || status=$?
    python3 tools/ci/check_counts.py "$2" --stage "$1" --totals "build/ci/$1.totals" --failures "$FAILURES" \
        ${UPDATE_COUNTS:+--update}
    return $status
}

# Not optimized, with assertions, without debug information: sanitizer reports need -g1. run_suites then builds only what
# its suites need.
configure_stage() { # STAGE OPTION...
    configure "build/ci/$1" -Doptimization=0 -Ddebug=false --default-library=static "${DEVELOPER_OPTIONS[@]}" "${@:2}"
}

# All that `ninja all` builds, without tests.
compile_product() { # DIR
    ninja -C "$1" -t query all | sed -nE '/^  input:/,/^  outputs:/s/^    (\|\|? )?//p' |
        grep -vE '^(tests/|tools/simulator/conformance/|meson-)' | xargs ninja -C "$1"
}

# Includes the GPU tests, so that they compile on every machine; and the further libraries whose headers it has, with one
# whose header is in the tests.
configure_gcc() { # STAGE OPTION...
    local own=$PWD/tests/package/consumers/own_library
    use_compilers g++ gcc
    configure_stage "$@" -Dsimulator=enabled -Dwerror=true -Dgpu_tests=enabled \
        "-Dlibraries=all,$own/greeter.txt" "-Dlibrary_headers=$own"
}

# Meson builds only what these tests need. In CI, they run in the folder of stage bare.
stage_test() {
    local options=() suite dir=build/ci/test
    [[ -z ${CUDA_HEADERS:-} ]] || dir=build/ci/bare
    for suite in gpu "${SLOW_SUITES[@]}"; do
        options+=(--no-suite "$suite")
    done
    run_logged "$dir-configure.log" "configure" configure_gcc "${dir##*/}"
    run_tests test "$dir" run_logged "$dir.log" "build and test" \
        meson test -C "$dir" --print-errorlogs --timeout-multiplier 2 "${options[@]}"
}

# "CUDA headers only": builds and tests everything without other CUDA headers and without CUDA libraries. Stage test ran the
# other suites; stage gcc runs the drop-in's.
stage_bare() {
    configure_gcc bare
    meson compile -C build/ci/bare
    run_suites bare build/ci/bare conformance ci -package -dropin
}

stage_format() {
    bash tools/ci/check_commits.sh
    python3 tools/ci/check_includes.py
    python3 tools/packaging/check_recipes.py
    bash tools/ci/format.sh --check
    tools/dev docs
    bash tools/ci/tidy.sh
}

stage_gcc() {
    try_commands cmake:cmake || note "without CMake, one of the package consumers is skipped"
    try_install libgtest-dev || note "without GoogleTest, its suite is skipped"
    command -v clang++-{16..22} >/dev/null || try_install clang-19 ||
        note "without clang 16 or newer, the test of the module is skipped"
    try_commands musl-gcc:musl-tools || note "without musl-gcc, its programs are not tested"
    configure_gcc gcc --default-library=both
    compile_product build/ci/gcc
    export CUSHIM_PACKAGE_BUILDS=$PWD/build/ci/package # see tests/package/consumer.py
    run_suites gcc build/ci/gcc package headers dropin loader nodriver libraries
}

# The sanitizer's library is shared, so the simulator that tests load has no copy of its own, and tests can replace operator
# new. clang's additional checks are disabled: the table calls functions of another library with types of its own, and newer
# drivers have values that our enumerations lack.
stage_asan() {
    need_clang AddressSanitizer -fsanitize=address -shared-libsan
    use_compilers clang++ clang
    local compile="['-g1', '-DTEST_SHARED_SANITIZER', '-fno-sanitize=function,enum']"
    local link="['-shared-libsan', '-Wl,-rpath,$(clang++ -print-runtime-dir)']"
    configure_stage asan -Dsimulator=enabled -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=true \
        "-Dcpp_args=$compile" "-Dc_args=$compile" "-Dcpp_link_args=$link" "-Dc_link_args=$link"
    # LeakSanitizer assumes glibc 2.19's layout for a thread's block of a loaded library if it begins 16 bytes after a page
    # boundary, and then crashes: one test program in some hundred. Without this assumption, it finds these blocks like all
    # other memory.
    export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
    ASAN_OPTIONS+=:intercept_tls_get_addr=0
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    # Pairs of failing calls take a third of the time, and run without a sanitizer in stage test.
    API_TEST_PAIRS=none TIMEOUT_FACTOR=4 run_suites asan build/ci/asan \
        -package -conformance -ci -reports -forward -info -headers -real
}

# No suppressions. ThreadSanitizer fails at start-up if the kernel randomizes addresses further than it supports; a run
# without randomization shows the same races.
stage_tsan() {
    local program=build/ci/tsan-works
    use_compilers g++ gcc
    # Without precompiled headers, so that sources must include what they use.
    configure_stage tsan -Db_sanitize=thread -Dcpp_args=-g1 -Dc_args=-g1 -Db_pch=false
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
    echo 'int main() {}' | g++ -fsanitize=thread -x c++ - -o "$program"
    for _ in {1..8}; do
        "$program" 2>/dev/null || RUN_TESTS=(setarch -R)
    done
    TIMEOUT_FACTOR=6 run_suites tsan build/ci/tsan loader forward values dropin
}

# Unity builds for subprojects only: builds Catch2 in a third of the time.
cross_stage() { # STAGE "CROSSFILE..." SUITE...
    local file files=()
    for file in $2; do
        files+=(--cross-file "tools/cross/$file")
    done
    ensure_catch2 cross
    ensure_cuda_headers cross
    export PATH=$PWD/tools/cross:$PATH
    configure_stage "$1" "${files[@]}" -Dunity=subprojects
    meson compile -C "build/ci/$1"
    TIMEOUT_FACTOR=6 run_suites "$1" "build/ci/$1" "${CROSS_SUITES[@]}" "${@:3}"
}

stage_windows() {
    need_toolchain x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix
    find_wine || try_install wine64 || try_install wine || true
    find_wine || skip_or_fail "Wine is missing"
    trap stop_wine EXIT
    need_toolchain clang++:clang # in MSVC's mode
    cross_stage windows "x86_64-w64-mingw32.ini wine.ini" msvc
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

# matrix-RELEASE: builds the libraries with the headers of a release, runs the suite forward, and resolves every row of the
# runtime table in its libcudart; both come as wheels. With clang++, the generator must find the same rows. The areas that
# differ most between releases, graphs and the drop-in, are tested on the simulated driver and runtime of the oldest.
release_stage() { # STAGE RELEASE
    local release=$2 wheel=build/matrix/$2 dir=build/ci/$1 options=(--buildtype=plain) requirement
    local suites=(forward real -ci)
    case $release in
    11.8)
        requirement=nvidia-cuda-runtime-cu11==11.8.89
        options+=(-Dsimulator=enabled "-Dapi_topics=graph,capture")
        suites+=(loader api dropin)
        ;;
    12.*) options+=(-Dtools=disabled) ;;& # cushim-info is built with the oldest and the newest
    12.0) requirement=nvidia-cuda-runtime-cu12==12.0.146 ;;
    12.4) requirement=nvidia-cuda-runtime-cu12==12.4.127 ;;
    12.9) requirement=nvidia-cuda-runtime-cu12==12.9.79 ;;
    13.0)
        requirement=$RUNTIME_WHEEL options=(--buildtype=release -Dwerror=true) # as users build it, without warnings
        suites+=(loader)
        ;;
    newest)
        requirement=nvidia-cuda-runtime # which has no known hash
        suites+=(loader)
        rm -rf "$wheel"
        ;;
    esac
    bring_wheels "$wheel" "$requirement" || skip_or_fail "the wheels of CUDA $release cannot be downloaded"
    note "CUDA $(cat "$wheel/complete")"
    # shellcheck disable=SC2034 # configure reads it
    HEADER_OPTIONS=("-Dheaders_dir=$(wheel_include "$wheel")")
    use_compilers g++ gcc
    configure "$dir" --default-library=static "${DEVELOPER_OPTIONS[@]}" "${options[@]}"
    compile_product "$dir"
    same_rows_with_clang "$wheel" "$dir"
    CUSHIM_RUNTIME_REAL=$(wheel_runtime "$wheel")
    [[ -n $CUSHIM_RUNTIME_REAL ]] || die "no libcudart in the wheel"
    export CUSHIM_RUNTIME_REAL
    run_suites "$1" "$dir" "${suites[@]}"
}

# The tables must not depend on the compiler that preprocessed the headers.
same_rows_with_clang() { # WHEEL DIR
    try_commands clang++:clang || { note "without clang++, its rows are not compared with those of g++"; return 0; }
    python3 tools/generate_tables.py --output "$1-rows" --strict --include "$(wheel_include "$1")" -- clang++
    cmp "$(find "$2" -name rows.json -print -quit)" "$1-rows/rows.json"
}

stage_real() {
    bash tools/ci/real_libraries.sh build/real || skip_or_fail "real driver libraries cannot be downloaded"
    use_compilers g++ gcc
    configure_stage real -Dwerror=true # as in stage gcc, so that ccache has the files
    CUSHIM_REAL_LIBS=$PWD/build/real run_suites real build/ci/real real
}

# The benchmarks build the programs that they measure, each with the options that it needs.
stage_bench() {
    need_toolchain valgrind:valgrind clang++:clang
    CXX=g++ CC=gcc configure_stage bench -Dsimulator=enabled
    run_tests bench build/ci/bench meson test -C build/ci/bench --no-rebuild --print-errorlogs --benchmark
}

# All run at once, whatever the number of processors, since CI time is limited.
stage_fuzz() {
    need_clang libFuzzer -fsanitize=fuzzer,address
    run_tests fuzz build/fuzz/build bash tools/ci/fuzz.sh --seconds "${FUZZ_SECONDS:-60}" --jobs 5
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    PATH=$PWD/build/bin:$PATH
    unset CXX CC # stages choose their own
    rm -f "build/ci/$1.totals"
    ensure_cuda_headers native
    [[ -z ${CUDA_HEADERS:-} ]] || ! compiler_has cuda_runtime.h ||
        die "the compiler's default path has CUDA headers, of a package: remove it"
    case $1 in
    matrix-*) release_stage "$1" "${1#matrix-}" ;;
    *) "stage_$1" ;;
    esac
fi
