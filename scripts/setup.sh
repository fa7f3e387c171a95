#!/bin/sh
# setup.sh: create .venv with Postino and the packages it needs to run. setup.sh dev: with the development tools too.
# Writes nothing outside the project, except that root gets Debian's python3-venv where Python came without it.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

say() { printf '%s\n' "$*"; }
stop() { printf '%s\n' "$*" >&2; exit 1; }

command -v "$python" >/dev/null || stop "Postino needs Python 3.11 or newer, and there is no $python here. Install it, or name another: make setup PYTHON=/path/to/python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    stop "Postino needs Python 3.11 or newer; $python is $("$python" -V). Name a newer one: make setup PYTHON=/path/to/python3"

# Debian splits the venv module off into a package of its own.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
        stop "Python's venv module is missing. Install it, then run make again: sudo apt-get install python3-venv"
    say "Python's venv module is missing: installing Debian's python3-venv …"
    scripts/debian.sh python3-venv
fi

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    say "Creating .venv …"
    rm -rf .venv
    "$python" -m venv .venv
fi
case ${1:-run} in
    dev) what='Postino and the development tools' ;;
    run) what='Postino' ;;
    *) stop "usage: scripts/setup.sh [dev]" ;;
esac

install() { PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/bin/python -m pip install -qq "$@"; }

# Every file of a package must have one of its known hashes. A directory has none, so Postino itself is built here, with
# a build tool that is removed again and whose hashes are checked, too.
install_all() {
    install --require-hashes --requirement "requirements/${1:-run}.txt" &&
        install --require-hashes --requirement requirements/build.txt --target .venv/build &&
        PYTHONPATH=.venv/build install --no-deps --no-build-isolation --editable .
}

say "Installing $what into .venv (about a minute the first time) …"
trap 'rm -rf .venv/build' EXIT
install_all "${1:-run}" ||
    stop "Some packages could not be installed. Check that the package index can be reached, then run make again."
[ "${1:-run}" = run ] || touch .venv/.ready
say "Ready: .venv/bin/postino"
