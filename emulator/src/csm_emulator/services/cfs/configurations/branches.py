"""The commit at the top of a branch. The real service clones the repository; the emulator queries VCS."""

from __future__ import annotations

from csm_emulator.records import Record
from csm_emulator.services.cfs.configurations.table import layers_and_inventory
from csm_emulator.services.cfs.sources.table import Sources
from csm_emulator.services.cfs.sources.vcs import Vcs, path_of, quoted

_CLONE_FAILED, _CHECKOUT_FAILED, _NO_SUCH_OPTION = 128, 1, 129
"""Exit statuses of git."""


class BranchError(Exception):
    """The branch cannot be resolved to a commit; the message is the real service's."""


class Branches:
    def __init__(self, vcs: Vcs, sources: Sources) -> None:
        self._vcs = vcs
        self._sources = sources

    def resolve(self, record: Record) -> Record:
        """The configuration with the current commits of its branches; raises ``BranchError``."""
        commits = [self._commit(part) for part in layers_and_inventory(record)]
        layers = [_with_commit(layer, commit) for layer, commit in zip(record["layers"], commits, strict=False)]
        changed = {**record, "layers": layers}
        if record.get("additional_inventory"):
            changed["additional_inventory"] = _with_commit(record["additional_inventory"], commits[-1])
        return changed

    def _commit(self, part: Record) -> str | None:
        """The commit of a layer's branch; None when it names no branch."""
        if "branch" not in part:
            return None
        source = (self._sources.get(part["source"]) or {}) if "source" in part else None
        url = part.get("clone_url", "") if source is None else source.get("clone_url", "")
        authorization = self._authorization(source)
        if url.count("/") < 2:
            raise BranchError("list index out of range")
        return self._branch_commit(url, part["branch"], authorization)

    def _authorization(self, source: Record | None) -> str:
        if source is None:
            return self._vcs.authorization()
        name = source.get("credentials", {}).get("secret_name", "")
        secret = self._sources.secret(name)
        if secret is None:
            path = f"http://cray-vault.vault:8200/v1/secret/data/{name}"
            raise BranchError(f"Error loading Vault secret: None, on get {path}")
        return self._vcs.authorization(secret)

    def _branch_commit(self, url: str, branch: str, authorization: str) -> str:
        path = path_of(url)
        repository = self._ask(path, authorization) if path else None
        if path is None or repository is None:
            raise _failure(["git", "clone", *url.split()], _CLONE_FAILED)
        if branch.startswith("-"):
            raise _failure(["git", "checkout", branch], _NO_SUCH_OPTION)
        commit = self._look_up(path, branch or repository.get("default_branch", ""), authorization)
        if commit is None:
            raise _failure(["git", "checkout", *branch.split()], _CHECKOUT_FAILED)
        return commit

    def _look_up(self, path: str, name: str, authorization: str) -> str | None:
        """The commit of a branch, tag or commit name; None when there is none."""
        for kind in ("branches", "tags", "git/commits"):
            reference = self._ask(f"{path}/{kind}/{quoted(name)}", authorization) if name else None
            if reference is not None:
                commit = reference.get("commit", {})
                return str(commit.get("id") or commit.get("sha") or reference.get("sha"))
        return None

    def _ask(self, path: str, authorization: str) -> Record | None:
        reply = self._vcs.ask(path, authorization)
        if not reply.ok:
            return None
        body: Record = reply.json()
        return body


def _with_commit(part: Record, commit: str | None) -> Record:
    return part if commit is None else {**part, "commit": commit}


def _failure(command: list[str], code: int) -> BranchError:
    return BranchError(
        f"Failed interacting with the specified clone_url: Command '{command}' returned non-zero exit status {code}."
    )
