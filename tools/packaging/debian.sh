#!/bin/bash
# debian.sh ARCHIVE RECIPE HEADERS OUTPUT: builds the Debian packages, runs lintian, installs them and runs their tests
# (autopkgtest). All of this happens in a copy of this system that is thrown away (a chroot on an overlay, which requires
# root), without network, and with a package nvidia-cuda-dev that has only the headers in HEADERS: the real one has
# almost a gigabyte. Debian packages, logs and the versions of the tools are left in OUTPUT.
set -euo pipefail

if [[ ${1:-} != --inside ]]; then
    archive=$(realpath "$1") recipe=$(realpath "$2") headers=$(realpath "$3")
    mkdir -p "$4"
    output=$(realpath "$4")
    exec unshare --mount --net bash "$0" --inside "$archive" "$recipe" "$headers" "$output"
fi

archive=$2 recipe=$3 headers=$4 output=$5
layer=$(mktemp -d) root=$(mktemp -d)
mount -t tmpfs none "$layer"
mkdir "$layer/upper" "$layer/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$root"
for folder in /proc /sys /dev; do mount --rbind "$folder" "$root$folder"; done
mount --bind "$output" "$root/mnt"
[[ ! -d ${CCACHE_DIR:-} ]] || mount --bind "$CCACHE_DIR" "$root$CCACHE_DIR"
mkdir "$root/build"
cp -r "$recipe" "$root/build/recipe"
cp -r "$headers" "$root/build/headers"
cp "$archive" "$root/build/"
for toolkit in /usr/local/cuda*; do
    [[ ! -d $toolkit || -L $toolkit ]] || mount -t tmpfs none "$root$toolkit"
done

cat >"$root/build/run.sh" <<'INSIDE'
set -euo pipefail
cd /build
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
[[ ! -d ${CCACHE_DIR:-} ]] || export PATH=/usr/lib/ccache:$PATH CCACHE_SLOPPINESS=pch_defines,time_macros
unset CC CXX PYTHONPATH CUDA_PATH CUDA_HOME

mkdir -p stand-in/DEBIAN stand-in/usr/include
cp -r headers/. stand-in/usr/include/
cat >stand-in/DEBIAN/control <<END
Package: nvidia-cuda-dev
Version: 13.0-0standin
Architecture: all
Maintainer: nobody <nobody@example.com>
Description: CUDA headers only, for a check of packages
END
dpkg-deb --root-owner-group --build stand-in nvidia-cuda-dev.deb >/dev/null
dpkg -i nvidia-cuda-dev.deb >/dev/null

version=$(dpkg-parsechangelog -l recipe/changelog -S Version)
upstream=${version%-*}
cp "cushim-$upstream.tar.xz" "cushim_$upstream.orig.tar.xz"
tar -xf "cushim_$upstream.orig.tar.xz"
mv recipe "cushim-$upstream/debian"
cd "cushim-$upstream"
dpkg-buildpackage --unsigned-source --unsigned-changes >/mnt/build.log 2>&1 ||
    { tail -n 60 /mnt/build.log; exit 1; }
cd ..
cp ./*.deb /mnt/
rm -f /mnt/nvidia-cuda-dev.deb
for file in ./*.deb; do
    [[ $file == ./nvidia* ]] || { echo "$file"; dpkg-deb --contents "$file" | awk '{ print "    " $6 $7 $8 }'; }
done >/mnt/contents.txt
# The first upload closes a bug (ITP) that has no number yet.
timeout 900 lintian --info --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ./*.changes >/mnt/lintian.txt 2>&1 || { cat /mnt/lintian.txt; exit 1; }
debs=$(printf '%s\n' ./*cushim*.deb | grep -v dbgsym)
# shellcheck disable=SC2086 # words
# 2: the test of cushim-sim was skipped, since that package was not built.
autopkgtest $debs nvidia-cuda-dev.deb ./*.dsc -- null >/mnt/autopkgtest.log 2>&1 ||
    { [[ $? -eq 2 ]] && grep -q '^consumer *PASS' /mnt/autopkgtest.log; } ||
    { tail -n 60 /mnt/autopkgtest.log; exit 1; }
{
    dpkg-buildpackage --version | head -n 1
    dpkg-query -W debhelper lintian autopkgtest meson
    echo "lintian: $(grep -c '^[EWIP]: ' /mnt/lintian.txt) tags"
    sed -n '/@@@ summary/,$p' /mnt/autopkgtest.log | grep -E '^[a-z]+ +[A-Z]+'
} >/mnt/versions.txt
INSIDE
chroot "$root" bash /build/run.sh
