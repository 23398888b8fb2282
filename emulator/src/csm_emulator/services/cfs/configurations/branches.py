"""From the name of a branch to the commit at its top: the real service clones the repository; here the VCS is asked."""

from __future__ import annotations

from csm_emulator.records import Record
from csm_emulator.services.cfs.configurations.table import layers_and_inventory
from csm_emulator.services.cfs.sources.table import Sources
from csm_emulator.services.cfs.sources.vcs import Vcs, path_of, quoted

_CLONE_FAILED, _CHECKOUT_FAILED, _NO_SUCH_OPTION = 128, 1, 129
"""What git ends with."""


class NoCommit(Exception):
    """Why there is none, in the service's words."""


class Branches:
    def __init__(self, vcs: Vcs, sources: Sources) -> None:
        self._vcs = vcs
        self._sources = sources

    def resolved(self, record: Record) -> Record:
        """The same configuration, with the commits that its branches have now; raises ``NoCommit``."""
        commits = [self._commit(part) for part in layers_and_inventory(record)]
        layers = [_at(layer, commit) for layer, commit in zip(record["layers"], commits, strict=False)]
        changed = {**record, "layers": layers}
        if record.get("additional_inventory"):
            changed["additional_inventory"] = _at(record["additional_inventory"], commits[-1])
        return changed

    def _commit(self, part: Record) -> str | None:
        """None where no branch is named."""
        if "branch" not in part:
            return None
        source = (self._sources.get(part["source"]) or {}) if "source" in part else None
        url = part.get("clone_url", "") if source is None else source.get("clone_url", "")
        authorization = self._authorization(source)
        if url.count("/") < 2:
            raise NoCommit("list index out of range")
        return self._top(url, part["branch"], authorization)

    def _authorization(self, source: Record | None) -> str:
        if source is None:
            return self._vcs.authorization()
        name = source.get("credentials", {}).get("secret_name", "")
        secret = self._sources.secret(name)
        if secret is None:
            path = f"http://cray-vault.vault:8200/v1/secret/data/{name}"
            raise NoCommit(f"Error loading Vault secret: None, on get {path}")
        return self._vcs.authorization(secret)

    def _top(self, url: str, branch: str, authorization: str) -> str:
        path = path_of(url)
        about = self._ask(path, authorization) if path else None
        if path is None or about is None:
            raise _failure(["git", "clone", *url.split()], _CLONE_FAILED)
        if branch.startswith("-"):
            raise _failure(["git", "checkout", branch], _NO_SUCH_OPTION)
        commit = self._look_up(path, branch or about.get("default_branch", ""), authorization)
        if commit is None:
            raise _failure(["git", "checkout", *branch.split()], _CHECKOUT_FAILED)
        return commit

    def _look_up(self, path: str, name: str, authorization: str) -> str | None:
        """A branch, or what else ``git checkout`` takes: a tag, a commit."""
        for kind in ("branches", "tags", "git/commits"):
            found = self._ask(f"{path}/{kind}/{quoted(name)}", authorization) if name else None
            if found is not None:
                commit = found.get("commit", {})
                return str(commit.get("id") or commit.get("sha") or found.get("sha"))
        return None

    def _ask(self, path: str, authorization: str) -> Record | None:
        reply = self._vcs.ask(path, authorization)
        if not reply.ok:
            return None
        found: Record = reply.json()
        return found


def _at(part: Record, commit: str | None) -> Record:
    return part if commit is None else {**part, "commit": commit}


def _failure(command: list[str], code: int) -> NoCommit:
    return NoCommit(
        f"Failed interacting with the specified clone_url: Command '{command}' returned non-zero exit status {code}."
    )
