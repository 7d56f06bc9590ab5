#!/bin/sh
# Creates the user of the service before the files are unpacked. Debian and RPM call it with different words; it does
# the same for all of them. An existing user stays as it is.
set -e

if ! getent group muster >/dev/null; then
	groupadd --system muster
fi
if ! getent passwd muster >/dev/null; then
	useradd --system --gid muster --home-dir /var/lib/muster --no-create-home --shell /usr/sbin/nologin \
		--comment 'Muster' muster
fi
