# Uses package suites that this machine is not set up with, without changing its set-up: a source
# list, package lists and a cache of their own, on the archive that the machine already uses.
# Sourced after common.sh.
# shellcheck shell=bash

# Prints "ARCHIVE CODENAME LABEL" of the distribution's main archive, as apt itself is configured.
main_archive() {
    local codename
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016 # apt expands these names
    apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT) $(LABEL)' \
        'Created-By: Packages' 2>/dev/null |
        awk -v codename="$codename" '$2 == codename && $3 == "main" { print $1, $2, $4; exit }'
}

# Debian or Ubuntu; empty on another system.
distribution() {
    local archive codename label
    command -v apt-get >/dev/null || return 0
    ! read -r archive codename label < <(main_archive) || echo "$label"
}

# private_apt_setup DIR TYPE SUITE...: reads the lists of those suites into DIR and sets PRIVATE_APT
# to the options that make apt-get and apt-cache use them alone. TYPE: deb or deb-src. A SUITE that
# is `release` or `backports` means this machine's own. COMPONENTS (default: main) may be set.
# Fails where none of the suites can be read.
PRIVATE_APT=()
private_apt_setup() {
    local dir=$1 type=$2 suite archive codename label keyring options=""
    shift 2
    command -v apt-get >/dev/null || return 1
    read -r archive codename label < <(main_archive) || return 1
    mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
    dir=$(cd "$dir" && pwd)
    for keyring in "/usr/share/keyrings/${label,,}-archive-keyring."{gpg,pgp}; do
        [[ ! -e $keyring ]] || options="[signed-by=$keyring]"
    done
    for suite in "$@"; do
        case $suite in
        release) suite=$codename ;;
        backports) suite=$codename-backports ;;
        esac
        echo "$type $options $archive $suite ${COMPONENTS:-main}"
    done >"$dir/sources.list"
    PRIVATE_APT=(-qq -o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
        -o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache"
        -o Acquire::Languages=none)
    # One suite that has left the archive must not cost the others.
    apt-get "${PRIVATE_APT[@]}" update || note "not every suite could be read"
    compgen -G "$dir/lists/*_InRelease" >/dev/null
}
