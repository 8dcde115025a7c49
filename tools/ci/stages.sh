# The stages of `tools/dev ci`, one function each, run in order of STAGES. The first is all of
# `tools/dev test`. Sourced by stage.sh, in a process of its own for every stage. A stage fails by its
# status and skips with `skip`.
# shellcheck shell=bash

# shellcheck disable=SC2034 # for the scripts that source this
readonly STAGES=(test format bare gcc asan tsan windows aarch64 matrix newest real bench fuzz)
# Two at once; those of a lane share folders, or unpack the same source.
# shellcheck disable=SC2034
readonly LANES=("format bare gcc tsan windows aarch64 real" "asan matrix newest bench fuzz")
# What a contributor does not wait for: consumers' whole builds, the recordings of real drivers, and
# what compiles, links or runs something many times over. Suite `ci` marks the tests of other suites.
readonly SLOW_SUITES=(package conformance headers ci)
# What the cross builds run: everything that needs nothing but the loader and fake libraries.
readonly CROSS_SUITES=(loader forward values nodriver dropin)

describe_stage() {
    case $1 in
    test) echo "g++, static: how the library, the tools and the simulator behave; in CI without a toolkit" ;;
    format) echo "sources are formatted and include downwards; clang-tidy passes what changed" ;;
    bare) echo "the rest of that build: no CUDA but cuda.h, cuda_runtime_api.h and what they include" ;;
    gcc) echo "static and shared libraries from one build: consumers, headers alone, nvcc's objects, the loader" ;;
    asan) echo "clang++, address and undefined-behaviour sanitizers; no CUDA but the headers of the wheels" ;;
    tsan) echo "thread sanitizer, no precompiled headers: loader, forward, values, dropin" ;;
    windows) echo "mingw-w64, run under Wine: ${CROSS_SUITES[*]}" ;;
    aarch64) echo "64-bit Arm, run under QEMU: ${CROSS_SUITES[*]}" ;;
    matrix) echo "headers and libcudart of every supported CUDA release" ;;
    newest) echo "the same of the newest release, whatever it is" ;;
    real) echo "real NVIDIA driver libraries, without a device" ;;
    bench) echo "benchmarks: instruction counts and sizes" ;;
    fuzz) echo "all fuzzers at once, for a minute" ;;
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
    rm -f "$dir/meson-logs/testlog.json" # of a run before, where the build fails
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

# Not optimised, with assertions, without debug information: a sanitizer's reports need -g1. run_suites then builds
# what its suites need, and no more.
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

stage_format() {
    python3 tools/ci/check_includes.py
    bash tools/ci/format.sh --check
    bash tools/ci/tidy.sh
}

# What needs a GPU is part of this build, so that it compiles wherever somebody has one.
configure_gcc() { # STAGE OPTION...
    use_compilers g++ gcc
    WITH_SIMULATOR=1 configure_stage "$@" -Dwerror=true -Dgpu_tests=enabled
}

# Meson builds what these tests need, and no more. As a stage of CI they run where stage bare does.
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
    rm -f "build/ci/$name/meson-logs/testlog.json" # of a run before, where the build fails
    run_logged "build/ci/$name.log" "build and test" \
        meson test -C "build/ci/$name" --print-errorlogs --timeout-multiplier 2 "${options[@]}" || status=$?
    check_counts test "build/ci/$name"
    return $status
}

# "CUDA headers only": everything is built and tested where there is no other CUDA header and no CUDA library, with
# the ten files or so that cuda.h and cuda_runtime_api.h need. Stage asan does the same with all headers of the wheels.
stage_bare() {
    hide_toolkit bare
    configure_gcc bare
    compile build/ci/bare
    run_suites bare build/ci/bare conformance ci -package -dropin # stage test ran the others; gcc has the drop-in's
}

# hide_toolkit STAGE: as without_cuda, with those ten. They lie where the toolkit has all of its headers, so that
# ccache knows what other stages compiled alike.
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
    try_commands cmake:cmake || note "without CMake one of the package consumers is skipped"
    configure_gcc gcc --default-library=both
    run_suites gcc build/ci/gcc package headers dropin loader nodriver
}

# without_cuda STAGE [--headers FOLDER]: the rest of the stage runs where no CUDA is installed, or only these headers.
without_cuda() {
    local stage=$1
    shift
    if [[ -z ${CUDA_IS_HIDDEN:-} ]]; then
        exec bash tools/ci/without_cuda.sh "$@" bash tools/ci/stage.sh "$stage"
    fi
    ! compiler_has cuda_runtime.h || die "the compiler's default path has CUDA headers, of a package: remove it"
}

# The sanitizers' library is shared: the simulator, which tests load, has none of its own then, and tests can put
# their own operator new before it. What clang finds beyond g++ cannot be helped: the table calls a function of
# another library, which has types of its own, and newer drivers have values that our enumerations lack.
stage_asan() {
    need_clang AddressSanitizer -fsanitize=address -shared-libsan
    without_cuda asan
    use_compilers clang++ clang
    local compile="['-g1', '-DTEST_SHARED_SANITIZER', '-fno-sanitize=function,enum']"
    local link="['-shared-libsan', '-Wl,-rpath,$(clang++ -print-runtime-dir)']"
    WITH_SIMULATOR=1 configure_stage asan -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=true \
        "-Dcpp_args=$compile" "-Dc_args=$compile" "-Dcpp_link_args=$link" "-Dc_link_args=$link"
    # LeakSanitizer takes a thread's block of a loaded library for what glibc 2.19 had, where it begins 16
    # bytes behind a page, and ends by a fault of its own: one test program in some hundred. Not told of such
    # blocks, it finds them as it finds all other memory.
    export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
    ASAN_OPTIONS+=:intercept_tls_get_addr=0
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    # Calls that fail in pairs take a third of the time, and fail without a sanitizer in stage test.
    API_TEST_PAIRS=none TIMEOUT_FACTOR=4 run_suites asan build/ci/asan \
        -package -conformance -ci -reports -forward -info -headers -real
}

# No suppressions. ThreadSanitizer stops at start-up where the kernel randomises addresses further
# than it knows; a run without randomisation shows the same races.
stage_tsan() {
    use_compilers g++ gcc
    # Without precompiled headers sources must include what they need.
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
stage_newest() { bash tools/ci/matrix.sh --only newest; }

stage_real() {
    bash tools/ci/real_libraries.sh build/real ||
        { ! in_ci || die "real driver libraries could not be downloaded"; skip "they cannot be brought to this machine"; }
    configure_gcc gcc --default-library=both
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

# All run at once, however many processors there are: CI has little time. Below 60 seconds their coverage is not
# checked.
stage_fuzz() {
    bash tools/ci/fuzz.sh --seconds "${FUZZ_SECONDS:-60}" --jobs 5 --totals build/ci/fuzz.totals
}
