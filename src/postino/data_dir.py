"""Decide whether the data directory can be trusted: who writes there decides what Postino runs, sends and opens.

`postino.toml` names plug-ins, which Postino imports from the directory, and the keys are in files beside it.
"""

import os
import pwd
import stat
from pathlib import Path

from postino.errors import ConfigError

FILES = ("postino.toml", "vault.key", "api.key", "postino.db")
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io")


def check_data_dir(folder: Path) -> None:
    """Raise ConfigError if the directory, or a file in it, belongs to somebody else or others can write it."""
    for path in (folder, *(folder / name for name in FILES)):
        try:
            status = path.stat()
        except OSError:  # it does not exist yet, or cannot be read, which its reader reports
            continue
        if problem := describe_distrust(path, status):
            raise ConfigError(f"{problem} Nothing in {folder} was used.")


def describe_distrust(path: Path, status: os.stat_result) -> str | None:
    """Return why a directory or a file cannot be trusted, and what to do; None if it can."""
    if not is_trusted_owner(status.st_uid):
        owner, user = find_user_name(status.st_uid), find_user_name(os.geteuid())
        return (
            f"{path} belongs to {owner}, and you are {user}: {owner} could change what Postino does for you. Run"
            f" Postino as {owner}, make it your own with `chown -R {user} {path}`, or pass another --data-dir."
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not is_own_group(status)):
        return (
            f"Other users can write {path} (mode {mode:04o}): they could change what Postino does. Make sure that"
            f" nobody did, then run `chmod go-w {path}`."
        )
    return None


def is_trusted_owner(uid: int) -> bool:
    """Return True for this user and root. In a container root may use a mounted directory of any owner."""
    return uid in (0, os.geteuid()) or (os.geteuid() == 0 and is_in_container())


def is_own_group(status: os.stat_result) -> bool:
    """Return whether a group that may write is this user's own, or one that root gave the directory to.

    Many systems give each user a group; Kubernetes mounts volumes as root, with a group of the process.
    """
    return status.st_gid == os.getegid() or (status.st_uid == 0 and status.st_gid in os.getgroups())


def is_in_container() -> bool:
    return any(os.path.exists(mark) for mark in CONTAINER_MARKS)


def find_user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
