#!/bin/sh
# Stops the daemon when the package goes and not when a newer one takes its place: deb says remove and upgrade, rpm the number of
# versions that stay.
set -e

if [ "$1" = remove ] || [ "$1" = 0 ]; then
  if [ -d /run/systemd/system ]; then
    systemctl disable --now contextd.socket contextd.service || true
  fi
fi
