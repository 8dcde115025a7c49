# Uses package suites that this machine is not configured for, without changing its configuration: with a separate source
# list, package lists and cache, on the archive that the machine already uses. Sourced after common.sh.
# shellcheck shell=bash

# Prints "ARCHIVE CODENAME LABEL" of the main archive of the distribution, from the configuration of apt.
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

# private_apt_setup DIR TYPE SUITE...: reads the lists of those suites into DIR and sets PRIVATE_APT to the options that
# make apt-get and apt-cache use only them. TYPE: deb or deb-src. The SUITE `release` or `backports` is that of this
# machine. COMPONENTS (default: main) may be set. Fails if none of the suites can be read.
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
    # A suite that was removed from the archive must not prevent the use of others.
    apt-get "${PRIVATE_APT[@]}" update || note "not every suite could be read"
    compgen -G "$dir/lists/*_InRelease" >/dev/null
}
