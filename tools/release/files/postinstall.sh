#!/bin/sh
# Makes systemd read the unit. It starts nothing: a first start belongs to the user, who writes the configuration first.
# It restarts nothing either, because a restart waits for busy workers; the running program goes on until then.
# Debian calls it with "configure" and the version before, if there was one; RPM with the number of installed versions.
set -e

case "$1" in
configure) upgrade=$2 ;;
1) upgrade= ;;
2) upgrade=yes ;;
*) exit 0 ;;
esac

if [ ! -d /run/systemd/system ]; then exit 0; fi
systemctl daemon-reload
if systemctl --quiet is-active muster; then
	echo 'muster: the service still runs the previous program. When it suits you: systemctl restart muster'
	echo 'muster: a restart waits until busy workers have finished their messages, for 15 minutes at most.'
elif [ -z "$upgrade" ]; then
	echo 'muster: write /etc/muster/muster.yaml, then: systemctl enable --now muster'
fi
