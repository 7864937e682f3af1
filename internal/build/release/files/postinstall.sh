#!/bin/sh
# Makes user and directories. A running daemon is restarted into the new version; a first installation starts nothing, because
# there is no configuration yet.
set -e

if [ "$1" = abort-upgrade ] || [ "$1" = abort-remove ] || [ "$1" = abort-deconfigure ]; then
  exit 0
fi
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers /usr/lib/sysusers.d/contextd.conf
fi
if command -v systemd-tmpfiles >/dev/null; then
  systemd-tmpfiles --create /usr/lib/tmpfiles.d/contextd.conf || true # it needs /proc; without, the next boot does it
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart contextd.service || true
fi
