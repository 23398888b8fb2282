"""A new session's record from the body of a POST, and checks of that body."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn
from uuid import UUID

from csm_emulator.dialects.connexion import Refused, bad_request
from csm_emulator.records import Record
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.services.cfs.errors import refuse

_TARGET = {"groups": ("name", "members"), "image_map": ("source_id", "result_name")}


def new_session(data: Record, ansible_config: str, start_time: str) -> Record:
    """The record of a new session from ``data`` in v3 format; fields that are not known yet are null."""
    unknown = dict.fromkeys(("job", "ims_job", "completion_time"))
    status = {**unknown, "status": "pending", "succeeded": "none", "start_time": start_time}
    return {
        "name": data["name"],
        "configuration": {"name": data["configuration_name"], "limit": data.get("configuration_limit", "")},
        "ansible": {
            "config": data.get("ansible_config") or ansible_config,
            "limit": data["ansible_limit"],
            "verbosity": data.get("ansible_verbosity", 0),
            "passthrough": data["ansible_passthrough"],
        },
        "target": _target(data.get("target") or {}),
        "status": {"session": status, "artifacts": []},
        "tags": data.get("tags", {}),
        "debug_on_failure": data.get("debug_on_failure", False),
        "logs": None,
    }


def _target(body: Record) -> Record:
    target: Record = {"definition": body.get("definition", "dynamic")}
    for name, fields in _TARGET.items():
        items = body.get(name)
        target[name] = None if items is None else [{field: item[field] for field in fields} for item in items]
    return target


def check_target(target: Record | None) -> None:
    """Check the target of a session; raises ``Refused``."""
    if not target:
        return
    definition, groups = target.get("definition", "dynamic"), target.get("groups")
    if definition in ("repo", "dynamic"):
        if groups:
            raise _bad(f"'{definition}' target definitions must not contain groups specifications.")
        return
    if not groups:
        raise _bad("At least one target group must be specified.")
    if any(group["members"] == [] for group in groups):
        raise _bad("Group member lists must not be empty.")
    members = [(group["name"], member) for group in groups for member in group["members"]]
    if any(member == "" for _, member in members):
        raise _bad("Group members must not be blank.")
    invalid_members = [pair for pair in members if not _is_uuid(pair[1])]
    if definition == "image" and invalid_members:
        raise _bad(f"The following Image target group member(s) are not valid UUIDs: {invalid_members}.")


def _bad(detail: str) -> Refused:
    return Refused(bad_request(detail))


def _is_uuid(text: str) -> bool:
    try:
        UUID(text, version=4)
    except ValueError:
        return False
    return True


def check_passthrough(text: str) -> None:
    """Check passthrough arguments; raises ``Refused``, or ``UncaughtError`` for an unclosed quote."""
    try:
        words = shlex.split(text, posix=False)
    except ValueError as error:
        raise UncaughtError from error
    try:
        _PASSTHROUGH.parse_args(words)
    except _InvalidArguments as error:
        raise refuse(400, "Bad Request", f"Error validating ansible-passthrough: {error}") from error


class _InvalidArguments(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _InvalidArguments(message)


def _passthrough_parser() -> _Parser:
    parser = _Parser(add_help=False)
    parser.add_argument("-e", "--extra-vars", type=str)
    parser.add_argument("-f", "--forks", type=int)
    parser.add_argument("--skip-tags", type=str)
    parser.add_argument("--start-at-task", type=str)
    parser.add_argument("-t", "--tags", type=str)
    return parser


_PASSTHROUGH = _passthrough_parser()
