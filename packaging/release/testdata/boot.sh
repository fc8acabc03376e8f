#!/bin/sh
# Boots systemd over a root of Debian, in namespaces of its own, with the service of a
# package. It prints how the service is, stops it, and prints how it ended.
#
#   boot.sh install ROOT OVER PACKAGE    in a mount namespace, with the network
#   boot.sh boot ROOT OVER               in namespaces of all kinds, as process 1
#
# It ends with 75 where this kernel lacks what it needs.
set -eu

mode=$1 lower=$2 over=$3 root=$3/root
mkdir -p "$over/upper" "$over/work" "$root"
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$over/upper,workdir=$over/work" "$root" || exit 75
mount -t proc proc "$root/proc"

if [ "$mode" = install ]; then
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	cp "$4" "$root/tmp/node.deb"
	export DEBIAN_FRONTEND=noninteractive
	chroot "$root" apt-get -qq update
	chroot "$root" apt-get -qq install -y --no-install-recommends systemd dbus libvulkan1 mesa-vulkan-drivers /tmp/node.deb
	# These touch the machine that all namespaces share, or need a terminal.
	for unit in systemd-sysctl.service systemd-udevd.service systemd-tmpfiles-setup-dev.service getty.target console-getty.service; do
		ln -sf /dev/null "$root/etc/systemd/system/$unit"
	done
	cat >"$root/etc/systemd/system/probe.service" <<-'UNIT'
		[Unit]
		Wants=nxvk-node.service
		After=nxvk-node.service
		[Service]
		Type=oneshot
		ExecStart=/bin/sh /probe.sh
		StandardOutput=file:/probe.log
		StandardError=file:/probe.log
	UNIT
	cat >"$root/probe.sh" <<-'PROBE'
		systemctl show nxvk-node -p ActiveState,SubState
		cat "/proc/$(systemctl show nxvk-node -P MainPID)/status"
		ls -lA /var/lib/nxvk
		systemctl stop nxvk-node
		systemctl show nxvk-node -p ActiveState,SubState,Result,ExecMainStatus
		journalctl --no-pager -u nxvk-node
		systemctl --no-block exit
	PROBE
	exit
fi

mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup" || exit 75
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir -m 1777 "$root/dev/shm"
while read -r name major minor; do
	mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done <<'DEVICES'
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
DEVICES
exec chroot "$root" env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --unit=probe.service --log-target=console --log-level=warning
