#!/bin/bash
# Records the results of this machine's driver, for comparison with the simulator: tools/dev record [SECTION...]
set -euo pipefail
# shellcheck source=tools/ci/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly BUILD=build/record

[[ ${1:-} != --help ]] || exec bash tools/dev help
[[ -z ${CUSHIM_DRIVER:-} ]] || die "CUSHIM_DRIVER is set, but only the machine's own driver can be recorded; unset it"
# The driver release, which cuDriverGetVersion does not return; some containers hide the file.
if [[ -e /proc/driver/nvidia/version ]]; then
    driver=$(sed -nE 's/^NVRM version:.* ([0-9]+\.[0-9]+(\.[0-9]+)?) .*/\1/p' /proc/driver/nvidia/version)
else
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | sed -n 1p) ||
        die "this machine has no NVIDIA driver"
fi
ensure_build_tools
# The questions use the headers and the runtime of one release. The machine's toolkit is used only if these cannot be
# downloaded.
if bring_wheels build/cuda-headers "$RUNTIME_WHEEL"; then
    # shellcheck disable=SC2034 # configure reads it
    HEADER_OPTIONS=("-Dheaders_dir=$(wheel_include build/cuda-headers)")
    export CUSHIM_RUNTIME=${CUSHIM_RUNTIME:-$(wheel_runtime build/cuda-headers)}
else
    ensure_cuda_headers native
fi
step "build cushim-conformance"
configure "$BUILD" --buildtype=debugoptimized --default-library=static -Dtests=disabled \
    -Dtools=disabled -Dexamples=disabled -Dsimulator=enabled
meson compile -C "$BUILD" cushim-conformance ||
    die "cushim-conformance was not built: it requires Linux and CUDA headers of 13.0 or newer"
step "record"
results=$BUILD/recording.txt
"$BUILD/tools/simulator/conformance/cushim-conformance" record "$@" >"$results"
device=$(sed -nE '1s/^# (.*), cuDriverGetVersion .*/\1/p' "$results")
[[ $device != "no device" ]] || die "the driver finds no GPU: see cushim-info"
count=$(sed -nE '1s/.*, ([0-9]+) devices$/\1/p' "$results")
name=${device#NVIDIA }${count:+x$count}
name=${name,,}
file=tools/simulator/conformance/recordings/${name//[^a-z0-9]/-}-$driver.txt
grep -H '^-- the section ended' "$results" || true
python3 tools/simulator/conformance/merge.py "$file" "$results" "$driver"
python3 tools/simulator/conformance/coverage.py "$BUILD/include/cushim/detail/rows.json" \
    tools/simulator/not_simulated.txt tools/simulator/conformance/impossible_outcomes.txt \
    tools/simulator/conformance/unrecorded_outcomes.txt "$file" | tail -n 1 || true
echo "recorded: $file"
note "To compare the simulator with this recording, add it to conformance_recordings in" \
    "tools/simulator/conformance/meson.build, and sections about two devices to conformance_recordings_of_two."
