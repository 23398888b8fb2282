"""What the operator gives to ``ansible-playbook``: verbosity, limit, and whatever was passed through."""

from __future__ import annotations

import json
import shlex
from typing import Any

from csm_emulator.services.cfs.ansible.run_state import PlaybookOptions
from csm_emulator.services.cfs.jobs.job_context import Run

_VALUES = {
    "-e": "extra",
    "--extra-vars": "extra",
    "-t": "tags",
    "--tags": "tags",
    "--skip-tags": "skip",
    "-l": "limit",
    "--limit": "limit",
}


def arguments(run: Run) -> list[str]:
    """As in the job's ``ANSIBLE_ARGS``."""
    spec = run["ansible"]
    level = spec.get("verbosity") or 0
    limit = spec.get("limit") or ""
    if run["target"]["definition"] == "image" and not limit:
        limit = ",".join(member for group in run["target"].get("groups") or () for member in group["members"])
    found = [f"-{'v' * level}"] if level else []
    found += ["--limit", limit] if limit else []
    return [*found, *_split(spec.get("passthrough") or "")]


def parse(args: list[str]) -> PlaybookOptions:
    said: dict[str, list[str]] = {"extra": [], "tags": [], "skip": [], "limit": []}
    verbosity, place = 0, 0
    while place < len(args):
        word, sign, value = args[place].partition("=")
        place += 1
        if word.startswith("-v") and set(word[1:]) == {"v"}:
            verbosity = len(word) - 1
        elif word == "--verbose":
            verbosity += 1
        elif word in _VALUES:
            if not sign:
                value = args[place] if place < len(args) else ""
                place += 1
            said[_VALUES[word]].append(value.strip("'\""))
    limit = said["limit"][-1] if said["limit"] else ""
    return PlaybookOptions(limit, verbosity, _extra(said["extra"]), _tags(said["tags"]), _tags(said["skip"]))


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, posix=False)
    except ValueError:
        return text.split()


def _tags(said: list[str]) -> frozenset[str]:
    return frozenset(tag.strip() for text in said for tag in text.split(",") if tag.strip())


def _extra(said: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in said:
        if text.lstrip().startswith("{"):
            try:
                held = json.loads(text)
            except ValueError:
                continue
            found |= held
        else:
            pairs = (word.partition("=") for word in _split(text))
            found |= {key: value.strip("'\"") for key, sign, value in pairs if sign}
    return found
