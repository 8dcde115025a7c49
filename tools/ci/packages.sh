# Installs build tools and Catch2 with the system's package manager. Sourced after common.sh.
# shellcheck shell=bash

# shellcheck disable=SC2034 # for the scripts that source this
readonly MESON_WANTED=1.0.0 CATCH2_WANTED=3.3 MESON_WHEEL=meson==1.7.2 FORMAT_WHEEL=clang-format==18.1.8 \
    TIDY_WHEEL=clang-tidy==18.1.8

# pinned_requirement NAME==VERSION: prints it with the hashes of its files, for pip; fails if it is not listed.
pinned_requirement() { grep "^$1 " tools/ci/wheels.txt; }

# Sets ROOT to the words that run a command as root; fails if that is impossible. sudo may ask for a password on a terminal.
ROOT=()
find_root() {
    [[ $(id -u) -ne 0 ]] || return 0
    ROOT=(sudo)
    command -v sudo >/dev/null && if [[ -t 0 ]]; then sudo -v; else sudo -n true 2>/dev/null; fi
}

# Package lists may be missing (containers) or outdated: updates them at most twice a day.
update_package_lists() {
    [[ -z $(find build/.package-lists -mmin -720 2>/dev/null) ]] || return 0
    step "${ROOT[*]:+sudo }apt-get update"
    mkdir -p build
    if "${ROOT[@]}" apt-get -qq update; then touch build/.package-lists; else note "not all package lists could be read"; fi
}

# try_install PACKAGE...: installs missing packages; on failure, prints the reason.
try_install() {
    local package missing=()
    for package in "$@"; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    if ! command -v apt-get >/dev/null || ! find_root; then
        note "missing, and cannot be installed from here; as root:"
        note "apt-get install --no-install-recommends ${missing[*]}"
        return 1
    fi
    mkdir -p build
    # Another stage may be installing packages.
    (flock 9 && update_package_lists && step "${ROOT[*]:+sudo }apt-get install ${missing[*]}" && apt_get_install "${missing[@]}") 9>build/.packages.lock
}

# apt_get_install ARGUMENT...: silent unless it fails.
apt_get_install() {
    mkdir -p build
    "${ROOT[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
        -y --no-install-recommends install "$@" >build/apt-get.log 2>&1 || { tail -n 20 build/apt-get.log; return 1; }
}

# try_commands COMMAND:PACKAGE...: installs the packages of missing commands.
try_commands() {
    local pair packages=()
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null || packages+=("${pair#*:}")
    done
    [[ ${#packages[@]} -eq 0 ]] || try_install "${packages[@]}"
}
require_commands() { try_commands "$@" || exit 1; }

# skip_or_fail REASON: skips this script; in CI, where everything can be had, it fails.
skip_or_fail() {
    ! in_ci || die "$*"
    note "SKIPPED: $*"
    exit "$SKIP_STATUS"
}

# need_clang WHAT OPTION...: skips this script if clang++ with WHAT (these options) is not available. In Debian, the
# libraries of sanitizers and libFuzzer are in a separate package that the compiler only recommends.
need_clang() {
    { try_commands clang++:clang && { clang_links "${@:2}" ||
        { try_install "libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev" && clang_links "${@:2}"; }; }; } ||
        skip_or_fail "clang++ with $1 is missing"
}
clang_links() { # OPTION...
    local program='int main() {}'
    # libFuzzer has its own main().
    [[ "$*" != *fuzzer* ]] ||
        program='extern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }'
    echo "$program" | clang++ "$@" -x c++ - -o "$(mktemp -u)" 2>/dev/null
}

# has_package PACKAGE VERSION: whether the system's package lists have that version or a newer one.
has_package() {
    local version
    version=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n '/(none)/d; s/^ *Candidate: *//p')
    version_at_least "$version" "$2"
}

have_meson() { command -v meson >/dev/null && version_at_least "$(meson --version)" "$MESON_WANTED"; }

# Meson comes from the distribution or, if that is too old, from a virtual environment.
ensure_meson() {
    PATH=$PWD/build/bin:$PATH
    ! have_meson || return 0
    ! command -v apt-get >/dev/null || ! find_root || update_package_lists
    if has_package meson "$MESON_WANTED"; then
        try_install meson || exit 1
        hash -r
        ! have_meson || return 0
    fi
    install_wheel "$MESON_WHEEL" ||
        die "Meson $MESON_WANTED or newer is required: the distribution has none, and pip failed"
    # Only Meson: the python3 next to it lacks the system's packages.
    mkdir -p build/bin
    ln -sf ../venv/bin/meson build/bin/meson
    hash -r
}

# install_wheel NAME==VERSION: installs the listed file into the virtual environment build/venv.
install_wheel() {
    python3 -c 'import ensurepip, venv' 2>/dev/null || try_install python3-venv || return 1
    step "$1 into build/venv"
    [[ -x build/venv/bin/python ]] || rm -rf build/venv # its interpreter may have been removed
    python3 -m venv build/venv || return 1
    pinned_requirement "$1" >build/venv/requirements.txt || return 1
    build/venv/bin/python -m pip install -q --require-hashes --no-deps -r build/venv/requirements.txt
}

# ensure_wheel_program NAME==VERSION: brings build/venv/bin/NAME, or skips this script.
ensure_wheel_program() {
    has_wheel_program "$1" || { install_wheel "$1" && has_wheel_program "$1"; } || skip_or_fail "$1 cannot be had"
}
has_wheel_program() { "build/venv/bin/${1%%==*}" --version 2>/dev/null | grep -q "version ${1#*==}"; }

ensure_build_tools() {
    require_commands g++:g++ python3:python3 ninja:ninja-build pkg-config:pkg-config
    ensure_meson
}

# ensure_catch2 native|cross: native builds use an installed package. Otherwise, and for cross builds always, Meson builds
# the source that subprojects/catch2.wrap names.
ensure_catch2() {
    if [[ $1 == native ]]; then
        ! pkg-config --atleast-version=$CATCH2_WANTED catch2 2>/dev/null || return 0
        ! install_catch2 || return 0
    fi
    mkdir -p build
    # Another stage may unpack it.
    (flock 9 && { bash tools/ci/catch2_source.sh || note "the source of Catch2 cannot be had"; }) 9>build/.catch2.lock
}

install_catch2() {
    local package
    command -v apt-get >/dev/null && find_root && update_package_lists || return 1
    for package in libcatch2-dev catch2; do
        ! has_package "$package" "$CATCH2_WANTED" || { try_install "$package" && return; }
    done
    private_apt build/apt/backports Debian deb main backports &&
        step "${ROOT[*]:+sudo }apt-get install libcatch2-dev from the distribution's backports" &&
        apt_get_install "${PRIVATE_APT[@]}" libcatch2-dev
}
