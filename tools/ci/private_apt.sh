# Uses package suites that this machine is not configured for, without changing its configuration: with a separate source
# list, package lists and cache, on the archive that the machine already uses. Sourced after common.sh.
# shellcheck shell=bash

# private_apt DIR LABEL TYPE COMPONENTS SUITE...: reads the lists of those suites into DIR and sets PRIVATE_APT to the options
# that make apt-get and apt-cache use only them. TYPE: deb or deb-src. The SUITE `release` or `backports` is that of this
# machine. Fails if its archive is not LABEL's (Debian, Ubuntu), or none of the suites can be read.
PRIVATE_APT=()
private_apt() {
    local dir=$PWD/$1 wanted=$2 type=$3 components=$4 suite archive codename label keyring options=""
    shift 4
    command -v apt-get >/dev/null || return 1
    # The main archive of the distribution.
    # shellcheck disable=SC2016,SC1091 # apt expands these names
    read -r archive codename label < <(
        apt-get indextargets --format '$(SITE) $(RELEASE) $(LABEL) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
            grep " $(. /etc/os-release && echo "$VERSION_CODENAME") .* main$" | head -n 1
    ) || true
    [[ ${label% main} == "$wanted" ]] || return 1
    mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
    for keyring in "/usr/share/keyrings/${wanted,,}-archive-keyring."{gpg,pgp}; do
        [[ ! -e $keyring ]] || options="[signed-by=$keyring]"
    done
    for suite in "$@"; do
        suite=${suite/#release/$codename}
        echo "$type $options $archive ${suite/#backports/$codename-backports} $components"
    done >"$dir/sources.list"
    PRIVATE_APT=(-qq -o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
        -o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache"
        -o Acquire::Languages=none)
    # A suite that was removed from the archive must not prevent the use of others.
    apt-get "${PRIVATE_APT[@]}" update || note "not every suite could be read"
    compgen -G "$dir/lists/*_InRelease" >/dev/null
}
