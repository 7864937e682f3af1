#!/bin/sh
# Makes user and directories, by systemd's tools or, where they are not, by those that every system has. A running daemon is restarted into
# the new version; a first installation starts nothing, because there is no configuration yet.
set -e

if [ "$1" = abort-upgrade ] || [ "$1" = abort-remove ] || [ "$1" = abort-deconfigure ]; then
  exit 0
fi
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers /usr/lib/sysusers.d/contextd.conf
elif ! getent passwd contextd >/dev/null && command -v useradd >/dev/null; then
  useradd --system --user-group --no-create-home --home-dir /var/lib/contextd --shell /usr/sbin/nologin contextd
fi
if ! getent passwd contextd >/dev/null; then
  echo "contextd: there is no user contextd and no program to make it with. Make a system user and group of that name," >&2
  echo "contextd: and /etc/contextd (root:contextd, 0750) and /var/lib/contextd (contextd:contextd, 0700)." >&2
  exit 0
fi
if ! command -v systemd-tmpfiles >/dev/null || ! systemd-tmpfiles --create /usr/lib/tmpfiles.d/contextd.conf; then # it needs /proc
  install -d -o root -g contextd -m 0750 /etc/contextd
  install -d -o contextd -g contextd -m 0700 /var/lib/contextd
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart contextd.service || true
fi
