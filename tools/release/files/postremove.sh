#!/bin/sh
# Makes systemd forget the unit. The data stays, also after a purge: it holds acknowledged messages. The user stays,
# too, because the data belongs to it.
set -e

case "$1" in
remove | purge | 0) ;;
*) exit 0 ;;
esac

if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ -d /var/lib/muster ]; then
	echo 'muster: /var/lib/muster stays, with queues and history. To delete them: rm -r /var/lib/muster; userdel muster'
fi
