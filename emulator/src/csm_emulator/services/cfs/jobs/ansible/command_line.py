"""Arguments of ``ansible-playbook``: verbosity, limit, and the session's passthrough arguments."""

from __future__ import annotations

import json
import shlex

from csm_emulator.records import Record
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
    """The arguments in the job's ``ANSIBLE_ARGS``."""
    spec = run["ansible"]
    level = spec.get("verbosity") or 0
    limit = spec.get("limit") or ""
    if run["target"]["definition"] == "image" and not limit:
        limit = ",".join(member for group in run["target"].get("groups") or () for member in group["members"])
    result = [f"-{'v' * level}"] if level else []
    result += ["--limit", limit] if limit else []
    return [*result, *_split(spec.get("passthrough") or "")]


def parse(args: list[str]) -> PlaybookOptions:
    values_by_option: dict[str, list[str]] = {"extra": [], "tags": [], "skip": [], "limit": []}
    verbosity, position = 0, 0
    while position < len(args):
        word, sign, value = args[position].partition("=")
        position += 1
        if word.startswith("-v") and set(word[1:]) == {"v"}:
            verbosity = len(word) - 1
        elif word == "--verbose":
            verbosity += 1
        elif word in _VALUES:
            if not sign:
                value = args[position] if position < len(args) else ""
                position += 1
            values_by_option[_VALUES[word]].append(value.strip("'\""))
    limit = values_by_option["limit"][-1] if values_by_option["limit"] else ""
    return PlaybookOptions(
        limit,
        verbosity,
        _extra(values_by_option["extra"]),
        _tags(values_by_option["tags"]),
        _tags(values_by_option["skip"]),
    )


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, posix=False)
    except ValueError:
        return text.split()


def _tags(texts: list[str]) -> frozenset[str]:
    return frozenset(tag.strip() for text in texts for tag in text.split(",") if tag.strip())


def _extra(texts: list[str]) -> Record:
    variables: Record = {}
    for text in texts:
        if text.lstrip().startswith("{"):
            try:
                document = json.loads(text)
            except ValueError:
                continue
            variables |= document
        else:
            pairs = (word.partition("=") for word in _split(text))
            variables |= {key: value.strip("'\"") for key, sign, value in pairs if sign}
    return variables
