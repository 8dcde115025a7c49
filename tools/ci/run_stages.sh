#!/bin/bash
# `tools/dev test`: installs what every stage needs, runs the stages, adds up their counts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common packages headers stages; do
    # shellcheck source=/dev/null
    . "tools/ci/$part.sh"
done

chosen=("${STAGES[@]}")
while [[ $# -gt 0 ]]; do
    case $1 in
    --list)
        for stage in "${STAGES[@]}"; do
            printf '%-8s %s\n' "$stage" "$(describe_stage "$stage")"
        done
        exit 0
        ;;
    --only)
        IFS=, read -r -a chosen <<<"${2:?--only needs names of stages}"
        shift
        ;;
    --update-counts) export UPDATE_COUNTS=1 ;;
    *) die "tools/dev test knows no option '$1'" ;;
    esac
    shift
done
for stage in "${chosen[@]}"; do
    [[ -n $(describe_stage "$stage") ]] || die "no stage named '$stage'; see tools/dev test --list"
done

ensure_build_tools
ensure_catch2 native
ensure_cuda_headers native

rm -f "$FAILURES"
started=$SECONDS
results=()
passed=0 failed=0 skipped=0
for stage in "${chosen[@]}"; do
    step "stage $stage: $(describe_stage "$stage")"
    begin=$SECONDS status=0
    bash tools/ci/stage.sh "$stage" || status=$?
    case $status in
    0) result=ok ;;
    "$SKIP_STATUS") result=SKIPPED ;;
    *) result=FAILED ;;
    esac
    counts="no tests" f=0
    if [[ -e build/ci/$stage.totals ]]; then
        read -r p f s <"build/ci/$stage.totals"
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
        counts="$p passed, $f failed, $s skipped"
    fi
    # A stage that broke elsewhere than in a test counts as one failure.
    [[ $result != FAILED || $f -gt 0 ]] || failed=$((failed + 1))
    results+=("$(printf '%-8s %-8s %4d s   %s' "$stage" "$result" $((SECONDS - begin)) "$counts")")
    step "stage $stage: $result after $((SECONDS - begin)) s"
done

if [[ -s $FAILURES ]]; then
    step "what failed"
    cat "$FAILURES"
fi
step "all stages, $((SECONDS - started)) s"
printf '%s\n' "${results[@]}"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[[ $failed -eq 0 ]]
