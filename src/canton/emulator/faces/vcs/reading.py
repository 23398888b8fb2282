"""What stands in a repository: commits, trees and blobs, which never change and are remembered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from canton.emulator.faces.vcs.git import Git, GitFailed
from canton.emulator.faces.vcs.repositories import HEADS, TAGS, Repositories, Repository

LARGEST_BLOB = 32 << 20
REMEMBERED = 2_000
_HEX = re.compile("[0-9a-f]{4,40}")
_SIGNED = re.compile(rb"(.*?) ?<(.*?)> (\d+) ([+-]\d{4})", re.DOTALL)
_LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}


@dataclass(frozen=True, slots=True)
class Signature:
    name: str
    email: str
    moment: int
    zone: str


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str


@dataclass(frozen=True, slots=True)
class Entry:
    mode: str
    kind: str
    sha: str
    size: int
    path: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What a commit did: lines added and removed, by file."""

    files: tuple[tuple[str, int, int], ...]


class Reading:
    def __init__(self, git: Git, repositories: Repositories) -> None:
        self._git = git
        self._repositories = repositories
        self._commits: dict[tuple[int, str], Commit] = {}

    def resolve(self, repository: Repository, name: str) -> str | None:
        """The commit that a branch, a tag, a ref or (the beginning of) a commit's id names."""
        refs = self._repositories.refs(repository)
        for known in (HEADS + name, TAGS + name, name):
            if known in refs:
                return self.peeled(repository, refs[known])
        return self.peeled(repository, name) if _HEX.fullmatch(name) else None

    def peeled(self, repository: Repository, sha: str) -> str | None:
        """A tag of its own leads on to its commit."""
        if (repository.id, sha) in self._commits:
            return sha
        path = self._repositories.path(repository)
        try:
            return self._git.run(path, "rev-parse", "--verify", "--quiet", f"{sha}^{{commit}}").decode().strip()
        except GitFailed:
            return None

    def commit(self, repository: Repository, sha: str) -> Commit:
        return self.commits(repository, [sha])[0]

    def commits(self, repository: Repository, shas: Iterable[str]) -> list[Commit]:
        """Ids that are there, in full."""
        wanted = list(shas)
        missing = [sha for sha in dict.fromkeys(wanted) if (repository.id, sha) not in self._commits]
        if len(self._commits) > REMEMBERED:
            self._commits.clear()
            missing = wanted
        for sha, (_, content) in self.objects(repository, missing).items():
            self._commits[repository.id, sha] = _parsed(sha, content)
        return [self._commits[repository.id, sha] for sha in wanted]

    def objects(self, repository: Repository, shas: list[str]) -> dict[str, tuple[str, bytes]]:
        """Kind and content of those that are there."""
        if not shas:
            return {}
        path = self._repositories.path(repository)
        said = self._git.run(path, "cat-file", "--batch", given="".join(f"{sha}\n" for sha in shas).encode())
        found: dict[str, tuple[str, bytes]] = {}
        at = 0
        while at < len(said):
            end = said.index(b"\n", at)
            told = said[at:end].decode().split(" ")
            at = end + 1
            if len(told) == 3 and told[1] != "missing":
                size = int(told[2])
                found[told[0]] = (told[1], said[at : at + size])
                at += size + 1
        return found

    def kinds(self, repository: Repository, shas: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Kind and size, without the content."""
        path = self._repositories.path(repository)
        given = "".join(f"{sha}\n" for sha in shas).encode()
        lines = self._git.run(path, "cat-file", "--batch-check", given=given).decode().splitlines()
        told = [line.split(" ") for line in lines]
        return {words[0]: (words[1], int(words[2])) for words in told if len(words) == 3}

    def blob(self, repository: Repository, sha: str) -> bytes | None:
        kind, size = self.kinds(repository, [sha]).get(sha, ("", 0))
        if kind != "blob" or size > LARGEST_BLOB:
            return None
        return self.objects(repository, [sha])[sha][1]

    def tree(self, repository: Repository, sha: str, *, recursive: bool = False) -> list[Entry]:
        """Raises ``GitFailed`` for what is no tree, nor has one."""
        if not _HEX.fullmatch(sha):
            raise GitFailed(sha)
        deep = ("-r", "-t") if recursive else ()
        path = self._repositories.path(repository)
        return _entries(self._git.run(path, "ls-tree", "-l", "-z", *deep, sha))

    def entry(self, repository: Repository, commit: str, path: str) -> Entry | None:
        """What stands at a path, which is not the root."""
        if not is_plain(path):
            return None
        folder = self._repositories.path(repository)
        found = _entries(self._git.run(folder, "ls-tree", "-l", "-z", commit, "--", path, more=_LITERAL))
        return next((entry for entry in found if entry.path == path), None)

    def log(self, repository: Repository, commit: str, path: str, first: int, most: int) -> tuple[list[Commit], int]:
        """The latest first, and how many there are in all."""
        folder = self._repositories.path(repository)
        asked = (commit, "--", *([path] if path else []))
        total = int(self._git.run(folder, "rev-list", "--count", *asked, more=_LITERAL))
        found = self._git.run(folder, "rev-list", f"--skip={first}", f"--max-count={most}", *asked, more=_LITERAL)
        return self.commits(repository, found.decode().split()), total

    def difference(self, repository: Repository, commit: Commit) -> Difference:
        """From its first parent."""
        folder = self._repositories.path(repository)
        asked = [*commit.parents[:1], commit.sha] if commit.parents else ["--root", commit.sha]
        said = self._git.run(folder, "diff-tree", "-r", "--numstat", "-z", "--no-commit-id", "--no-renames", *asked)
        files = []
        for line in said.split(b"\0"):
            if line:
                added, removed, path = line.split(b"\t", 2)
                files.append((path.decode(errors="replace"), _lines(added), _lines(removed)))
        return Difference(tuple(files))


def is_plain(path: str) -> bool:
    """Whether it can be the path of a file in a repository."""
    parts = path.split("/")
    return "\0" not in path and not any(part in ("", ".", "..") or part.lower() == ".git" for part in parts)


def _lines(count: bytes) -> int:
    return 0 if count == b"-" else int(count)


def _entries(said: bytes) -> list[Entry]:
    entries = []
    for line in said.split(b"\0"):
        if line:
            facts, _, path = line.partition(b"\t")
            mode, kind, sha, size = facts.decode().split()
            entries.append(Entry(mode, kind, sha, 0 if size == "-" else int(size), path.decode(errors="replace")))
    return entries


def _parsed(sha: str, content: bytes) -> Commit:
    head, _, message = content.partition(b"\n\n")
    facts = [(line.split(b" ", 1)[0], line.split(b" ", 1)[1]) for line in head.split(b"\n") if b" " in line]
    first = dict(reversed(facts))
    return Commit(
        sha,
        first[b"tree"].decode(),
        tuple(value.decode() for name, value in facts if name == b"parent"),
        _signature(first.get(b"author", b"")),
        _signature(first.get(b"committer", b"")),
        message.decode(errors="replace"),
    )


def _signature(text: bytes) -> Signature:
    """Git itself reads what others wrote with some patience."""
    found = _SIGNED.fullmatch(text)
    if found is None:
        return Signature("", "", 0, "+0000")
    name, email, moment, zone = found.groups()
    return Signature(name.decode(errors="replace"), email.decode(errors="replace"), int(moment), zone.decode())
