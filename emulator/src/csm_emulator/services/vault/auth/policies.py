"""Policies: the capabilities of tokens by path, in Vault's notation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from csm_emulator.services.vault.responses import Refusal
from csm_emulator.state.tables import RecordTables

ROOT, DEFAULT = "root", "default"
EVERYTHING = ("create", "delete", "list", "patch", "read", "sudo", "update")
_PATH = re.compile(r'path\s+"([^"]*)"\s*\{([^{}]*)\}')
_CAPABILITIES = re.compile(r"capabilities\s*=\s*\[([^\]]*)\]")
_COMMENT = re.compile(r"(?m)(?:#|//).*$")
Rules = dict[str, list[str]]
"""Capabilities by path."""


def _rule(path: str, *capabilities: str) -> str:
    quoted = ", ".join(f'"{capability}"' for capability in capabilities)
    return f'path "{path}" {{\n  capabilities = [{quoted}]\n}}\n'


_ALL = ("create", "read", "update", "patch", "delete", "list")
SEEDED = {
    DEFAULT: _rule("auth/token/lookup-self", "read")
    + _rule("auth/token/renew-self", "update")
    + _rule("auth/token/revoke-self", "update")
    + _rule("sys/capabilities-self", "update")
    + _rule("sys/internal/ui/mounts/*", "read"),
    "manta": _rule("manta/*", "read", "list"),
    "tapms-operator": _rule("cray-tenant-*", *_ALL)
    + _rule("sys/mounts/cray-tenant-*", *_ALL)
    + _rule("sys/policy/allow_cray-tenant-*", *_ALL)
    + _rule("auth/kubernetes/role/cray-tenant-*", *_ALL),
}


class Policies:
    def __init__(self, tables: RecordTables) -> None:
        self._table = tables.open("vault.policies", SEEDED)
        self._parsed: dict[str, Rules] = {}
        """The rules by the text of the policy."""

    def names(self) -> list[str]:
        return [*sorted(self._table), ROOT]

    def get(self, name: str) -> str | None:
        return "" if name == ROOT else self._table.get(name)

    def put(self, name: str, text: str) -> None:
        if name == ROOT:
            raise Refusal(400, 'cannot update "root" policy')
        rules_of(text)
        self._table[name] = text

    def delete(self, name: str) -> None:
        if name in (ROOT, DEFAULT):
            raise Refusal(400, f'cannot delete "{name}" policy')
        self._table.pop(name, None)

    def capabilities(self, policy_names: Iterable[str], path: str) -> list[str]:
        """The capabilities of the best match: a rule for the exact path, or else the longest pattern."""
        names = list(policy_names)
        if ROOT in names:
            return list(EVERYTHING)
        matches: dict[tuple[bool, int], set[str]] = {}
        for name in names:
            for pattern, capabilities in self._rules(name).items():
                if _matches(pattern, path):
                    exact = not pattern.endswith("*") and "+" not in pattern
                    matches.setdefault((exact, len(pattern)), set()).update(capabilities)
        best = matches[max(matches)] if matches else set()
        return ["deny"] if not best or "deny" in best else sorted(best)

    def _rules(self, name: str) -> Rules:
        text = self._table.get(name)
        if text is None:
            return {}
        if text not in self._parsed:
            self._parsed[text] = rules_of(text)
        return self._parsed[text]


def rules_of(text: str) -> Rules:
    """Raises ``Refusal`` when the text is not a policy."""
    without_comments = _COMMENT.sub("", text)
    rules: Rules = {}
    for path, inside in _PATH.findall(without_comments):
        match = _CAPABILITIES.search(inside)
        rules[path] = re.findall(r'"([a-z]+)"', match[1]) if match else []
    if _PATH.sub("", without_comments).strip():
        raise Refusal(400, "failed to parse policy: error parsing: invalid policy")
    return rules


def _matches(pattern: str, path: str) -> bool:
    if "+" in pattern:
        parts = (re.escape(part) if part != "+" else "[^/]+" for part in pattern.rstrip("*").split("/"))
        return re.match("/".join(parts) + ("" if pattern.endswith("*") else r"\Z"), path) is not None
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern
