#!/bin/bash
# without_cuda.sh [--headers FOLDER] COMMAND...: runs a command as if no CUDA were installed or, where a toolkit was, only
# the headers in FOLDER. Hides toolkits and CUDA libraries in a mount namespace, which requires root or a system that
# permits user namespaces. Sets CUDA_IS_HIDDEN.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/ci/common.sh
. tools/ci/common.sh

export HEADERS_INSTEAD=""
if [[ $1 == --headers ]]; then
    HEADERS_INSTEAD=$(realpath "$2")
    shift 2
fi

# Folders of toolkits, and the compilers and libraries outside them that would be found.
cuda_paths() {
    local path
    for path in "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda* /opt/cuda*; do
        [[ ! -d $path ]] || realpath "$path"
    done
    type -ap nvcc || true
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | sed -nE 's/.* => (.*\/lib(cuda|cudart)\.so.*)/\1/p' | xargs -r realpath
}

mapfile -t hidden < <(cuda_paths | sort -u)
unset CUDA_PATH CUDA_HOME
export CUDA_IS_HIDDEN=1
[[ ${#hidden[@]} -gt 0 ]] || exec "$@"
note "hidden: ${hidden[*]}"
namespace=(--mount)
[[ $(id -u) -eq 0 ]] || namespace+=(--map-root-user)
if ! unshare "${namespace[@]}" true; then
    ! in_ci || die "unshare ${namespace[*]} is not permitted: CUDA cannot be hidden"
    note "SKIPPED: unshare ${namespace[*]} is not permitted: CUDA cannot be hidden"
    exit "$SKIP_STATUS"
fi
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare "${namespace[@]}" bash -c '
    set -euo pipefail
    count=$1
    shift
    for path in "${@:1:count}"; do
        if [[ -d $path ]]; then
            headers=$(test ! -e "$path/include/cuda.h" || echo "$HEADERS_INSTEAD")
            mount -t tmpfs none "$path"
            [[ -z $headers ]] || cp -r --preserve=timestamps "$headers" "$path/include"
        elif [[ -e $path ]]; then # and not in a folder that is hidden by now
            mount --bind /dev/null "$path"
        fi
    done
    shift "$count"
    exec "$@"' without_cuda "${#hidden[@]}" "${hidden[@]}" "$@"
