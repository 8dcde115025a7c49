# Finds CUDA headers, or downloads them as pip wheels into build/. Sourced after packages.sh.
# shellcheck shell=bash

readonly RUNTIME_WHEEL=nvidia-cuda-runtime==13.0.96

# The crt/ headers that cuda_runtime_api.h includes are in a separate wheel since CUDA 13.0; the one that is needed
# (crt/host_defines.h) also works with the headers of 11 and 12.
crt_wheel() { # MAJOR MINOR
    if [[ $1.$2 == 13.0 || $1 -lt 13 ]]; then
        echo "nvidia-cuda-crt==13.0.88"
    else
        echo "nvidia-cuda-crt==$1.$2.*"
    fi
}

ensure_pip() {
    python3 -m pip --version >/dev/null 2>&1 || try_install python3-pip
}

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
    local dir=$1 requirement=$2 wheel version major minor
    [[ ! -e $dir/complete ]] || return 0
    ensure_pip || return 1
    rm -rf "$dir"
    mkdir -p "$dir/wheels"
    step "pip download $requirement"
    download_wheel "$dir/wheels" "$requirement" || return 1
    wheel=$(find "$dir/wheels" -name '*.whl' -print -quit)
    version=$(basename "$wheel" | cut -d- -f2)
    IFS=. read -r major minor _ <<<"$version"
    download_wheel "$dir/wheels" "$(crt_wheel "$major" "$minor")" || return 1
    for wheel in "$dir"/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" "$dir/files" || return 1
    done
    merge_crt_headers "$dir" || return 1
    rm -rf "$dir/wheels"
    echo "$version" >"$dir/complete"
}

# The wheels of CUDA 11 and 12 have their headers in another folder than the crt wheel.
merge_crt_headers() {
    local include crt
    include=$(wheel_include "$1")
    crt=$(find "$1/files" -type d -path '*/include/crt' -print -quit)
    [[ -n $crt ]] || return 1
    [[ $crt -ef $include/crt ]] || cp -r "$crt" "$include/"
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
# not search the system compiler's folders.
ensure_cuda_headers() {
    HEADER_OPTIONS=()
    ! toolkit_has_cuda || return 0
    [[ $1 == cross ]] || ! compiler_has_cuda || return 0
    bring_wheels build/cuda-headers "$RUNTIME_WHEEL" ||
        die "no CUDA headers on this machine, and the wheels with them could not be downloaded." \
            "Install a CUDA toolkit, or set CUDA_PATH to one."
    # shellcheck disable=SC2034 # configure reads it
    HEADER_OPTIONS=("-Dheaders_dir=$(wheel_include build/cuda-headers)")
}
