#!/bin/bash
# bare_headers.sh FOLDER [HEADERS]: copies cuda.h, cuda_runtime_api.h and the CUDA headers that these two include, and no
# others, into FOLDER: the meaning of "CUDA headers only". They come from the folder HEADERS, or from the compiler's default
# path, CUDA_PATH, CUDA_HOME or /usr/local/cuda. Prints their names, one a line.
set -euo pipefail

fail() {
    echo "bare_headers.sh: $*" >&2
    exit 1
}
included() { # [COMPILER_ARGUMENT...]
    printf '#include <%s>\n' cuda.h cuda_runtime_api.h | "${CXX:-g++}" -H -E -x c++ "$@" - 2>&1 >/dev/null |
        sed -n 's/^\.\.* //p' | sort -u
}

target=$1
folders=("" "${CUDA_PATH:-}/include" "${CUDA_HOME:-}/include" /usr/local/cuda/include) # empty: the default path
[[ $# -eq 1 ]] || folders=("$2")
[[ ! -e $target ]] || fail "$target exists"
for folder in "${folders[@]}"; do
    # A folder without headers must not lead to those of the default path.
    [[ -z $folder || -e $folder/cuda.h ]] && files=$(included ${folder:+"-I$folder"}) && break
    files=""
done
main=$(grep -m 1 '/cuda\.h$' <<<"$files") || fail "no usable cuda.h and cuda_runtime_api.h${2:+ in $2}"
root=${main%/cuda.h}
while IFS= read -r file; do
    # In a folder of the distribution, headers of the C library are next to CUDA's.
    grep -q NVIDIA "$file" || continue
    name=${file#"$root"/}
    [[ $name != /* ]] || fail "$root lacks a header that $file stands in for"
    install -Dp -m 644 "$file" "$target/$name"
    echo "$name"
done <<<"$files"
