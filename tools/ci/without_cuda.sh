#!/bin/bash
# without_cuda.sh COMMAND...: runs a command as if no CUDA were installed but the headers that bare_headers.sh copies. They
# take the place of the toolkit's, so that ccache recognizes files that other stages compiled; without a toolkit, CUDA_HEADERS
# names their folder. Toolkits and CUDA libraries are hidden in a mount namespace, which requires root or a system that
# permits user namespaces; otherwise the status is 77, in CI 1.
set -euo pipefail
# shellcheck source=tools/ci/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ensure_cuda_headers native
export CUDA_HEADERS=$PWD/build/ci/bare-headers
# Another stage may do the same.
bash tools/ci/bare_headers.sh "$CUDA_HEADERS.$$" "${HEADER_OPTIONS[@]#-Dheaders_dir=}" | sed 's/^/   /'
mv -T "$CUDA_HEADERS.$$" "$CUDA_HEADERS" 2>/dev/null || rm -rf "$CUDA_HEADERS.$$"

# Folders of toolkits, and the compilers and libraries outside them that would be found.
mapfile -t hidden < <(
    {
        find "${CUDA_PATH:-/none}" "${CUDA_HOME:-/none}" /usr/local/cuda* /opt/cuda* -maxdepth 0 2>/dev/null || true
        type -ap nvcc || true
        PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -nE 's/.* => (.*\/lib(cuda|cudart)\.so.*)/\1/p'
    } | xargs -r realpath | sort -u
)
unset CUDA_PATH CUDA_HOME
[[ ${#hidden[@]} -gt 0 ]] || exec "$@"
note "hidden: ${hidden[*]}"
namespace=(--mount)
[[ $(id -u) -eq 0 ]] || namespace+=(--map-root-user)
unshare "${namespace[@]}" true || skip_or_fail "unshare ${namespace[*]} is not permitted: CUDA cannot be hidden"
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare "${namespace[@]}" bash -euc '
    for path in "${@:1:$0}"; do
        if [[ -d $path ]]; then
            [[ -e $path/include/cuda.h ]] && headers=$CUDA_HEADERS || headers=""
            mount -t tmpfs none "$path"
            [[ -z $headers ]] || cp -r --preserve=timestamps "$headers" "$path/include"
        elif [[ -e $path ]]; then # and not in a folder that is hidden now
            mount --bind /dev/null "$path"
        fi
    done
    shift "$0"
    exec "$@"' "${#hidden[@]}" "${hidden[@]}" "$@"
