#!/bin/bash
# Runs clang-tidy with .clang-tidy on the sources of src and tools that changed since the commit BASE, and on those that
# include a changed header directly. Usage: tools/ci/tidy.sh [BASE | --all]. BASE is by default TIDY_BASE of the
# environment, or the commit where this branch left its upstream, or else the last commit but one. After a change of
# .clang-tidy run it with --all: some ten minutes. As of clang-format, one release counts, which comes as a wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common packages headers; do
    # shellcheck source=/dev/null
    . "tools/ci/$part.sh"
done

program=build/venv/bin/clang-tidy

# The commit to compare with; none: everything.
base() {
    local base
    if [[ -n ${1:-} ]]; then
        git rev-parse --verify --quiet "$1^{commit}" || die "'$1' is not a commit"
        return
    fi
    base=$(git merge-base HEAD '@{upstream}' 2>/dev/null) || base=$(git rev-parse HEAD)
    [[ $base != $(git rev-parse HEAD) ]] || base=$(git rev-parse --verify --quiet HEAD~1) || return 0
    echo "$base"
}

# Sources and headers of src and tools that differ from that commit, new ones included.
changed_files() { # BASE
    {
        git diff --name-only --diff-filter=d "$1" -- src tools include || return
        git ls-files --others --exclude-standard -- src tools include
    } | { grep -E '\.(h|hpp|c|cpp)$' || true; }
}

# Of the files that the build folder compiles those that changed, or that include what changed.
chosen_sources() { # DIR CHANGED...
    python3 - "$@" <<'PYTHON'
import json, os, re, sys

folder, changed = sys.argv[1], set(sys.argv[2:])
with open(os.path.join(folder, "compile_commands.json")) as file:
    sources = sorted({os.path.relpath(os.path.join(one["directory"], one["file"])) for one in json.load(file)})
headers = {name.removeprefix("include/") if name.startswith("include/") else os.path.basename(name) for name in changed}
for source in sources:
    if not source.startswith(("src/", "tools/")):
        continue
    with open(source) as file:
        text = file.read()
    included = re.findall(r'^#include "(?:.*/)?([^"/]+)"', text, re.MULTILINE)
    included += re.findall(r"^#include <(cushim/[^>]+)>", text, re.MULTILINE)
    if not changed or source in changed or headers.intersection(included):
        print(source)
PYTHON
}

# Tables and other generated sources, without compiling anything.
generate_sources() { # DIR
    meson introspect --targets "$1" | python3 -c '
import json, os, sys
for target in json.load(sys.stdin):
    for name in target["filename"]:
        if target["type"] == "custom" and name.endswith((".h", ".hpp", ".c", ".cpp", ".inc")):
            print(os.path.relpath(name, sys.argv[1]))' "$PWD/$1" | xargs -r ninja -C "$1"
}

changed=()
if [[ ${1:-} != --all ]]; then
    base=$(base "${1:-${TIDY_BASE:-}}")
    if [[ -n $base ]]; then
        list=$(changed_files "$base")
        mapfile -t changed <<<"$list"
        [[ -n $list ]] || { note "no source changed since ${base:0:12}"; exit 0; }
    fi
fi
ensure_wheel_program "$TIDY_WHEEL"
need_clang "a standard library"
ensure_build_tools
ensure_cuda_headers native
dir=build/ci/tidy
# Its compiler's options are the ones that clang-tidy knows.
export CXX=clang++ CC=clang
run_logged "$dir.log" "configure" configure "$dir" -Db_pch=false -Ddebug=false -Dtests=disabled -Dtools=enabled \
    -Dexamples=disabled -Dsimulator=enabled
run_logged "$dir.log" "generate" generate_sources "$dir"
list=$(chosen_sources "$dir" "${changed[@]}")
mapfile -t sources <<<"$list"
[[ -n $list ]] || { note "no source that is compiled here changed"; exit 0; }
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 4 "$program" --quiet -p "$dir" 2>"$dir.errors" || {
    grep -v 'warnings\? generated\|^\[[0-9/]*\] Processing' "$dir.errors" || true
    die "clang-tidy has remarks; tools/ci/tidy.sh shows them, .clang-tidy has the checks"
}
note "${#sources[@]} sources pass clang-tidy"
