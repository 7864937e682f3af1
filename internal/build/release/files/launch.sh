#!/bin/sh
# Starts the ctx beside it that this machine runs. A host may have dropped the execute bits of what it unpacked.
dir=${0%/*}
arch=$(uname -m)
case $arch in
  x86_64 | amd64) ctx=$dir/ctx_amd64 ;;
  aarch64 | arm64) ctx=$dir/ctx_arm64 ;;
  *)
    echo "ctx: this bundle has no program for $arch" >&2
    exit 1
    ;;
esac
[ -x "$ctx" ] || chmod 755 "$ctx"
exec "$ctx" "$@"
