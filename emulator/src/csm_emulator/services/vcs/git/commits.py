"""Write commits, tags and refs for the REST API, without a work tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from csm_emulator.seed_data.secrets import VCS_USER
from csm_emulator.services.vcs.auth.accounts import EMAIL
from csm_emulator.services.vcs.git.git import WRITE, Git
from csm_emulator.services.vcs.repositories import HEADS, Repositories, Repository
from csm_emulator.transport.call import utf8

FILE = "100644"
_NULL_SHA = "0" * 40


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one commit: contents by path, None for a deleted file."""

    files: Mapping[str, bytes | None]
    message: str
    author: Person
    committer: Person
    moment: int


class GitWriter:
    def __init__(self, git: Git, repositories: Repositories) -> None:
        self._git = git
        self._repositories = repositories

    def commit(self, repository: Repository, parent: str | None, branch: str, change: Change) -> str:
        """Commit to the branch and return the new commit. Raises ``GitError``."""
        path = self._repositories.path(repository)
        index = {"GIT_INDEX_FILE": str(path / "index")}
        self._git.run(path, "read-tree", *([parent] if parent else ["--empty"]), variables=index)
        self._git.run(
            path, "update-index", "-z", "--index-info", stdin=self._index_lines(repository, change), variables=index
        )
        tree = self._git.run(path, "write-tree", variables=index).decode().strip()
        identity = {
            "GIT_AUTHOR_NAME": change.author.name,
            "GIT_AUTHOR_EMAIL": change.author.email,
            "GIT_COMMITTER_NAME": change.committer.name,
            "GIT_COMMITTER_EMAIL": change.committer.email,
            "GIT_AUTHOR_DATE": f"{change.moment} +0000",
            "GIT_COMMITTER_DATE": f"{change.moment} +0000",
        }
        parents = ("-p", parent) if parent else ()
        output = self._git.run(
            path, "commit-tree", tree, *parents, stdin=utf8(change.message.replace("\0", "")), variables=identity
        )
        commit = output.decode().strip()
        self.set_ref(repository, HEADS + branch, commit)
        return commit

    def tag(self, repository: Repository, commit: str, name: str, message: str, moment: int) -> str:
        """Create an annotated tag object and return its id."""
        lines = (
            f"object {commit}",
            "type commit",
            f"tag {name}",
            f"tagger {VCS_USER} <{EMAIL}> {moment} +0000",
            "",
            message.replace("\0", ""),
        )
        return (
            self._git.run(self._repositories.path(repository), "mktag", stdin=utf8("\n".join(lines) + "\n"))
            .decode()
            .strip()
        )

    def set_ref(self, repository: Repository, name: str, sha: str) -> None:
        """Raises ``GitError`` for an invalid name, and for one that conflicts with another ref."""
        order = f"update {name} {sha}\n"
        self._git.run(self._repositories.path(repository), "update-ref", "--stdin", stdin=order.encode())
        self._repositories.refresh_refs(repository)

    def drop_ref(self, repository: Repository, name: str) -> None:
        self._git.run(self._repositories.path(repository), "update-ref", "--stdin", stdin=f"delete {name}\n".encode())
        self._repositories.refresh_refs(repository)

    def _index_lines(self, repository: Repository, change: Change) -> bytes:
        path = self._repositories.path(repository)
        lines = []
        for name, content in change.files.items():
            if content is None:
                lines.append(f"0 {_NULL_SHA}\t{name}")
                continue
            sha = self._git.run(path, "hash-object", "-w", "--stdin", stdin=content, bounds=WRITE).decode().strip()
            lines.append(f"{FILE} {sha}\t{name}")
        return utf8("".join(f"{line}\0" for line in lines))
