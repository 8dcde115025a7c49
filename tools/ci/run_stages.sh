#!/bin/bash
# `tools/dev test` and `tools/dev ci`: installs what all stages need, runs the stages, adds up their counts.
#   run_stages.sh test|ci [OPTION...]    the options: tools/dev help
#   run_stages.sh one STAGE              runs a stage and prints its output when it ends, which is also in build/ci/STAGE.out
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/ci/stages.sh
. tools/ci/stages.sh

TIMEFORMAT='   the stage took %U CPU-seconds as user, %S in the kernel'
run_stage() { # STAGE
    local begin=$SECONDS status=0 result run=(bash tools/ci/stages.sh "$1")
    [[ $WITHOUT_CUDA != *" $1 "* || ($1 == test && -z ${IN_CI:-}) ]] ||
        run=(bash tools/ci/without_cuda.sh "${run[@]}")
    step "stage $1"
    time "${run[@]}" || status=$?
    case $status in
    0) result=ok ;;
    "$SKIP_STATUS") result=SKIPPED ;;
    *) result=FAILED ;;
    esac
    echo "$result $((SECONDS - begin))" >"build/ci/$1.result"
    step "stage $1: $result after $((SECONDS - begin)) s"
}

command=$1
shift
mapfile -t all < <(cut -d' ' -f1 <<<"$STAGES")
chosen=("${all[@]}") before=()
case $command in
one)
    step "stage $1 begins"
    run_stage "$1" >"build/ci/$1.out" 2>&1
    cat "build/ci/$1.out"
    exit 0
    ;;
test) chosen=(test) ;;
esac
while [[ $# -gt 0 ]]; do
    case $command,$1 in
    ci,--list)
        printf '%s\n' "$STAGES"
        exit 0
        ;;
    ci,--only | ci,--done)
        [[ $# -ge 2 ]] || die "$1 requires names of stages; see tools/dev ci --list"
        if [[ $1 == --only ]]; then IFS=, read -r -a chosen <<<"$2"; else IFS=, read -r -a before <<<"$2"; fi
        shift
        ;;
    *,--update-counts) export UPDATE_COUNTS=1 ;;
    *) die "tools/dev $command has no option '$1'; see tools/dev help" ;;
    esac
    shift
done
for stage in "${chosen[@]}" "${before[@]}"; do
    [[ " ${all[*]} " == *" $stage "* ]] || die "unknown stage '$stage'; see tools/dev ci --list"
done
[[ ${#chosen[@]} -gt 0 ]] || die "no stage was given; see tools/dev ci --list"
for stage in "${before[@]}"; do
    [[ $(cut -d' ' -f1 "build/ci/$stage.result" 2>/dev/null) == ok ]] || die "stage $stage has not passed in this tree"
done

ensure_build_tools
ensure_catch2 native
ensure_cuda_headers native
if [[ $command == ci ]] || in_ci; then
    export IN_CI=1
    # Files that several stages compile alike are compiled once.
    try_commands ccache:ccache || true
fi
[[ ! -t 0 ]] || find_root || true # stages that run at once cannot prompt for a password

rm -rf "$FAILURES" build/ci/bare-headers
mkdir -p build/ci
started=$SECONDS at_once=()
for stage in "${chosen[@]}"; do
    [[ " ${before[*]} " != *" $stage "* ]] || continue
    rm -f "build/ci/$stage".{result,totals,out}
    if [[ $stage == test || ${#chosen[@]} -eq 1 ]]; then
        run_stage "$stage"
    else
        at_once+=("$stage")
    fi
done
# Two at once, since a stage that waits for the network or for one long step leaves a processor idle.
[[ ${#at_once[@]} -eq 0 ]] || printf '%s\n' "${at_once[@]}" | xargs -n 1 -P 2 bash tools/ci/run_stages.sh one ||
    note "not every stage came to its end"

results=() outside_tests=() passed=0 failed=0 skipped=0
for stage in "${chosen[@]}"; do
    result=FAILED seconds=0 counts="no tests" f=0
    ! [[ -e build/ci/$stage.result ]] || read -r result seconds <"build/ci/$stage.result"
    if [[ -e build/ci/$stage.totals ]]; then
        read -r p f s <"build/ci/$stage.totals"
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
        counts="$p passed, $f failed, $s skipped"
    fi
    # A stage that fails outside a test counts as one failure.
    if [[ $result == FAILED && $f -eq 0 ]]; then
        failed=$((failed + 1))
        outside_tests+=("$stage")
    fi
    results+=("$(printf '%-14s %-8s %8s   %s' "$stage" "$result" "$seconds s" "$counts")")
done

if [[ -s $FAILURES ]]; then
    step "what failed"
    cat "$FAILURES"
fi
for stage in "${outside_tests[@]}"; do
    step "stage $stage failed outside a test; the end of its output"
    tail -n 30 "build/ci/$stage.out" 2>/dev/null | cut -c -400 || note "it is above"
done
step "all stages, $((SECONDS - started)) s"
printf '%s\n' "${results[@]}"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[[ $failed -eq 0 ]]
