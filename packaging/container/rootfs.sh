#!/bin/sh
# Makes the root folder of the container: the C library, the loader of Vulkan and what
# NVIDIA's driver, which the host brings, is linked with. Other drivers are further packages.
#
#   rootfs.sh FOLDER [PACKAGE...]     on Debian, as root
set -eu

root=$1
shift
# Debian's folders, as the package base-files makes them.
for folder in bin sbin lib lib64; do
	mkdir -p "$root/usr/$folder"
	ln -s "usr/$folder" "$root/$folder"
done
archives=$(mktemp -d)
trap 'rm -rf "$archives"' EXIT
mkdir "$archives/partial"

apt-get -qq update
# With no packages installed, apt downloads all that these depend on.
: >"$archives/status"
apt-get -qq install --download-only --no-install-recommends \
	-o Dir::State::status="$archives/status" -o Dir::Cache::archives="$archives" -o APT::Sandbox::User=root \
	libvulkan1 libxext6 "$@" >/dev/null
for package in "$archives"/*.deb; do
	case ${package##*/} in
	# These serve scripts of packages, which are not run here, or have a changelog only.
	debconf_* | gcc-*-base_*) continue ;;
	esac
	dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" \
		--exclude='./usr/share/doc/*/*changelog*' --exclude='./usr/share/locale' --exclude='./usr/share/man' \
		--exclude='./usr/share/X11' --exclude='./usr/lib/*/gconv' --exclude='./usr/share/bug' --exclude='./usr/share/lintian'
done
mkdir -p "$root/etc" "$root/tmp" "$root/var/lib/nxvk"
chmod 1777 "$root/tmp"
chown 65532:65532 "$root/var/lib/nxvk"
echo 'root:x:0:0::/root:/sbin/nologin
nxvk:x:65532:65532::/var/lib/nxvk:/sbin/nologin' >"$root/etc/passwd"
echo 'root:x:0:
nxvk:x:65532:' >"$root/etc/group"
