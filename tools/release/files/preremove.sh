#!/bin/sh
# Stops the service before its program goes, and does nothing before an upgrade. The stop lets busy workers finish: see
# KillMode and TimeoutStopSec in the unit. Debian calls it with "remove", RPM with 0.
set -e

case "$1" in
remove | deconfigure | 0) ;;
*) exit 0 ;;
esac

if [ ! -d /run/systemd/system ]; then exit 0; fi
if systemctl --quiet is-active muster; then
	echo 'muster: stopping; busy workers finish their messages first, for 15 minutes at most'
	systemctl stop muster
fi
systemctl --quiet disable muster || true # it may never have been enabled
