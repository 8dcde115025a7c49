#!/bin/bash
# `tools/dev matrix`: for each supported CUDA release, downloads its headers and its libcudart as pip wheels, builds the
# libraries, runs the suite forward, and resolves every row of the runtime table in that libcudart. With clang++, the
# generator must find the same rows. With the oldest and newest headers, cushim-info and the suite loader run too. The
# areas that differ most between releases, graphs and the drop-in, are tested on simulators of the oldest driver and
# runtime. Release newest, which has no known hash, is tested only on request. Status 77 if no wheel is available.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common packages headers stages; do
    # shellcheck source=/dev/null
    . "tools/ci/$part.sh"
done

# NAME REQUIREMENT [simulated]
readonly RELEASES=(
    "11.8 nvidia-cuda-runtime-cu11==11.8.89 simulated"
    "12.0 nvidia-cuda-runtime-cu12==12.0.146"
    "12.4 nvidia-cuda-runtime-cu12==12.4.127"
    "12.9 nvidia-cuda-runtime-cu12==12.9.79"
    "13.0 nvidia-cuda-runtime==13.0.96"
    "newest nvidia-cuda-runtime"
)

only="" stage=matrix
case ${1:-} in
"") ;;
--only) only=,${2:?--only needs names of releases}, ;;
*) die "tools/dev matrix has no option '$1'" ;;
esac
[[ $only != ,newest, ]] || stage=newest

ensure_build_tools
ensure_catch2 native
mkdir -p build/matrix build/ci

# The tables must not depend on the compiler that preprocessed the headers.
same_rows_with_clang() { # NAME DIR
    local rows=build/matrix/$1-rows
    if ! try_commands clang++:clang; then
        note "without clang++, its rows are not compared with those of g++"
        return 0
    fi
    python3 tools/generate_tables.py --output "$rows" --strict \
        --include "$(wheel_include "build/matrix/$1")" -- clang++ || return 1
    cmp "$(find "$2" -name rows.json -print -quit)" "$rows/rows.json" || return 1
    note "clang++ and g++ result in the same rows"
}

# Without debug information, which is not used here and is large for the simulator.
readonly BUILD_OPTIONS=(--default-library=static)
build_type() { # NAME: one release is built as users build it, without warnings
    case $1 in
    13.0) echo --buildtype=release -Dwerror=true ;;
    12.*) echo --buildtype=plain -Dtools=disabled ;; # cushim-info is built with the oldest and the newest
    *) echo --buildtype=plain ;;
    esac
}

# Without the simulator's own tests, and of the wrappers' tests only those of graphs.
compile_simulated() { # DIR
    configure "$1" --buildtype=plain "${BUILD_OPTIONS[@]}" "${SIMULATOR_OPTIONS[@]}" -Dapi_topics=graph,capture &&
        meson compile -C "$1" api_tests exit_programs sim_libraries
}

test_release() { # NAME [simulated]
    local wheel=build/matrix/$1 dir=build/matrix/$1-build status=0 runtime
    local suites=(--no-suite ci --suite forward --suite real)
    [[ $1 == 12.* ]] || suites+=(--suite loader) # which hardly depends on the headers
    runtime=$(wheel_runtime "$wheel")
    [[ -n $runtime ]] || { note "no libcudart in the wheel"; return 1; }
    # shellcheck disable=SC2034 # configure reads it
    HEADER_OPTIONS=("-Dheaders_dir=$(wheel_include "$wheel")")
    # shellcheck disable=SC2046 # one or two words
    configure "$dir" "${BUILD_OPTIONS[@]}" "${DEVELOPER_OPTIONS[@]}" $(build_type "$1") || return 1
    compile_product "$dir" || return 1
    same_rows_with_clang "$1" "$dir" || status=1
    if [[ ${2:-} == simulated ]]; then
        compile_simulated "$dir" || return 1
        suites+=(--suite api --suite dropin)
    fi
    CUSHIM_RUNTIME_REAL=$runtime meson test -C "$dir" \
        --print-errorlogs --timeout-multiplier 2 "${suites[@]}" || status=1
    python3 tools/ci/check_counts.py "$dir" --stage "matrix-$1" \
        --totals "build/matrix/$1.totals" --failures "$FAILURES" ${UPDATE_COUNTS:+--update} || status=1
    return $status
}

summary=() failures=0 tried=0 passed=0 failed=0 skipped=0
for entry in "${RELEASES[@]}"; do
    read -r name requirement simulated <<<"$entry"
    [[ $only == *,$name,* || (-z $only && $name != newest) ]] || continue
    tried=$((tried + 1))
    step "CUDA $name"
    rm -f "build/matrix/$name.totals"
    [[ $name != newest ]] || rm -rf build/matrix/newest
    if ! bring_wheels "build/matrix/$name" "$requirement"; then
        summary+=("$name: SKIPPED, its wheels cannot be downloaded")
        tried=$((tried - 1))
        ! in_ci || failures=$((failures + 1))
        continue
    fi
    begin=$SECONDS result=ok
    test_release "$name" "$simulated" || { result=FAILED failures=$((failures + 1)); }
    if [[ -e build/matrix/$name.totals ]]; then
        read -r p f s <"build/matrix/$name.totals"
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    fi
    summary+=("$name ($(cat "build/matrix/$name/complete")): $result, $((SECONDS - begin)) s")
done

step "CUDA releases"
printf '   %s\n' "${summary[@]}"
[[ $tried -gt 0 ]] || exit "$SKIP_STATUS"
echo "$passed $failed $skipped" >"build/ci/$stage.totals"
printf '   %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[[ $failures -eq 0 ]]
