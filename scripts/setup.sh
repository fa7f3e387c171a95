#!/bin/sh
# Makes .venv with Postino and its development tools. Nothing is written outside the project,
# except that root is given Debian's python3-venv where Python came without it.
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
    say "Making .venv …"
    rm -rf .venv
    "$python" -m venv .venv
fi
say "Installing Postino and its tools into .venv (about a minute the first time) …"
PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/bin/python -m pip install -qq --constraint constraints.txt --editable '.[dev]' ||
    stop "The packages could not be installed. With a network that reaches the package index, run make again: it goes on from here."
touch .venv/.ready
say "Ready: .venv/bin/postino"
