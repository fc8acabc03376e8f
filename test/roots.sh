#!/bin/sh
# Makes a root folder of a Debian release with its Erlang, Elixir and lavapipe, once, and
# prints where it is. Where that cannot be, it prints why and fails.
#
#   test/roots.sh trixie
#   test/roots.sh trixie present   if it has been made
set -eu

release=$1
cache=${NXVK_ROOTS:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/nxvk/roots}
root=$cache/$release
[ ! -e "$root.complete" ] || { echo "$root"; exit 0; }

no() { echo "$*"; exit 1; }
[ "${2:-}" != present ] || no "the root of $release has not been made"
[ "$(uname)" = Linux ] || no "roots are made on Linux"
[ "$(id -u)" = 0 ] || no "making a root takes root"
command -v debootstrap >/dev/null || no "debootstrap is not installed"

mkdir -p "$cache"
log=$cache/$release.log
umount "$root/proc" 2>/dev/null || :
rm -rf "$root"
mirror=${NXVK_DEBIAN_MIRROR:-http://deb.debian.org/debian}
[ -e "/usr/share/debootstrap/scripts/$release" ] || no "this debootstrap does not know $release"
if ! debootstrap --variant=minbase \
	--include=elixir,erlang-nox,erlang-dev,erlang-tools,ca-certificates,make \
	"$release" "$root" "$mirror" >"$log" 2>&1; then
	no "debootstrap: $(tail -n 1 "$log")"
fi
# Only the part matrix of test/all.sh needs a driver, and says where there is none.
chroot "$root" apt-get install -y --no-install-recommends mesa-vulkan-drivers libvulkan1 >>"$log" 2>&1 || :
rm -rf "$root"/var/cache/apt/archives/*.deb
touch "$root.complete"
echo "$root"
