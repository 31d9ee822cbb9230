#!/bin/sh
# Runs the tarball as the image of deploy/container does, without a container engine: container.sh FILE.tar.gz
# A root of this machine's system that cannot be written, user 10001 without capabilities, the command as process 1.
# As root, in a mount namespace of its own: unshare --mount sh container.sh …
set -eu
tarball=$1
root=$(mktemp -d)
mount --make-rprivate /
mount -t tmpfs -o size=1G tmpfs "$root"
mkdir "$root/upper" "$root/work" "$root/merged"
mount -t overlay overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/merged"
cd "$root/merged"
rm -rf opt/warder var/lib/warder
mkdir opt/warder
install -d -m 0700 -o 10001 -g 10001 var/lib/warder "$root/home"
tar xzf "$tarball" -C opt/warder --strip-components=1 --no-same-owner
cd /
mount -o remount,ro "$root/merged"
mount -t tmpfs -o mode=1777,size=256m tmpfs "$root/merged/tmp"
mount --bind "$root/home" "$root/merged/var/lib/warder"
mount --rbind /dev "$root/merged/dev"

run="setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set -all --inh-caps -all env -i"
run="$run PATH=/opt/warder/bin:/usr/local/bin:/usr/bin:/bin WARDER_HOME=/var/lib/warder AUTH_HOST=0.0.0.0 KMS_HOST=0.0.0.0"
run="$run AUTH_PORT=0 KMS_PORT=0 KMS_SOCKET_SERVER_PORT=0"
log="$root/log"
unshare --pid --fork sh -c "mount -t proc proc $root/merged/proc && exec chroot $root/merged $run /opt/warder/bin/warder start" \
  > "$log" 2>&1 &
outside=$!
for _ in $(seq 240); do if grep -q 'Warder is running' "$log" || ! kill -0 $outside 2>/dev/null; then break; fi; sleep 0.5; done
first=$(cat "/proc/$outside/task/$outside/children")
first=${first% }
inside="nsenter --pid=/proc/$first/ns/pid chroot $root/merged $run"
$inside cat /proc/1/cmdline | grep -q '^/opt/warder/lib/warder/node' || { cat "$log"; exit 1; }
if $inside touch /opt/warder/file 2>/dev/null; then echo 'the root can be written'; exit 1; fi
$inside /opt/warder/bin/warder health
$inside /opt/warder/bin/warder try | tail -n 1
echo 'ok: runs as process 1 on a read-only root'
kill -TERM "$first"
wait "$outside" || { echo "it ended with $?"; cat "$log"; exit 1; }
grep -q 'SIGTERM: stopping' "$log"
echo 'ok: stops in order at SIGTERM'
