#!/bin/bash
# Runs one stage of `tools/dev ci`: stage.sh NAME. Status 77 means skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common packages headers stages; do
    # shellcheck source=/dev/null
    . "tools/ci/$part.sh"
done
PATH=$PWD/build/bin:$PATH
unset CXX CC # stages choose their own
mkdir -p build/ci
rm -f "build/ci/$1.totals"
ensure_cuda_headers native
"stage_$1"
