#!/bin/bash
# `tools/dev packaging`: makes a source archive of the committed tree, fills in the recipes, and builds, installs and tests
# the packages from it, without network. A check is a function check_NAME; the list is in the help of tools/dev.
set -euo pipefail
# shellcheck source=tools/ci/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../ci/common.sh"

readonly CONAN=2.34.0 WORK=$PWD/build/packaging
chosen=(recipes archive wrapdb vcpkg conan debian)
if [[ ${1:-} == --only && $# -eq 2 ]]; then
    IFS=, read -r -a chosen <<<"$2"
elif [[ $# -gt 0 ]]; then
    die "tools/dev packaging has only the option --only A,B"
fi

# The headers that the packages are built with: cuda.h, cuda_runtime_api.h, and what these include.
prepare() {
    ensure_build_tools
    require_commands cmake:cmake git:git
    ensure_cuda_headers native
    HEADERS=$WORK/headers
    rm -rf "$HEADERS"
    mkdir -p "$WORK"
    bash tools/ci/bare_headers.sh "$HEADERS" "${HEADER_OPTIONS[@]#-Dheaders_dir=}" >/dev/null
    CUDA=$(sed -nE 's/^#define CUDA_VERSION +([0-9]+)0([0-9])0$/\1.\2/p' "$HEADERS/cuda.h")
    make_archive
    python3 tools/packaging/fill.py "$ARCHIVE" "$WORK/recipes"
    use_compilers g++ gcc
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$WORK} CCACHE_NOHASHDIR=1
}

make_archive() {
    local dir=$WORK/for-dist
    [[ -z $(git status --porcelain) ]] || note "changes that are not committed are left out"
    rm -rf "$dir"
    run_logged "$WORK/dist.log" "configure" meson setup "$dir" "-Dheaders_dir=$HEADERS" -Dtests=disabled \
        -Dtools=disabled -Dexamples=disabled -Dsimulator=disabled
    run_logged "$WORK/dist.log" "meson dist" meson dist -C "$dir" --no-tests --allow-dirty
    ARCHIVE=$(find "$dir/meson-dist" -name 'cushim-*.tar.xz' -print -quit)
    note "$ARCHIVE: $(stat -c %s "$ARCHIVE") bytes"
}

# Without network; requires root, or a system that permits user namespaces.
offline() {
    local namespace=(--net)
    [[ $(id -u) -eq 0 ]] || namespace+=(--map-root-user)
    unshare "${namespace[@]}" "$@"
}

skip() {
    note "SKIPPED: $*"
    exit "$SKIP_STATUS"
}

# Without CUDA, a consumer's program prints the reason.
check_programs() { # FOLDER
    local program output
    for program in hello existing; do
        output=$("$1/$program")
        printf '%s\n' "$output" | sed 's/^/      /'
        [[ $output == *"cuInit "[0-9]* ]]
    done
}

check_recipes() { python3 tools/packaging/check_recipes.py; }

# The fast tests pass in the unpacked archive, without git.
check_archive() {
    local dir=$WORK/archive source
    rm -rf "$dir"
    mkdir -p "$dir/bin"
    tar -xf "$ARCHIVE" -C "$dir"
    source=$(find "$dir" -maxdepth 1 -name 'cushim-*')
    ln -sf "$(command -v false)" "$dir/bin/git"
    export PATH=$dir/bin:$PATH
    ensure_catch2 native
    run_logged "$WORK/archive.log" "configure" offline meson setup "$source/build/t" "$source" \
        -Doptimization=0 -Ddebug=false --default-library=static -Dwerror=true --wrap-mode=nodownload \
        -Dtests=enabled -Dtools=enabled -Dexamples=disabled -Dsimulator=disabled "${HEADER_OPTIONS[@]}"
    run_logged "$WORK/archive-test.log" "build and test" offline meson test -C "$source/build/t" \
        --print-errorlogs --suite loader --suite forward --suite values --suite nodriver
    grep -E '^(Ok|Fail|Skipped|Timeout): ' "$WORK/archive-test.log"
}

# A project takes cushim from the wrap.
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
    run_logged "$WORK/wrapdb.log" "configure" offline meson setup "$dir/build" "$dir" --default-library=static \
        -Doptimization=0 -Ddebug=false "-Dcushim:headers_dir=$HEADERS"
    run_logged "$WORK/wrapdb-build.log" "build" offline meson compile -C "$dir/build"
    check_programs "$dir/build"
}

# Builds the port, and programs with it: the same project as Conan's test_package.
check_vcpkg() {
    local dir=$WORK/vcpkg
    [[ -x ${VCPKG_ROOT:-}/vcpkg ]] || skip "VCPKG_ROOT names no vcpkg"
    mkdir -p "$dir/triplets"
    cp "$VCPKG_ROOT/triplets/x64-linux.cmake" "$dir/triplets/"
    echo "set(CUSHIM_HEADERS_DIR \"$HEADERS\")" >>"$dir/triplets/x64-linux.cmake"
    run_logged "$WORK/vcpkg.log" "vcpkg install" "$VCPKG_ROOT/vcpkg" install --triplet x64-linux \
        "--overlay-ports=$WORK/recipes/vcpkg" "--overlay-triplets=$dir/triplets" \
        "--x-install-root=$dir/installed" 'cushim[core,tools]'
    run_logged "$WORK/vcpkg-use.log" "configure a consumer" cmake -S "$WORK/recipes/conan/test_package" -B "$dir/build" \
        "-DCUSHIM_CUDA_INCLUDE_DIR=$HEADERS" "-DCMAKE_PREFIX_PATH=$dir/installed/x64-linux"
    run_logged "$WORK/vcpkg-use.log" "build it" cmake --build "$dir/build"
    check_programs "$dir/build"
    "$dir/installed/x64-linux/tools/cushim/cushim-info" --version
}

# conan create with test_package, static and shared.
check_conan() {
    local conan=$WORK/venv/bin/conan shared
    python3 -c 'import ensurepip, venv' 2>/dev/null || try_install python3-venv
    [[ -x $WORK/venv/bin/python ]] || python3 -m venv "$WORK/venv"
    "$WORK/venv/bin/python" -m pip install -q "conan==$CONAN" || skip "Conan cannot be had on this machine"
    export CONAN_HOME=$WORK/conan-home
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
}

# Builds the Debian packages, with WITH_SIMULATOR=1 also cushim-sim, which takes as long as the others together; lintian,
# and autopkgtest.
check_debian() {
    local profiles=pkg.cushim.nosim
    [[ -z ${WITH_SIMULATOR:-} ]] || profiles=""
    if ! { [[ $(id -u) -eq 0 ]] && unshare --mount --net true 2>/dev/null; }; then
        skip "root and unshare --mount are required"
    fi
    try_install autopkgtest chrpath debhelper dpkg-dev fakeroot lintian meson pkg-config ||
        skip "debhelper or lintian cannot be had on this machine"
    rm -rf "$WORK/debian"
    DEB_BUILD_PROFILES=$profiles DEB_BUILD_OPTIONS="noopt parallel=$(nproc)" run_logged "$WORK/debian.log" \
        "dpkg-buildpackage, lintian, autopkgtest" bash tools/packaging/debian.sh "$ARCHIVE" "$WORK/recipes/debian" \
        "$HEADERS" "$WORK/debian"
    find "$WORK/debian" -name '*.deb' -printf '      %f\n' | sort
    sed 's/^/   /' "$WORK/debian/versions.txt"
}

for check in "${chosen[@]}"; do
    declare -F "check_$check" >/dev/null || die "unknown check '$check'; see tools/dev help"
done
step "source archive and recipes"
prepare
results=() status=0
for check in "${chosen[@]}"; do
    step "$check"
    result=ok rc=0
    # In a process of its own, with errors fatal in the function.
    (set -e && "check_$check") &
    wait $! || rc=$?
    case $rc in
    0) ;;
    "$SKIP_STATUS") result=SKIPPED ;;
    *) result=FAILED status=1 ;;
    esac
    results+=("$(printf '%-8s %s' "$check" "$result")")
done
step "packaging"
printf '%s\n' "${results[@]}"
exit "$status"
