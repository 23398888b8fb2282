"""Commits that the REST API makes, without a work tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from csm_emulator.seed_data.secrets import VCS_USER
from csm_emulator.services.vcs.auth.accounts import EMAIL
from csm_emulator.services.vcs.git.git import WRITE, Git
from csm_emulator.services.vcs.repositories import HEADS, Repositories, Repository
from csm_emulator.transport.call import utf8

FILE = "100644"
_NOTHING = "0" * 40


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Change:
    """Of one commit: contents by path, None for a file that goes."""

    files: Mapping[str, bytes | None]
    message: str
    author: Person
    committer: Person
    moment: int


class Writing:
    def __init__(self, git: Git, repositories: Repositories) -> None:
        self._git = git
        self._repositories = repositories

    def commit(self, repository: Repository, parent: str | None, branch: str, change: Change) -> str:
        """The new commit, which the branch is then at. Raises ``GitFailed``."""
        path = self._repositories.path(repository)
        index = {"GIT_INDEX_FILE": str(path / "index")}
        self._git.run(path, "read-tree", *([parent] if parent else ["--empty"]), more=index)
        self._git.run(path, "update-index", "-z", "--index-info", given=self._lines(repository, change), more=index)
        tree = self._git.run(path, "write-tree", more=index).decode().strip()
        signed = {
            "GIT_AUTHOR_NAME": change.author.name,
            "GIT_AUTHOR_EMAIL": change.author.email,
            "GIT_COMMITTER_NAME": change.committer.name,
            "GIT_COMMITTER_EMAIL": change.committer.email,
            "GIT_AUTHOR_DATE": f"{change.moment} +0000",
            "GIT_COMMITTER_DATE": f"{change.moment} +0000",
        }
        parents = ("-p", parent) if parent else ()
        said = self._git.run(
            path, "commit-tree", tree, *parents, given=utf8(change.message.replace("\0", "")), more=signed
        )
        commit = said.decode().strip()
        self.set_ref(repository, HEADS + branch, commit)
        return commit

    def tag(self, repository: Repository, commit: str, name: str, message: str, moment: int) -> str:
        """An object for a tag that says something."""
        lines = (
            f"object {commit}",
            "type commit",
            f"tag {name}",
            f"tagger {VCS_USER} <{EMAIL}> {moment} +0000",
            "",
            message.replace("\0", ""),
        )
        return (
            self._git.run(self._repositories.path(repository), "mktag", given=utf8("\n".join(lines) + "\n"))
            .decode()
            .strip()
        )

    def set_ref(self, repository: Repository, name: str, sha: str) -> None:
        """Raises ``GitFailed`` for a name that is none, and for one that stands in the way of another."""
        order = f"update {name} {sha}\n"
        self._git.run(self._repositories.path(repository), "update-ref", "--stdin", given=order.encode())
        self._repositories.touched(repository)

    def drop_ref(self, repository: Repository, name: str) -> None:
        self._git.run(self._repositories.path(repository), "update-ref", "--stdin", given=f"delete {name}\n".encode())
        self._repositories.touched(repository)

    def _lines(self, repository: Repository, change: Change) -> bytes:
        path = self._repositories.path(repository)
        lines = []
        for name, content in change.files.items():
            if content is None:
                lines.append(f"0 {_NOTHING}\t{name}")
                continue
            sha = self._git.run(path, "hash-object", "-w", "--stdin", given=content, bounds=WRITE).decode().strip()
            lines.append(f"{FILE} {sha}\t{name}")
        return utf8("".join(f"{line}\0" for line in lines))
