# Installs build tools and Catch2 with the system's package manager. Sourced after common.sh.
# shellcheck shell=bash

readonly MESON_WANTED=1.0.0 CATCH2_WANTED=3.3 MESON_WHEEL=meson==1.7.2 FORMAT_WHEEL=clang-format==18.1.8 \
    TIDY_WHEEL=clang-tidy==18.1.8

# pinned_requirement NAME==VERSION: prints it with the hashes of its files, for pip; fails if it is not listed.
pinned_requirement() {
    awk -v wanted="$1" '$1 == wanted { printf "%s", $1; for (i = 2; i <= NF; ++i) printf " --hash=sha256:%s", $i; found = 1 }
                        END { exit !found }' tools/ci/wheels.txt
}

# Sets ROOT to the words that run a command as root, and AS_ROOT to the same for messages; fails if that is impossible. On
# a terminal, asks once whether sudo may be used.
ROOT=() AS_ROOT=""
find_root() {
    [[ $(id -u) -ne 0 ]] || return 0
    command -v sudo >/dev/null || return 1
    if [[ -t 0 && -z ${MAY_USE_SUDO:-} ]]; then
        read -r -p "May sudo be used to install packages with apt-get? Each is named. [Y/n] " MAY_USE_SUDO
        export MAY_USE_SUDO=${MAY_USE_SUDO:-yes}
    fi
    [[ ${MAY_USE_SUDO:-} != [nN]* ]] || return 1
    [[ -t 0 ]] || sudo -n true 2>/dev/null || return 1
    ROOT=(sudo) AS_ROOT="sudo "
}

# Package lists may be missing (containers) or outdated: updates them at most twice a day.
update_package_lists() {
    local stamp=build/.package-lists
    [[ -z $(find "$stamp" -mmin -720 2>/dev/null) ]] || return 0
    step "${AS_ROOT}apt-get update"
    mkdir -p build
    if "${ROOT[@]}" apt-get -qq update; then touch "$stamp"; else note "not all package lists could be read"; fi
}

# try_install PACKAGE...: installs missing packages; on failure, prints the reason.
try_install() {
    local package missing=()
    for package in "$@"; do
        if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
            missing+=("$package")
        fi
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    if ! command -v apt-get >/dev/null; then
        note "missing, install manually (Debian package names): ${missing[*]}"
        return 1
    fi
    if ! find_root; then
        note "packages are missing, and neither root nor sudo is available. Run as root:"
        note "apt-get install --no-install-recommends ${missing[*]}"
        return 1
    fi
    mkdir -p build
    # Another stage may be installing packages.
    (flock 9 && update_package_lists && step "${AS_ROOT}apt-get install ${missing[*]}" &&
        apt_get_install "${missing[@]}") 9>build/.packages.lock
}

# apt_get_install ARGUMENT...: silent unless it fails.
apt_get_install() {
    mkdir -p build
    "${ROOT[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
        -y --no-install-recommends install "$@" >build/apt-get.log 2>&1 && return 0
    tail -n 20 build/apt-get.log
    return 1
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

# need_clang WHAT OPTION...: skips this script if clang++ with WHAT (these options) is not available; in CI that is an
# error.
need_clang() {
    local what=$1
    shift
    ! have_clang "$@" || return 0
    ! in_ci || die "clang++ with $what is missing"
    note "SKIPPED: clang++ with $what is missing"
    exit "$SKIP_STATUS"
}
# Whether clang++ links a program with these options. In Debian, the libraries of sanitizers and libFuzzer are in a separate
# package that the compiler only recommends.
have_clang() {
    local version
    try_commands clang++:clang || return 1
    clang_links "$@" && return 0
    version=$(clang++ -dumpversion)
    try_install "libclang-rt-${version%%.*}-dev" && clang_links "$@"
}
clang_links() {
    local program='int main() {}'
    # libFuzzer has its own main().
    [[ "$*" != *fuzzer* ]] ||
        program='extern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }'
    mkdir -p build
    echo "$program" | clang++ "$@" -x c++ - -o build/clang-links 2>/dev/null
}

# The version in the system's package lists; empty if none.
package_candidate() {
    command -v apt-cache >/dev/null || return 0
    LC_ALL=C apt-cache policy "$1" 2>/dev/null |
        sed -n '/(none)/d; s/^ *Candidate: *//p'
}

have_meson() {
    command -v meson >/dev/null && version_at_least "$(meson --version)" "$MESON_WANTED"
}

# Meson comes from the distribution or, if that is too old, from a virtual environment.
ensure_meson() {
    PATH=$PWD/build/bin:$PATH
    ! have_meson || return 0
    if command -v apt-cache >/dev/null; then
        ! find_root || update_package_lists
        if version_at_least "$(package_candidate meson)" "$MESON_WANTED"; then
            try_install meson || exit 1
            hash -r
            ! have_meson || return 0
        fi
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

# ensure_wheel_program NAME==VERSION: brings build/venv/bin/NAME. Where it cannot be had, this script is skipped; in CI
# that is an error.
ensure_wheel_program() {
    has_wheel_program "$1" || { install_wheel "$1" && has_wheel_program "$1"; } || {
        ! in_ci || die "$1 cannot be had"
        note "SKIPPED: $1 cannot be had on this machine"
        exit "$SKIP_STATUS"
    }
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
    bash tools/ci/catch2_source.sh || note "Meson will download the source of Catch2"
}

install_catch2() {
    local package
    command -v apt-get >/dev/null && find_root && update_package_lists || return 1
    for package in libcatch2-dev catch2; do
        if version_at_least "$(package_candidate "$package")" "$CATCH2_WANTED"; then
            try_install "$package"
            return
        fi
    done
    # shellcheck source=tools/ci/private_apt.sh
    . tools/ci/private_apt.sh
    [[ $(distribution) == Debian ]] || return 1
    private_apt_setup build/apt/backports deb backports || return 1
    step "${AS_ROOT}apt-get install libcatch2-dev from the distribution's backports"
    apt_get_install "${PRIVATE_APT[@]}" libcatch2-dev
}
