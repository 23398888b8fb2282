"""Read commits, trees and blobs. They never change, and so they are cached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from csm_emulator.services.vcs.git.git import READ, Bounds, Git, GitError, LimitExceeded
from csm_emulator.services.vcs.repositories import HEADS, TAGS, Repositories, Repository

LARGEST_BLOB = 32 << 20
MOST_CACHED_COMMITS = 2_000
MOST_CACHED_LISTINGS = 32 << 20
"""Bytes of cached tree listings: clients request one page of a listing after another."""
_HEX = re.compile("[0-9a-f]{4,40}")
_WHEN = re.compile(rb"(\d+) ([+-]\d{4})")
_DIGITS = 19
"""Digits of a timestamp that are read; a longer one is out of range in any case."""
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
    """The files of a tree as lines of git; only the lines of the requested page are parsed."""

    lines: list[bytes]
    complete: bool
    """Whether these are all lines: even a small repository can hold a tree of enormous size."""
    size: int

    def __len__(self) -> int:
        return len(self.lines)

    def part(self, first: int, end: int | None = None) -> list[Entry]:
        return [_entry(line) for line in self.lines[first:end]]


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes of a commit: (path, lines added, lines removed)."""

    files: tuple[tuple[str, int, int], ...]


class GitReader:
    def __init__(self, git: Git, repositories: Repositories) -> None:
        self._git = git
        self._repositories = repositories
        self._commits: dict[tuple[int, str], Commit] = {}
        self._listings: dict[tuple[int, str, bool], Listing] = {}

    def resolve(self, repository: Repository, name: str) -> str | None:
        """The commit of a branch, a tag, a ref or a (possibly abbreviated) commit id; None for an unknown name."""
        refs = self._repositories.refs(repository)
        for ref in (HEADS + name, TAGS + name, name):
            if ref in refs:
                return self.commit_of(repository, refs[ref])
        return self.commit_of(repository, name) if _HEX.fullmatch(name) else None

    def commit_of(self, repository: Repository, object_sha: str) -> str | None:
        """The commit of an object id: that of an annotated tag, or the commit itself; None when there is none."""
        if (repository.id, object_sha) in self._commits:
            return object_sha
        path = self._repositories.path(repository)
        try:
            return self._git.run(path, "rev-parse", "--verify", "--quiet", f"{object_sha}^{{commit}}").decode().strip()
        except LimitExceeded:
            raise
        except GitError:
            return None

    def commit(self, repository: Repository, sha: str) -> Commit:
        return self.commits(repository, [sha])[0]

    def commits(self, repository: Repository, shas: Iterable[str]) -> list[Commit]:
        """The commits with these ids, which must be complete and exist."""
        requested = list(shas)
        missing = [sha for sha in dict.fromkeys(requested) if (repository.id, sha) not in self._commits]
        if len(self._commits) > MOST_CACHED_COMMITS:
            self._commits.clear()
            missing = requested
        for sha, (_, content) in self.objects(repository, missing).items():
            self._commits[repository.id, sha] = _parse_commit(sha, content)
        return [self._commits[repository.id, sha] for sha in requested]

    def objects(self, repository: Repository, shas: list[str], bounds: Bounds = READ) -> dict[str, tuple[str, bytes]]:
        """Kind and content of the objects that exist, by id."""
        if not shas:
            return {}
        path = self._repositories.path(repository)
        stdin = "".join(f"{sha}\n" for sha in shas).encode()
        output = self._git.run(path, "cat-file", "--batch", stdin=stdin, bounds=bounds)
        contents: dict[str, tuple[str, bytes]] = {}
        position = 0
        while position < len(output):
            end = output.index(b"\n", position)
            header = output[position:end].decode().split(" ")
            position = end + 1
            if len(header) == 3 and header[1] != "missing":
                size = int(header[2])
                contents[header[0]] = (header[1], output[position : position + size])
                position += size + 1
        return contents

    def kinds(self, repository: Repository, shas: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Kind and size of the objects that exist, by id."""
        path = self._repositories.path(repository)
        stdin = "".join(f"{sha}\n" for sha in shas).encode()
        lines = self._git.run(path, "cat-file", "--batch-check", stdin=stdin).decode().splitlines()
        headers = [line.split(" ") for line in lines]
        return {fields[0]: (fields[1], int(fields[2])) for fields in headers if len(fields) == 3}

    def blob(self, repository: Repository, sha: str) -> bytes | None:
        kind, size = self.kinds(repository, [sha]).get(sha, ("", 0))
        if kind != "blob" or size > LARGEST_BLOB:
            return None
        return self.objects(repository, [sha], _BLOB)[sha][1]

    def tree(self, repository: Repository, sha: str) -> list[Entry]:
        """The entries of one folder. Raises ``GitError`` when the id is neither a tree nor a commit."""
        listing = self.listing(repository, sha, recursive=False)
        if not listing.complete:
            raise LimitExceeded(f"tree {sha} has more than {len(listing)} entries")
        return listing.part(0)

    def listing(self, repository: Repository, sha: str, *, recursive: bool) -> Listing:
        """The files of a commit or a tree, by its complete id. Raises ``GitError`` as ``tree`` does."""
        key = (repository.id, sha, recursive)
        listing = self._listings.pop(key, None) or self._read_listing(repository, sha, recursive=recursive)
        self._listings[key] = listing
        while sum(cached.size for cached in self._listings.values()) > MOST_CACHED_LISTINGS:
            del self._listings[next(iter(self._listings))]
        return listing

    def _read_listing(self, repository: Repository, sha: str, *, recursive: bool) -> Listing:
        if not _HEX.fullmatch(sha):
            raise GitError(sha)
        deep = ("-r", "-t") if recursive else ()
        path = self._repositories.path(repository)
        output, complete = self._git.run_truncated(path, "ls-tree", "-l", "-z", *deep, sha)
        *lines, _ = output.split(b"\0")
        return Listing(lines, complete, len(output))

    def entry(self, repository: Repository, commit: str, path: str) -> Entry | None:
        """The entry at a path, which is not the root; None when there is none."""
        if not is_plain(path):
            return None
        folder = self._repositories.path(repository)
        *lines, _ = self._git.run(folder, "ls-tree", "-l", "-z", commit, "--", path, variables=_LITERAL).split(b"\0")
        return next((entry for entry in map(_entry, lines) if entry.path == path), None)

    def log(self, repository: Repository, commit: str, path: str, first: int, most: int) -> tuple[list[Commit], int]:
        """(commits, the latest first; number of all commits)."""
        folder = self._repositories.path(repository)
        revision = (commit, "--", *([path] if path else []))
        total = int(self._git.run(folder, "rev-list", "--count", *revision, variables=_LITERAL))
        output = self._git.run(
            folder, "rev-list", f"--skip={first}", f"--max-count={most}", *revision, variables=_LITERAL
        )
        return self.commits(repository, output.decode().split()), total

    def differences(self, repository: Repository, commits: Sequence[Commit]) -> list[Difference]:
        """The difference of each commit from its first parent."""
        folder = self._repositories.path(repository)
        stdin = "".join(f"{' '.join((commit.sha, *commit.parents[:1]))}\n" for commit in commits)
        options = ("--stdin", "--always", "--root", "-r", "--numstat", "-z", "--no-renames")
        files: dict[str, list[tuple[str, int, int]]] = {}
        sha = ""
        for line in self._git.run(folder, "diff-tree", *options, stdin=stdin.encode()).split(b"\0"):
            added, changed, removed_and_path = line.partition(b"\t")
            if changed:
                removed, _, path = removed_and_path.partition(b"\t")
                files[sha].append((path.decode(errors="replace"), _lines(added), _lines(removed)))
            else:
                sha = line.decode()
                files[sha] = []
        return [Difference(tuple(files[commit.sha])) for commit in commits]


def is_plain(path: str) -> bool:
    """Whether this is a valid path of a file in a repository."""
    parts = path.split("/")
    return "\0" not in path and not any(part in ("", ".", "..") or part.lower() == ".git" for part in parts)


def _lines(count: bytes) -> int:
    return 0 if count == b"-" else int(count)


def _entry(line: bytes) -> Entry:
    attributes, _, path = line.partition(b"\t")
    mode, kind, sha, size = attributes.decode().split()
    return Entry(mode, kind, sha, 0 if size == "-" else int(size), path.decode(errors="replace"))


def _parse_commit(sha: str, content: bytes) -> Commit:
    head, _, message = content.partition(b"\n\n")
    headers = [(line.split(b" ", 1)[0], line.split(b" ", 1)[1]) for line in head.split(b"\n") if b" " in line]
    first = dict(reversed(headers))
    return Commit(
        sha,
        first[b"tree"].decode(),
        tuple(value.decode() for name, value in headers if name == b"parent"),
        _signature(first.get(b"author", b"")),
        _signature(first.get(b"committer", b"")),
        message.decode(errors="replace"),
    )


def _signature(text: bytes) -> Signature:
    """Parse a signature; like git, it accepts malformed ones."""
    identity, _, date = text.rpartition(b"> ")
    name, bracket, email = identity.partition(b"<")
    match = _WHEN.fullmatch(date)
    if match is None or not bracket:
        return Signature("", "", 0, "+0000")
    moment, zone = int(match[1].lstrip(b"0")[:_DIGITS] or b"0"), match[2].decode()
    return Signature(name.removesuffix(b" ").decode(errors="replace"), email.decode(errors="replace"), moment, zone)
