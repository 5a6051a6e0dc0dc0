#!/usr/bin/env bash
# systemd_slow_test.sh SOURCES BUILD: the units of services/ under a systemd that runs them. It is PID 1 of namespaces of its
# own, in a root whose /usr is this machine's with the program and the files of the package partita-node, and whose /etc,
# /var and /run are new; there systemd_walk.sh goes the way of the guide. This machine gets nothing of it, and keeps its
# kernel variables: /proc/sys and /sys are read only there. Needs root, for mounts, namespaces and a cgroup (version 2) of its own.
set -euo pipefail
sources=$1 build=$2
fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}
[ "$(id -u)" = 0 ] || fail 'a root of its own takes root'
[ -x /lib/systemd/systemd ] || fail 'needs systemd: apt install systemd'
[ "${3:-}" = inside ] || exec unshare --mount --propagation private bash "$0" "$sources" "$build" inside

top=$(mktemp -d)
mount -t tmpfs -o mode=755 tmpfs "$top"
cd "$top"
mkdir cgroup root upper work
mount -t cgroup2 cgroup2 cgroup || fail 'this kernel has no cgroups of version 2 to give'
group=$top/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/partita-systemd-$$
mkdir "$group" || fail 'no cgroup can be made'
finish() {
  cd /
  echo 1 >"$group/cgroup.kill"
  until grep -qx 'populated 0' "$group/cgroup.events"; do sleep 0.1; done
  find "$group" -depth -type d -exec rmdir {} +
  umount --lazy "$top"
  rmdir "$top"
}
trap finish EXIT

# The root.
mount --bind root root
mkdir -p root/{dev,etc/systemd/system,old,proc,root,run,sys,tmp,usr,var/lib} "root$sources" "root$build"
chmod 1777 root/tmp
for folder in bin sbin lib lib64; do ln -s usr/$folder root/$folder; done
mount -t overlay overlay -o "lowerdir=/usr,upperdir=$top/upper,workdir=$top/work" root/usr
mount -t tmpfs -o mode=755 tmpfs root/run
install "$build/bin/partita" root/usr/bin/partita
while read -r files folder; do
  # shellcheck disable=SC2086  # a pattern
  install -m 644 -t "root/$folder" "$sources"/$files
done <"$sources/debian/partita-node.install"
install -m 644 "$sources/debian/partita-node.sysusers" root/usr/lib/sysusers.d/partita-node.conf
install -m 644 "$sources/debian/partita-node.tmpfiles" root/usr/lib/tmpfiles.d/partita-node.conf
for file in alternatives group hosts ld.so.cache nsswitch.conf passwd shadow ssl; do cp -a /etc/$file root/etc/; done
tr -d - </proc/sys/kernel/random/uuid >root/etc/machine-id
for folder in "$sources" "$build"; do mount --bind -o ro "$folder" "root$folder"; done
# What a machine has and this one does not.
for unit in dev-hugepages.mount getty.target sys-fs-fuse-connections.mount sys-kernel-{config,debug,tracing}.mount \
  systemd-{logind,sysctl,modules-load}.service proc-sys-fs-binfmt_misc.automount network-online.target; do
  ln -s /dev/null "root/etc/systemd/system/$unit"
done
cat >root/etc/systemd/system/walk.service <<UNIT
[Unit]
Requires=basic.target
After=basic.target
[Service]
Type=oneshot
ExecStart=/bin/bash /walk $sources $build
StandardOutput=file:/walk.out
StandardError=inherit
UNIT
cat >root/walk <<'WALK'
status=0
HOME=/root bash "$1/tests/node/daemon/systemd_walk.sh" "$1" "$2" || status=$?
echo $status >/walk.status
systemctl --no-block exit $status
WALK
cat >first.sh <<'FIRST'
set -euo pipefail
cd "$1/root"
mount -t proc proc proc
mount --bind -o ro /proc/sys proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  touch dev/$device
  mount --bind /dev/$device dev/$device
done
mkdir dev/{pts,shm}
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
pivot_root . old
umount --lazy /old
exec env -i container=partita PATH=/usr/sbin:/usr/bin /lib/systemd/systemd --unit=walk.service
FIRST
status=0
(
  echo "$BASHPID" >"$group/cgroup.procs"
  exec unshare --fork --kill-child --pid --mount --uts --ipc --net --cgroup --propagation private bash first.sh "$top"
) >first.out 2>&1 </dev/null || status=$?
if [ "$status" != 0 ] || [ "$(cat root/walk.status)" != 0 ]; then
  head -n 40 first.out root/walk.out >&2 || true
  journalctl --no-pager -D root/run/log/journal -u 'partita*' -n 40 >&2
  fail "systemd ended with $status"
fi
