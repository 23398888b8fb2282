"""What stands in a repository: commits, trees and blobs, which never change and are remembered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from csm_emulator.services.vcs.git.git import READ, Bounds, Git, GitFailed, TooMuch
from csm_emulator.services.vcs.repositories import HEADS, TAGS, Repositories, Repository

LARGEST_BLOB = 32 << 20
REMEMBERED = 2_000
MOST_LISTED = 32 << 20
"""Bytes of lists of files that are remembered: clients ask for page after page of one."""
_HEX = re.compile("[0-9a-f]{4,40}")
_WHEN = re.compile(rb"(\d+) ([+-]\d{4})")
_DIGITS = 19
"""A moment of more is as far away as one of so many."""
_BLOB = Bounds(READ.seconds, LARGEST_BLOB + 1_000)
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
class Listing:
    """The files of a tree, in git's words: who asks for a page reads no more than that."""

    lines: list[bytes]
    whole: bool
    """Whether there is nothing behind them: a small repository can hold a tree without an end."""
    size: int

    def __len__(self) -> int:
        return len(self.lines)

    def part(self, first: int, end: int | None = None) -> list[Entry]:
        return [_entry(line) for line in self.lines[first:end]]


@dataclass(frozen=True, slots=True)
class Difference:
    """What a commit did: lines added and removed, by file."""

    files: tuple[tuple[str, int, int], ...]


class Reading:
    def __init__(self, git: Git, repositories: Repositories) -> None:
        self._git = git
        self._repositories = repositories
        self._commits: dict[tuple[int, str], Commit] = {}
        self._listings: dict[tuple[int, str, bool], Listing] = {}

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
        except TooMuch:
            raise
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

    def objects(self, repository: Repository, shas: list[str], bounds: Bounds = READ) -> dict[str, tuple[str, bytes]]:
        """Kind and content of those that are there."""
        if not shas:
            return {}
        path = self._repositories.path(repository)
        given = "".join(f"{sha}\n" for sha in shas).encode()
        said = self._git.run(path, "cat-file", "--batch", given=given, bounds=bounds)
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
        return self.objects(repository, [sha], _BLOB)[sha][1]

    def tree(self, repository: Repository, sha: str) -> list[Entry]:
        """What stands in one folder. Raises ``GitFailed`` for what is no tree, nor has one."""
        found = self.listing(repository, sha, recursive=False)
        if not found.whole:
            raise TooMuch(f"tree {sha} has more than {len(found)} entries")
        return found.part(0)

    def listing(self, repository: Repository, sha: str, *, recursive: bool) -> Listing:
        """By the id of a commit or a tree, in full. Raises ``GitFailed`` as ``tree`` does."""
        key = (repository.id, sha, recursive)
        known = self._listings.pop(key, None) or self._listed(repository, sha, recursive=recursive)
        self._listings[key] = known
        while sum(each.size for each in self._listings.values()) > MOST_LISTED:
            del self._listings[next(iter(self._listings))]
        return known

    def _listed(self, repository: Repository, sha: str, *, recursive: bool) -> Listing:
        if not _HEX.fullmatch(sha):
            raise GitFailed(sha)
        deep = ("-r", "-t") if recursive else ()
        said, whole = self._git.beginning(self._repositories.path(repository), "ls-tree", "-l", "-z", *deep, sha)
        *lines, _ = said.split(b"\0")
        return Listing(lines, whole, len(said))

    def entry(self, repository: Repository, commit: str, path: str) -> Entry | None:
        """What stands at a path, which is not the root."""
        if not is_plain(path):
            return None
        folder = self._repositories.path(repository)
        *lines, _ = self._git.run(folder, "ls-tree", "-l", "-z", commit, "--", path, more=_LITERAL).split(b"\0")
        return next((entry for entry in map(_entry, lines) if entry.path == path), None)

    def log(self, repository: Repository, commit: str, path: str, first: int, most: int) -> tuple[list[Commit], int]:
        """The latest first, and how many there are in all."""
        folder = self._repositories.path(repository)
        asked = (commit, "--", *([path] if path else []))
        total = int(self._git.run(folder, "rev-list", "--count", *asked, more=_LITERAL))
        found = self._git.run(folder, "rev-list", f"--skip={first}", f"--max-count={most}", *asked, more=_LITERAL)
        return self.commits(repository, found.decode().split()), total

    def differences(self, repository: Repository, commits: Sequence[Commit]) -> list[Difference]:
        """Of each from its first parent."""
        folder = self._repositories.path(repository)
        asked = "".join(f"{' '.join((commit.sha, *commit.parents[:1]))}\n" for commit in commits)
        options = ("--stdin", "--always", "--root", "-r", "--numstat", "-z", "--no-renames")
        files: dict[str, list[tuple[str, int, int]]] = {}
        of = ""
        for line in self._git.run(folder, "diff-tree", *options, given=asked.encode()).split(b"\0"):
            added, changed, rest = line.partition(b"\t")
            if changed:
                removed, _, path = rest.partition(b"\t")
                files[of].append((path.decode(errors="replace"), _lines(added), _lines(removed)))
            else:
                of = line.decode()
                files[of] = []
        return [Difference(tuple(files[commit.sha])) for commit in commits]


def is_plain(path: str) -> bool:
    """Whether it can be the path of a file in a repository."""
    parts = path.split("/")
    return "\0" not in path and not any(part in ("", ".", "..") or part.lower() == ".git" for part in parts)


def _lines(count: bytes) -> int:
    return 0 if count == b"-" else int(count)


def _entry(line: bytes) -> Entry:
    facts, _, path = line.partition(b"\t")
    mode, kind, sha, size = facts.decode().split()
    return Entry(mode, kind, sha, 0 if size == "-" else int(size), path.decode(errors="replace"))


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
    who, _, when = text.rpartition(b"> ")
    name, signed, email = who.partition(b"<")
    found = _WHEN.fullmatch(when)
    if found is None or not signed:
        return Signature("", "", 0, "+0000")
    moment, zone = int(found[1].lstrip(b"0")[:_DIGITS] or b"0"), found[2].decode()
    return Signature(name.removesuffix(b" ").decode(errors="replace"), email.decode(errors="replace"), moment, zone)
