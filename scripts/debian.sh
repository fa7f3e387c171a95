#!/bin/sh
# Installs Debian packages as root: quietly, and refreshing the package lists only when they do not do.
set -eu
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT

install() { apt-get install -y -qq --no-install-recommends "$@" >"$log" 2>&1 </dev/null; }

install "$@" && exit 0
apt-get update -qq >/dev/null 2>&1 || true
install "$@" && exit 0
cat "$log" >&2
exit 1
