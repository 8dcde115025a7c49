#!/bin/bash
# `tools/dev test` and `tools/dev ci`: installs the packages of all stages, runs the stages, adds up their counts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common packages headers stages; do
    # shellcheck source=/dev/null
    . "tools/ci/$part.sh"
done

command=$1
shift
chosen=("${STAGES[@]}") before=()
[[ $command != test ]] || chosen=(test)
while [[ $# -gt 0 ]]; do
    case $command,$1 in
    ci,--list)
        for stage in "${STAGES[@]}"; do
            printf '%-8s %s\n' "$stage" "$(describe_stage "$stage")"
        done
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
    [[ -n $(describe_stage "$stage") ]] || die "unknown stage '$stage'; see tools/dev ci --list"
done
[[ ${#chosen[@]} -gt 0 ]] || die "no stage was given; see tools/dev ci --list"
for stage in "${before[@]}"; do
    [[ $(cut -d' ' -f1 "build/ci/$stage.result" 2>/dev/null) == ok ]] ||
        die "stage $stage has not passed in this tree"
done

ensure_build_tools
ensure_catch2 native
ensure_cuda_headers native
# Files that several stages compile alike are compiled once.
if [[ $command == ci ]] || in_ci; then
    export WITHOUT_TOOLKIT=1 # for stage test too
    try_commands ccache:ccache || true
fi

TIMEFORMAT='   the stage took %U CPU-seconds as user, %S in the kernel'
rm -f "$FAILURES"
mkdir -p build/ci
started=$SECONDS

run_stage() { # STAGE
    local stage=$1 begin=$SECONDS status=0 result
    step "stage $stage: $(describe_stage "$stage")"
    time bash tools/ci/stage.sh "$stage" || status=$?
    case $status in
    0) result=ok ;;
    "$SKIP_STATUS") result=SKIPPED ;;
    *) result=FAILED ;;
    esac
    echo "$result $((SECONDS - begin))" >"build/ci/$stage.result"
    step "stage $stage: $result after $((SECONDS - begin)) s"
}

# Runs the chosen stages of a lane one after the other. With two lanes, each stage prints its output when it ends.
run_lane() { # STAGE...
    local stage
    for stage in "$@"; do
        [[ " ${lane_stages[*]} " == *" $stage "* ]] || continue
        if [[ $lanes -eq 1 ]]; then
            run_stage "$stage"
        else
            step "stage $stage begins; it writes to build/ci/$stage.out"
            run_stage "$stage" >"build/ci/$stage.out" 2>&1
            flock build/ci/lanes.lock cat "build/ci/$stage.out" || cat "build/ci/$stage.out"
        fi
    done
}

# Stages that wait for the network or for one long step leave a processor idle, so two lanes run at once.
lane_stages=() lanes=0
for stage in "${chosen[@]}"; do
    if [[ " ${before[*]} " == *" $stage "* ]]; then
        echo "ok before" >"build/ci/$stage.result"
        continue
    fi
    rm -f "build/ci/$stage.result" "build/ci/$stage.totals"
    if [[ $stage == test ]]; then # first, since other stages reuse its files from ccache
        run_stage test
    else
        lane_stages+=("$stage")
    fi
done
for lane in "${LANES[@]}"; do
    for stage in "${lane_stages[@]}"; do
        [[ " $lane " != *" $stage "* ]] || { lanes=$((lanes + 1)) && break; }
    done
done
[[ ! -t 0 ]] || find_root || true # lanes cannot prompt for a password
if [[ $lanes -eq 1 ]]; then
    trap 'exit 130' INT
    for lane in "${LANES[@]}"; do
        # shellcheck disable=SC2086 # words
        run_lane $lane
    done
else
    # Each lane is a process group, so that all its processes end with this script.
    trap 'kill -- $(jobs -p | sed "s/^/-/") 2>/dev/null || true; exit 130' INT TERM
    set -m
    for lane in "${LANES[@]}"; do
        # shellcheck disable=SC2086 # words
        run_lane $lane </dev/null &
    done
    set +m
    wait
fi

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
    [[ $seconds == before ]] || seconds+=" s"
    results+=("$(printf '%-8s %-8s %8s   %s' "$stage" "$result" "$seconds" "$counts")")
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
