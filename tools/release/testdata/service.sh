#!/bin/sh
# Runs as root inside a booted machine: it installs the package in $1, and walks its service from the first start to the
# purge. The first check that fails ends the script. The last line is "ok".
set -eu

package=$1
home=/var/lib/muster
as_muster() { runuser -u muster -- "$@"; }
main() { systemctl show --property MainPID --value muster; }
fail() {
	echo "FAILED: $*"
	journalctl --no-pager --unit muster | tail -n 30
	exit 1
}
# until_true COMMAND...: tries a command ten times a second, for 30 seconds.
until_true() {
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		if [ $tries -gt 300 ]; then fail "never true: $*"; fi
		sleep 0.1
	done
}
answers() { as_muster muster status -f /etc/muster/muster.yaml; }
sized() { answers | grep -q '^jobs '; }
is() { [ "$(systemctl is-active muster)" = "$1" ]; }
# A job writes its process id to working, waits for the file go, and adds a line to done.
busy() { [ -s $home/working ] && kill -0 "$(cat $home/working)"; }
done_is() { [ "$(wc -l <$home/done)" = "$1" ] && [ ! -e $home/working ]; }
begin() {
	as_muster muster send -f /etc/muster/muster.yaml --queue jobs --count 1
	until_true busy
}
finish() { touch $home/go; }

echo '== install: nothing starts by itself'
dpkg --install "$package"
[ "$(systemctl is-enabled muster || true)" = disabled ] || fail 'the service is enabled'
is inactive || fail 'the service runs'
systemd-analyze verify --man=no muster.service

echo '== first start with the configuration of the package'
systemctl enable --now muster
until_true answers
[ "$(ps -o user= -p "$(main)")" = muster ] || fail 'the service runs as another user'
[ "$(stat -c %U:%a $home)" = muster:700 ] || fail 'others can read the data'
journalctl --no-pager --unit muster --output cat | grep -i secret && fail 'the journal has a key'

echo '== a fleet, by a reload'
cat >$home/job.sh <<'J'
echo $$ >working
until [ -e go ]; do sleep 0.1; done
touch /usr/written || true
echo done >>done
rm go working
J
cat >>/etc/muster/muster.yaml <<'F'
fleets:
  - name: jobs
    queue: jobs
    max: 1
    workers:
      time_limit: 10m
      command: [/bin/sh, -c, cd /var/lib/muster && . ./job.sh]
F
chmod 644 $home/job.sh
as_muster muster check -f /etc/muster/muster.yaml
systemctl reload muster
until_true sized
begin
finish
until_true done_is 1
[ ! -e /usr/written ] || fail 'a command could write to /usr'

echo '== an upgrade stops nothing, and keeps the configuration'
begin
before=$(main)
dpkg --install "$package"
[ "$(main)" = "$before" ] || fail 'the upgrade restarted the service'
grep -q 'name: jobs' /etc/muster/muster.yaml || fail 'the upgrade replaced the configuration'

echo '== a crash of the main process leaves the busy worker alone'
systemctl kill --kill-who=main --signal=KILL muster
until_true answers
[ "$(main)" != "$before" ] || fail 'there is no new main process'
busy || fail 'the command was killed'
finish
until_true done_is 2

echo '== a stop waits for the busy worker'
begin
systemctl stop --no-block muster
until_true is deactivating
busy || fail 'the command was killed'
finish
until_true is inactive
done_is 3 || fail 'the command did not finish'

echo '== removal and purge keep the data'
systemctl start muster
until_true answers
dpkg --remove muster
is inactive || fail 'the service still runs'
[ -e /etc/muster/muster.yaml ] || fail 'the removal deleted the configuration'
dpkg --purge muster
[ ! -e /etc/muster/muster.yaml ] || fail 'the purge left the configuration'
[ -e $home/queues.db ] || fail 'the purge deleted the queues'

echo ok
