#!/bin/bash
# bare_headers.sh FOLDER [HEADERS]: fills FOLDER with cuda.h, cuda_runtime_api.h and the CUDA headers that these two
# include, and no others: the meaning of "CUDA headers only". Copies them from the folder HEADERS, or from the
# compiler's default path, CUDA_PATH, CUDA_HOME or /usr/local/cuda. Prints the names of the copied files, one a line.
set -euo pipefail

readonly NAMES='#include <cuda.h>\n#include <cuda_runtime_api.h>\n'

# The files that the two headers include, including themselves, one a line.
included() { # [COMPILER_ARGUMENT...]
    # shellcheck disable=SC2059 # NAMES is a format
    printf "$NAMES" | "${CXX:-g++}" -M -x c++ "$@" - 2>/dev/null |
        sed -e "s/^-[^ ]*:\? *//" -e 's/ *\\$//' -e 's/\\ /\x01/g' | tr ' ' '\n' | tr '\001' ' ' | sed '/^$/d'
}

# The folders to search; an empty line is the compiler's default path.
candidates() {
    local root
    if [[ $# -gt 0 ]]; then
        printf '%s\n' "$1"
        return
    fi
    echo
    for root in "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda; do
        [[ -z $root ]] || printf '%s\n' "$root/include"
    done
}

[[ $# -eq 1 || $# -eq 2 ]] || {
    echo "usage: bare_headers.sh FOLDER [HEADERS]" >&2
    exit 2
}
readonly target=$1
shift

files=""
while IFS= read -r folder; do
    # A given folder without headers is an error; the compiler's default path must not replace it.
    if [[ -z $folder || -e $folder/cuda.h ]] && files=$(included ${folder:+"-I$folder"}); then
        break
    fi
    files=""
done < <(candidates "$@")
main=$(grep -m 1 '/cuda\.h$' <<<"$files") || {
    echo "bare_headers.sh: no usable cuda.h and cuda_runtime_api.h${1:+ in $1}" >&2
    exit 1
}
readonly root=${main%/cuda.h}

mkdir -p "$target"
[[ -z $(ls -A "$target") ]] || {
    echo "bare_headers.sh: $target is not empty" >&2
    exit 1
}
while IFS= read -r file; do
    # In a folder of the distribution, headers of the C library are next to CUDA's.
    grep -q NVIDIA "$file" || continue
    [[ $file == "$root"/* ]] || {
        echo "bare_headers.sh: $root lacks a header that $file stands in for" >&2
        exit 1
    }
    mkdir -p "$(dirname "$target/${file#"$root"/}")"
    cp -L --preserve=timestamps "$file" "$target/${file#"$root"/}"
    printf '%s\n' "${file#"$root"/}"
done <<<"$files"
