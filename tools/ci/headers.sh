# Finds CUDA headers, or downloads them as pip wheels into build/. Sourced after packages.sh.
# shellcheck shell=bash

readonly RUNTIME_WHEEL=nvidia-cuda-runtime==13.0.96

# Files that tools/ci/wheels.txt lists must have the listed hash.
download_wheel() { # DIR REQUIREMENT
    if pinned_requirement "$2" >"$1/requirements.txt"; then
        set -- "$1" --require-hashes -r "$1/requirements.txt"
    fi
    python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: -d "$@"
}

# bring_wheels DIR REQUIREMENT: unpacks a runtime wheel and the crt headers that it needs below DIR. Fails with a message
# if the wheels cannot be downloaded.
bring_wheels() {
    local dir=$1 requirement=$2 wheel version include crt
    [[ ! -e $dir/complete ]] || return 0
    python3 -m pip --version >/dev/null 2>&1 || try_install python3-pip || return 1
    rm -rf "$dir"
    mkdir -p "$dir/wheels"
    step "pip download $requirement"
    download_wheel "$dir/wheels" "$requirement" || return 1
    version=$(basename "$dir"/wheels/*.whl | cut -d- -f2)
    # The crt/ headers that cuda_runtime_api.h includes are in a separate wheel since CUDA 13.0; the one that is needed
    # (crt/host_defines.h) also works with the headers of 11 and 12.
    crt=nvidia-cuda-crt==13.0.88
    ! version_at_least "$version" 13.1 || crt="nvidia-cuda-crt==${version%.*}.*"
    download_wheel "$dir/wheels" "$crt" || return 1
    for wheel in "$dir"/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" "$dir/files" || return 1
    done
    # The wheels of CUDA 11 and 12 have their headers in another folder than the crt wheel.
    include=$(wheel_include "$dir")
    crt=$(find "$dir/files" -type d -path '*/include/crt' -print -quit)
    [[ $crt -ef $include/crt ]] || cp -r "$crt" "$include/" || return 1
    rm -rf "$dir/wheels"
    echo "$version" >"$dir/complete"
}

wheel_include() {
    local header
    header=$(find "$1/files" -name cuda_runtime_api.h -print -quit)
    (cd "$(dirname "$header")" && pwd)
}
wheel_runtime() { find "$PWD/$1/files" -name 'libcudart.so.*' -print -quit; }

compiler_has() { # HEADER...
    printf '#include <%s>\n' "$@" | "${CXX:-g++}" -E -x c++ - >/dev/null 2>&1
}
compiler_has_cuda() { compiler_has cuda.h cuda_runtime_api.h; }

toolkit_has_cuda() {
    local root
    for root in "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda; do
        [[ -z $root || ! -e $root/include/cuda_runtime_api.h ]] || return 0
    done
    return 1
}

# ensure_cuda_headers native|cross: leaves HEADER_OPTIONS empty if the build finds headers by itself. A cross compiler does
# not search the system compiler's folders. CUDA_HEADERS: see without_cuda.sh.
ensure_cuda_headers() {
    HEADER_OPTIONS=()
    ! toolkit_has_cuda || return 0
    [[ $1 == cross ]] || ! compiler_has_cuda || return 0
    mkdir -p build
    # Another stage may do the same.
    [[ -n ${CUDA_HEADERS:-} ]] || (flock 9 && bring_wheels build/cuda-headers "$RUNTIME_WHEEL") 9>build/.headers.lock ||
        die "no CUDA headers on this machine, and the wheels with them could not be downloaded." \
            "Install a CUDA toolkit, or set CUDA_PATH to one."
    # shellcheck disable=SC2034 # configure reads it
    HEADER_OPTIONS=("-Dheaders_dir=${CUDA_HEADERS:-$(wheel_include build/cuda-headers)}")
}
