#!/bin/sh
# Installs, runs, removes and purges a Debian package in a throw-away root over this machine's: deb-install.sh FILE.deb
# As root, in namespaces of its own: unshare --mount --pid --fork --kill-child sh deb-install.sh FILE.deb
set -eu
deb=$1
root=$(mktemp -d)
mount --make-rprivate /
mount -t tmpfs -o size=2G tmpfs "$root"
mkdir "$root/upper" "$root/work" "$root/merged"
mount -t overlay overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/merged"
cd "$root/merged"
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mkdir -p run/lock
cp "$deb" tmp/warder.deb
exec chroot . /bin/sh -eu <<'IN'
export PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C
said() { echo "ok: $1"; }
say_yes() { echo 'warder warder/purge-keys boolean true' | debconf-set-selections; }
started() { pgrep -u warder >/dev/null; }
as_warder="setpriv --reuid warder --regid warder --clear-groups env -i PATH=$PATH HOME=/var/lib/warder
  WARDER_HOME=/var/lib/warder AUTH_PORT=0 KMS_PORT=0 KMS_SOCKET_SERVER_PORT=0"

dpkg -i /tmp/warder.deb </dev/null
test "$(stat -c '%U:%G %a' /var/lib/warder)" = 'warder:warder 700'
test "$(stat -c '%U:%G %a' /etc/warder)" = 'root:warder 750'
test "$(stat -c '%U:%G %a' /etc/warder/warder.env)" = 'root:warder 640'
test "$(getent passwd warder | cut -d: -f6,7)" = /var/lib/warder:/usr/sbin/nologin
test -z "$(ls -A /var/lib/warder)"
test ! -e /etc/systemd/system/multi-user.target.wants/warder.service
if started; then echo 'the installation started something'; exit 1; fi
test -z "$(dpkg --verify warder)"
said 'installed, and nothing is started'

cd /
$as_warder warder start > /tmp/start.log 2>&1 &
service=$!
for _ in $(seq 240); do if grep -q 'Warder is running' /tmp/start.log; then break; fi; sleep 0.5; done
$as_warder warder health || { cat /tmp/start.log; exit 1; }
$as_warder warder try | tail -n 1
kill -TERM $service
wait $service
if started; then echo 'something runs on'; exit 1; fi
said 'runs as its user'

key=$(sha256sum /var/lib/warder/root.key)
echo 'AUTH_WORKERS=1' >> /etc/warder/warder.env
dpkg -i /tmp/warder.deb </dev/null
test "$key" = "$(sha256sum /var/lib/warder/root.key)"
grep -q '^AUTH_WORKERS=1$' /etc/warder/warder.env
said 'an upgrade leaves keys and settings alone'

dpkg -r warder </dev/null
test ! -e /usr/bin/warder
test ! -e /usr/lib/warder
test "$key" = "$(sha256sum /var/lib/warder/root.key)"
grep -q '^AUTH_WORKERS=1$' /etc/warder/warder.env
said 'a removal leaves keys and settings alone'

mount -t tmpfs tmpfs /var/lib/warder
touch /var/lib/warder/root.key
/var/lib/dpkg/info/warder.postrm purge </dev/null
test -e /var/lib/warder/root.key
say_yes
/var/lib/dpkg/info/warder.postrm purge </dev/null
test -z "$(ls -A /var/lib/warder)"
umount /var/lib/warder
test "$key" = "$(sha256sum /var/lib/warder/root.key)"
said 'a purge asks, keeps the keys without an answer, and empties a home that is a file system of its own'

mkdir /var/lib/warder-backups
touch /etc/warder/backup-passphrase /var/lib/warder-backups/one.backup
say_yes
dpkg -P warder </dev/null
test ! -e /var/lib/warder
test ! -e /etc/warder/warder.env
test -e /etc/warder/backup-passphrase
test -e /var/lib/warder-backups/one.backup
said 'a purge removes the home, and neither backups nor what others made'
IN
