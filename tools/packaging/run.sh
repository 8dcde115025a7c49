#!/bin/bash
# `tools/dev packaging`: makes a source archive of the committed tree, fills in the recipes, and builds, installs and tests
# what the tools on this machine allow. Each check runs on the archive, without network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common packages headers; do
    # shellcheck source=/dev/null
    . "tools/ci/$part.sh"
done

readonly CHECKS=(recipes archive wrapdb vcpkg conan conda debian spack)
readonly CONAN=2.34.0 RATTLER=0.73.0
readonly WORK=$PWD/build/packaging

describe_check() {
    case $1 in
    recipes) echo "the recipes are well-formed and name options that exist" ;;
    archive) echo "meson dist: the fast tests pass in the unpacked archive, without git and network" ;;
    wrapdb) echo "a project takes cushim from the wrap; Meson" ;;
    vcpkg) echo "the port, by vcpkg (VCPKG_ROOT) or else by stand-ins for its functions" ;;
    conan) echo "conan create with test_package, static and shared; Conan $CONAN" ;;
    conda) echo "the conda package and its tests; rattler-build $RATTLER, a local channel of stand-ins" ;;
    debian) echo "the Debian packages, lintian and autopkgtest; needs root" ;;
    spack) echo "the Spack package, by spack or else its options for Meson" ;;
    esac
}

chosen=("${CHECKS[@]}")
while [[ $# -gt 0 ]]; do
    case $1 in
    --list)
        for check in "${CHECKS[@]}"; do printf '%-8s %s\n' "$check" "$(describe_check "$check")"; done
        exit 0
        ;;
    --only)
        [[ $# -ge 2 ]] || die "--only requires names of checks; see tools/dev packaging --list"
        IFS=, read -r -a chosen <<<"$2"
        shift
        ;;
    *) die "tools/dev packaging has no option '$1'; see tools/dev help" ;;
    esac
    shift
done
for check in "${chosen[@]}"; do
    [[ -n $(describe_check "$check") ]] || die "unknown check '$check'; see tools/dev packaging --list"
done

# --- what all checks need

# The headers that the packages are built with: cuda.h, cuda_runtime_api.h, and what these include.
prepare() {
    ensure_build_tools
    require_commands cmake:cmake git:git
    ensure_cuda_headers native
    HEADERS=$WORK/headers
    rm -rf "$WORK/headers-new"
    mkdir -p "$WORK"
    bash tools/ci/bare_headers.sh "$WORK/headers-new" "${HEADER_OPTIONS[@]#-Dheaders_dir=}" >/dev/null
    # Unchanged files stay, for ninja and ccache.
    diff -r "$WORK/headers-new" "$HEADERS" >/dev/null 2>&1 || { rm -rf "$HEADERS" && mv "$WORK/headers-new" "$HEADERS"; }
    CUDA=$(sed -nE 's/^#define CUDA_VERSION +([0-9]+)([0-9]{3})$/\1 \2/p' "$HEADERS/cuda.h" |
        awk '{ print $1 "." int($2 / 10) }')
    make_archive
    python3 tools/packaging/fill.py "$ARCHIVE" "$WORK/recipes"
}

# Only committed files are in the archive.
make_archive() {
    local dir=$WORK/for-dist
    [[ -z $(git status --porcelain) ]] || note "changes that are not committed are left out"
    rm -rf "$dir"
    meson setup "$dir" "-Dheaders_dir=$HEADERS" -Dtests=disabled -Dtools=disabled -Dexamples=disabled \
        -Dsimulator=disabled >"$WORK/dist.log"
    meson dist -C "$dir" --no-tests --allow-dirty >>"$WORK/dist.log" 2>&1 || { tail -n 20 "$WORK/dist.log"; exit 1; }
    ARCHIVE=$(find "$dir/meson-dist" -name 'cushim-*.tar.xz' -print -quit)
    note "$ARCHIVE: $(stat -c %s "$ARCHIVE") bytes"
}

# Without network, for root or where user namespaces are permitted.
offline() {
    if unshare --net true 2>/dev/null; then
        unshare --net "$@"
    elif unshare --map-root-user --net true 2>/dev/null; then
        unshare --map-root-user --net "$@"
    else
        note "this machine cannot run commands without network; with network:"
        "$@"
    fi
}

# So that a repeated check is fast if ccache is installed.
cached_compilers() {
    use_compilers g++ gcc
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$WORK} CCACHE_NOHASHDIR=1
}

skip() {
    note "SKIPPED: $*"
    exit "$SKIP_STATUS"
}

check_program() { # PROGRAM ARGUMENT...: a consumer's program runs here, and gives the reason if there is no CUDA
    local output
    output=$("$@")
    printf '%s\n' "$output" | sed 's/^/      /'
    [[ $output == *"cuInit "[0-9]* ]]
}

python_tool() { # REQUIREMENT...: into the virtual environment of these checks
    python3 -c 'import ensurepip, venv' 2>/dev/null || try_install python3-venv
    [[ -x $WORK/venv/bin/python ]] || python3 -m venv "$WORK/venv"
    "$WORK/venv/bin/python" -m pip install -q "$@"
}

# --- the checks; each runs in a process of its own

check_recipes() { python3 tools/packaging/check_recipes.py; }

check_archive() {
    local dir=$WORK/archive source path
    rm -rf "$dir"
    mkdir -p "$dir/bin"
    tar -xf "$ARCHIVE" -C "$dir"
    source=$(find "$dir" -maxdepth 1 -name 'cushim-*')
    # Neither a repository nor a folder beside the tree may be needed.
    ln -sf "$(command -v false)" "$dir/bin/git"
    path=$dir/bin:$PATH
    cached_compilers
    ensure_catch2 native
    # Configured as in CI, so that ccache has most files.
    PATH=$path run_logged "$WORK/archive.log" "configure" offline meson setup "$source/build/t" "$source" \
        -Doptimization=0 -Ddebug=false --default-library=static -Dwerror=true --wrap-mode=nodownload \
        -Dtests=enabled -Dtools=enabled -Dexamples=disabled -Dsimulator=disabled "${HEADER_OPTIONS[@]}"
    PATH=$path run_logged "$WORK/archive-test.log" "build and test" offline meson test -C "$source/build/t" \
        --print-errorlogs --suite loader --suite forward --suite values --suite nodriver
    grep -E '^(Ok|Fail|Skipped|Timeout): ' "$WORK/archive-test.log"
}

check_wrapdb() {
    local dir=$WORK/wrapdb
    rm -rf "$dir"
    mkdir -p "$dir/subprojects/packagecache"
    cp "$WORK/recipes/wrapdb/cushim.wrap" "$dir/subprojects/"
    cp "$ARCHIVE" "$dir/subprojects/packagecache/" # instead of the download
    cp tests/package/consumers/{hello.cpp,existing.c} "$dir/"
    cat >"$dir/meson.build" <<'END'
project('consumer', 'c', 'cpp', version: '1', default_options: ['cpp_std=c++20'])
executable('hello', 'hello.cpp', dependencies: dependency('cushim'))
executable('existing', 'existing.c', dependencies: dependency('cushim-dropin'))
END
    cached_compilers
    run_logged "$WORK/wrapdb.log" "configure" offline meson setup "$dir/build" "$dir" --default-library=static \
        -Doptimization=0 -Ddebug=false "-Dcushim:headers_dir=$HEADERS"
    run_logged "$WORK/wrapdb-build.log" "build" offline meson compile -C "$dir/build"
    check_program "$dir/build/hello"
    check_program "$dir/build/existing"
    note "Meson $(meson --version)"
}

check_vcpkg() {
    local dir=$WORK/vcpkg prefix
    cached_compilers
    if [[ -x ${VCPKG_ROOT:-}/vcpkg ]]; then
        mkdir -p "$dir/triplets"
        cp "$VCPKG_ROOT/triplets/x64-linux.cmake" "$dir/triplets/"
        echo "set(CUSHIM_HEADERS_DIR \"$HEADERS\")" >>"$dir/triplets/x64-linux.cmake"
        run_logged "$WORK/vcpkg.log" "vcpkg install" "$VCPKG_ROOT/vcpkg" install --triplet x64-linux \
            "--overlay-ports=$WORK/recipes/vcpkg" "--overlay-triplets=$dir/triplets" \
            "--x-install-root=$dir/installed" 'cushim[core,tools]'
        prefix=$dir/installed/x64-linux
        note "$("$VCPKG_ROOT/vcpkg" version | head -n 1)"
    else
        run_logged "$WORK/vcpkg.log" "the portfile with stand-ins" offline cmake "-DPORT=$WORK/recipes/vcpkg/cushim" \
            "-DARCHIVE=$ARCHIVE" "-DHEADERS=$HEADERS" "-DWORK=$dir/run" -P tools/packaging/vcpkg_check.cmake
        rm -rf "$dir/moved" "$dir/consumer"
        mv "$dir/run/installed" "$dir/moved" # packages of vcpkg can be moved
        prefix=$dir/moved
        note "$(cmake --version | head -n 1); vcpkg itself did not run: VCPKG_ROOT names no vcpkg"
    fi
    cmake_consumer "$dir/consumer" "-DCMAKE_PREFIX_PATH=$prefix"
    "$prefix/tools/cushim/cushim-info" --version
}

cmake_consumer() { # DIR OPTION...
    local dir=$1
    shift
    mkdir -p "$dir"
    cp tests/package/consumers/{hello.cpp,existing.c} "$dir/"
    cat >"$dir/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(consumer C CXX)
find_package(cushim CONFIG REQUIRED)
add_executable(hello hello.cpp)
target_link_libraries(hello PRIVATE cushim::cushim)
add_executable(existing existing.c)
target_link_libraries(existing PRIVATE cushim::dropin)
END
    run_logged "$dir.log" "configure the consumer" cmake -S "$dir" -B "$dir/build" "-DCUSHIM_CUDA_INCLUDE_DIR=$HEADERS" "$@"
    run_logged "$dir.log" "build the consumer" cmake --build "$dir/build"
    check_program "$dir/build/hello"
    check_program "$dir/build/existing"
}

check_conan() {
    python_tool "conan==$CONAN" || skip "Conan cannot be had on this machine"
    local conan=$WORK/venv/bin/conan shared
    export CONAN_HOME=$WORK/conan-home
    cached_compilers
    rm -rf "$CONAN_HOME"
    # It recognizes no compiler behind ccache.
    env -u CC -u CXX "$conan" profile detect >/dev/null 2>&1
    # The Meson of this machine, since packages of build tools are on a server.
    sed -i 's/^compiler.cppstd=.*/compiler.cppstd=20/; s/^build_type=.*/build_type=Debug/' "$CONAN_HOME/profiles/default"
    printf '[platform_tool_requires]\nmeson/%s\n' "$(meson --version)" >>"$CONAN_HOME/profiles/default"
    for shared in True False; do
        run_logged "$WORK/conan-$shared.log" "conan create, shared=$shared" offline "$conan" create "$WORK/recipes/conan" \
            --no-remote -o "&:shared=$shared" -o "&:tools=True" -o "&:cuda=$CUDA" -c "user.cushim:headers_dir=$HEADERS"
        grep -E '^cuInit |^cushim .*cuInit |^no CUDA driver' "$WORK/conan-$shared.log" | sed 's/^/      /'
    done
    note "$("$conan" --version)"
}

check_conda() {
    python_tool "py-rattler-build==$RATTLER" || skip "rattler-build cannot be had on this machine"
    require_commands patchelf:patchelf
    cached_compilers
    run_logged "$WORK/conda.log" "rattler-build" offline "$WORK/venv/bin/python" tools/packaging/conda_check.py "$WORK/recipes/conda" \
        "$HEADERS" "$WORK/conda"
    grep -E 'cuInit|^no CUDA driver|^built and tested|variants$' "$WORK/conda.log" | sed 's/^/      /'
}

check_debian() {
    if ! { [[ $(id -u) -eq 0 ]] && unshare --mount --net true 2>/dev/null; }; then
        skip "root and unshare --mount are required"
    fi
    try_install autopkgtest chrpath debhelper dpkg-dev fakeroot lintian meson pkg-config ||
        skip "debhelper or lintian cannot be had on this machine"
    rm -rf "$WORK/debian"
    # WITH_SIMULATOR=1 also builds the package cushim-sim, which takes as long as the others together.
    local profiles=pkg.cushim.nosim
    [[ -z ${WITH_SIMULATOR:-} ]] || profiles=""
    DEB_BUILD_PROFILES=$profiles DEB_BUILD_OPTIONS="noopt parallel=$(nproc)" run_logged "$WORK/debian.log" \
        "dpkg-buildpackage, lintian, autopkgtest" bash tools/packaging/debian.sh "$ARCHIVE" "$WORK/recipes/debian" \
        "$HEADERS" "$WORK/debian"
    find "$WORK/debian" -name '*.deb' -printf '      %f\n' | sort
    sed 's/^/   /' "$WORK/debian/versions.txt"
}

check_spack() {
    local package=$WORK/recipes/spack/packages/cushim/package.py dir=$WORK/spack options
    if command -v spack >/dev/null; then
        run_logged "$WORK/spack.log" "spack install" spack -C "$WORK/recipes/spack" install cushim
        note "Spack $(spack --version)"
        return
    fi
    # Meson accepts the options of the recipe.
    options=$(python3 tools/packaging/spack_check.py "$package")
    rm -rf "$dir"
    mkdir -p "$dir"
    tar -xf "$ARCHIVE" -C "$dir" --strip-components=1
    mapfile -t words <<<"${options//\/prefix\/include/$HEADERS}"
    run_logged "$WORK/spack.log" "meson setup with the options of the recipe" offline meson setup "$dir/build" "$dir" \
        --wrap-mode=nodownload --libdir=lib "${words[@]}"
    note "spack did not run: it is not installed"
}

step "source archive and recipes"
prepare
results=() status=0
for check in "${chosen[@]}"; do
    step "$check: $(describe_check "$check")"
    begin=$SECONDS result=ok rc=0
    # In a process of its own, with errors fatal in the function.
    (set -e && "check_$check") &
    wait $! || rc=$?
    case $rc in
    0) ;;
    "$SKIP_STATUS") result=SKIPPED ;;
    *) result=FAILED status=1 ;;
    esac
    results+=("$(printf '%-8s %-8s %6d s' "$check" "$result" $((SECONDS - begin)))")
done
step "packaging"
printf '%s\n' "${results[@]}"
exit "$status"
