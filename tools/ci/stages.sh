# The stages of `tools/dev ci`, one function each, run in the order of STAGES. The first one is all of `tools/dev test`.
# Sourced by stage.sh, in a separate process for every stage. A stage fails by its status and skips with `skip`.
# shellcheck shell=bash

# shellcheck disable=SC2034 # for the scripts that source this
readonly STAGES=(test format bare gcc asan tsan windows aarch64 matrix newest real bench fuzz)
# Two lanes at once; the stages of a lane share folders or unpack the same source.
# shellcheck disable=SC2034
readonly LANES=("format bare gcc tsan windows aarch64 real" "asan matrix newest bench fuzz")
# Tests that contributors need not wait for: whole builds of consumers, recordings of real drivers, and tests
# that compile, link or run many times. Suite `ci` marks such tests of other suites.
readonly SLOW_SUITES=(package conformance headers ci)
# The suites of cross builds: those that need only the loader and fake libraries.
readonly CROSS_SUITES=(loader forward values nodriver dropin)

describe_stage() {
    case $1 in
    test) echo "g++, static: behavior of the library, the tools and the simulator; in CI without a toolkit" ;;
    format) echo "sources are formatted, include downwards and are documented; recipes; clang-tidy on what changed" ;;
    bare) echo "the rest of that build: no CUDA but cuda.h, cuda_runtime_api.h and what they include" ;;
    gcc) echo "static and shared libraries from one build: consumers, headers alone, nvcc's objects, the loader" ;;
    asan) echo "clang++, address and undefined-behavior sanitizers; no CUDA but the headers of the wheels" ;;
    tsan) echo "thread sanitizer, no precompiled headers: loader, forward, values, dropin" ;;
    windows) echo "mingw-w64, run under Wine: ${CROSS_SUITES[*]}; clang in MSVC's mode reads headers and sources" ;;
    aarch64) echo "64-bit Arm, run under QEMU: ${CROSS_SUITES[*]}" ;;
    matrix) echo "headers and libcudart of every supported CUDA release" ;;
    newest) echo "the same for the newest release in the package index" ;;
    real) echo "real NVIDIA driver libraries, without a device" ;;
    bench) echo "benchmarks: instruction counts and sizes" ;;
    fuzz) echo "all fuzzers at once, for a minute" ;;
    esac
}

skip() {
    note "SKIPPED: $*"
    exit "$SKIP_STATUS"
}

# In CI, packages can be installed, so a missing toolchain is an error.
need_toolchain() {
    try_commands "$@" && return 0
    ! in_ci || die "missing toolchain: ${*//:*/}"
    skip "missing toolchain: ${*//:*/}"
}

# run_suites STAGE DIR SUITE...: runs these suites (none: all; -SUITE: all except that one) and checks the counts against
# tools/ci/expected_counts.txt.
run_suites() {
    local stage=$1 dir=$2 suite options=() status=0
    shift 2
    for suite in "$@"; do
        case $suite in
        -*) options+=(--no-suite "${suite#-}") ;;
        *) options+=(--suite "$suite") ;;
        esac
    done
    rm -f "$dir/meson-logs/testlog.json" # of an earlier run, in case the build fails
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

# Not optimized, with assertions, without debug information: sanitizer reports need -g1. run_suites then builds only what
# its suites need.
configure_stage() { # STAGE OPTION...
    local dir=build/ci/$1 options=("${DEVELOPER_OPTIONS[@]}")
    shift
    [[ -z ${WITH_SIMULATOR:-} ]] || options=("${SIMULATOR_OPTIONS[@]}")
    configure "$dir" -Doptimization=0 -Ddebug=false --default-library=static "${options[@]}" "$@"
}

build_stage() { # STAGE OPTION...
    configure_stage "$@"
    compile "build/ci/$1"
}

# All targets except tests, as files that ninja knows.
compile_product() { # DIR
    local files
    files=$(meson introspect --targets "$1" | python3 -c '
import json, os, sys
for target in json.load(sys.stdin):
    if target["build_by_default"] and f"{os.sep}tests{os.sep}" not in target["defined_in"]:
        for file in target["filename"]:
            print(os.path.relpath(file, sys.argv[1]))
' "$PWD/$1") || return 1
    xargs ninja -C "$1" <<<"$files"
}

stage_format() {
    python3 tools/ci/check_includes.py
    python3 tools/packaging/check_recipes.py
    bash tools/ci/format.sh --check
    tools/dev docs
    bash tools/ci/tidy.sh
}

# Includes the GPU tests, so that they compile on every machine; and the further libraries whose headers it has, with one
# whose header is in the tests.
configure_gcc() { # STAGE OPTION...
    local own=$PWD/tests/package/consumers/own_library
    use_compilers g++ gcc
    WITH_SIMULATOR=1 configure_stage "$@" -Dwerror=true -Dgpu_tests=enabled \
        "-Dlibraries=all,$own/greeter.txt" "-Dlibrary_headers=$own"
}

# Meson builds only what these tests need. In CI, they run where stage bare runs.
stage_test() {
    local options=() suite status=0 name=test
    if [[ -n ${WITHOUT_TOOLKIT:-} ]]; then
        hide_toolkit test
        name=bare
    fi
    for suite in gpu "${SLOW_SUITES[@]}"; do
        options+=(--no-suite "$suite")
    done
    run_logged "build/ci/$name-configure.log" "configure" configure_gcc "$name"
    rm -f "build/ci/$name/meson-logs/testlog.json" # of an earlier run, in case the build fails
    run_logged "build/ci/$name.log" "build and test" \
        meson test -C "build/ci/$name" --print-errorlogs --timeout-multiplier 2 "${options[@]}" || status=$?
    check_counts test "build/ci/$name"
    return $status
}

# "CUDA headers only": builds and tests everything without other CUDA headers and without CUDA libraries, with only the ten
# or so files that cuda.h and cuda_runtime_api.h need. Stage asan does the same with all headers of the wheels.
stage_bare() {
    hide_toolkit bare
    configure_gcc bare
    compile build/ci/bare
    run_suites bare build/ci/bare conformance ci -package -dropin # stage test ran the others; gcc has the drop-in's
}

# hide_toolkit STAGE: like without_cuda, with those ten files. They are placed where the toolkit has its headers, so that
# ccache recognizes files that other stages compiled.
hide_toolkit() {
    local headers=build/ci/bare-headers
    if [[ -z ${CUDA_IS_HIDDEN:-} ]]; then
        rm -rf "$headers"
        bash tools/ci/bare_headers.sh "$headers" "${HEADER_OPTIONS[@]#-Dheaders_dir=}" | sed 's/^/   /'
    fi
    without_cuda "$1" --headers "$headers"
    toolkit_has_cuda || HEADER_OPTIONS=("-Dheaders_dir=$PWD/$headers")
}

stage_gcc() {
    try_commands cmake:cmake || note "without CMake, one of the package consumers is skipped"
    command -v clang++-{16..22} >/dev/null || try_install clang-19 ||
        note "without clang 16 or newer, the test of the module is skipped"
    configure_gcc gcc --default-library=both
    compile_product build/ci/gcc
    run_suites gcc build/ci/gcc package headers dropin loader nodriver libraries
}

# without_cuda STAGE [--headers FOLDER]: the rest of the stage runs without CUDA, or with only these headers.
without_cuda() {
    local stage=$1
    shift
    if [[ -z ${CUDA_IS_HIDDEN:-} ]]; then
        exec bash tools/ci/without_cuda.sh "$@" bash tools/ci/stage.sh "$stage"
    fi
    ! compiler_has cuda_runtime.h || die "the compiler's default path has CUDA headers, of a package: remove it"
}

# The sanitizer's library is shared, so the simulator that tests load has no copy of its own, and tests can replace operator
# new. clang's additional checks are disabled: the table calls functions of another library with types of its own, and newer
# drivers have values that our enumerations lack.
stage_asan() {
    need_clang AddressSanitizer -fsanitize=address -shared-libsan
    without_cuda asan
    use_compilers clang++ clang
    local compile="['-g1', '-DTEST_SHARED_SANITIZER', '-fno-sanitize=function,enum']"
    local link="['-shared-libsan', '-Wl,-rpath,$(clang++ -print-runtime-dir)']"
    WITH_SIMULATOR=1 configure_stage asan -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=true \
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
    use_compilers g++ gcc
    # Without precompiled headers, so that sources must include what they use.
    configure_stage tsan -Db_sanitize=thread -Dcpp_args=-g1 -Dc_args=-g1 -Db_pch=false
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
    tsan_works || TEST_PREFIX=(setarch -R)
    TIMEOUT_FACTOR=6 run_suites tsan build/ci/tsan loader forward values dropin
}
tsan_works() {
    local program=build/ci/tsan/tsan-works
    echo 'int main() {}' | g++ -fsanitize=thread -x c++ - -o "$program"
    for _ in 1 2 3 4 5 6 7 8; do "$program" 2>/dev/null || return 1; done
}

# Unity builds for subprojects only: builds Catch2 in a third of the time.
cross_stage() { # STAGE CROSSFILE SUITE...
    ensure_catch2 cross
    ensure_cuda_headers cross
    PATH=$PWD/tools/cross:$PATH
    build_stage "$1" --cross-file "tools/cross/$2" -Dunity=subprojects
    TIMEOUT_FACTOR=6 run_suites "$1" "build/ci/$1" "${CROSS_SUITES[@]}" "${@:3}"
}

stage_windows() {
    need_toolchain x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix
    find_wine || try_install wine64 || try_install wine || true
    if ! find_wine; then
        ! in_ci || die "Wine is missing"
        skip "Wine is missing"
    fi
    trap stop_wine EXIT
    need_toolchain clang++:clang # in MSVC's mode
    cross_stage windows x86_64-w64-mingw32.ini msvc
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
stage_newest() { bash tools/ci/matrix.sh --only newest; }

stage_real() {
    bash tools/ci/real_libraries.sh build/real ||
        { ! in_ci || die "real driver libraries could not be downloaded"; skip "they cannot be downloaded on this machine"; }
    configure_gcc gcc --default-library=both
    CUSHIM_REAL_LIBS=$PWD/build/real run_suites real build/ci/gcc real
}

# The benchmarks build the programs that they measure, each with the options that it needs.
stage_bench() {
    need_toolchain valgrind:valgrind clang++:clang
    CXX=g++ CC=gcc configure build/ci/bench --buildtype=release --default-library=static \
        "${SIMULATOR_OPTIONS[@]}"
    local status=0
    meson test -C build/ci/bench --no-rebuild --print-errorlogs --benchmark \
        --logbase benchmarklog || status=$?
    check_counts bench build/ci/bench --log benchmarklog.json
    return $status
}

# All run at once, whatever the number of processors, since CI time is limited. Coverage is not checked below 60 seconds.
stage_fuzz() {
    bash tools/ci/fuzz.sh --seconds "${FUZZ_SECONDS:-60}" --jobs 5 --totals build/ci/fuzz.totals
}
