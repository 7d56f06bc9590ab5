#!/bin/sh
# Boots systemd on a copy of this machine and runs service.sh there: boot.sh DIR PACKAGE. DIR is an empty directory. The
# copy is a layer in memory above this machine's disk, in a mount namespace of its own, so that nothing stays here. The
# machine inside has no network but its loopback. It needs root, systemd-nspawn and overlay file systems.
set -eu

dir=$1
here=$(dirname "$0")
mount -t tmpfs none "$dir"
mkdir "$dir/changes" "$dir/work" "$dir/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/changes,workdir=$dir/work" "$dir/root"
cp "$2" "$dir/root/root/muster.deb"
cp "$here/service.sh" "$dir/root/root/service.sh"
cat >"$dir/root/etc/systemd/system/muster-test.service" <<'U'
[Unit]
Requires=basic.target
Wants=dbus.service
After=basic.target dbus.service

[Service]
Type=oneshot
StandardOutput=file:/root/output
StandardError=file:/root/output
ExecStart=/bin/sh /root/service.sh /root/muster.deb
ExecStopPost=/bin/systemctl poweroff --force
U
# Only what the test unit requires is started, and not the services of this machine.
timeout 240 systemd-nspawn --quiet --register=no --keep-unit --private-network --directory="$dir/root" --boot -- \
	--unit=muster-test.service >"$dir/boot" 2>&1 </dev/null || true
cat "$dir/root/root/output" || cat "$dir/boot"
