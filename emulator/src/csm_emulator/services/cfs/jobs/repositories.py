"""Git repositories at a commit, read from VCS over the mesh, and kept in memory: a commit never changes."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from csm_emulator.services.cfs.ansible.playbooks.layer_files import LayerReader, ReadingPaused
from csm_emulator.services.cfs.ansible.playbooks.parser import read_playbook
from csm_emulator.services.cfs.ansible.playbooks.plays import Play
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import AnsibleError
from csm_emulator.services.cfs.records import Book
from csm_emulator.services.cfs.sources.vcs import Vcs, path_of
from csm_emulator.transport.call import Reply

_MOST_KEPT = 64
_MOST_SIGNS = 16 << 20
"""Of paths and texts, in all repositories that are kept."""
_MOST_PAGES, _PAGES_AT_ONCE = 200, 5
_MOST_HALF_READ = 8
_LONGEST_FILE = 1 << 20


class Silent(Exception):
    """VCS does not answer now."""


class NoRepository(Exception):
    """Git finds nothing to clone; the words are those of git."""


class NoCommit(Exception):
    """The repository has no such commit; the words are those of git."""


class Repository:
    """One commit, as it lies in a folder of the container."""

    def __init__(self, library: Library, path: str, authorization: str, commit: str) -> None:
        self._library = library
        self._path = path
        self._authorization = authorization
        self._texts: dict[str, str | None] = {}
        self._plays: dict[tuple[str, str], tuple[Play, ...] | AnsibleError] = {}
        self._readings: dict[str, LayerReader] = {}
        self.commit = commit
        self.paths = library.tree(path, authorization, commit)
        self._in_order = sorted(self.paths)
        self.size = sum(map(len, self.paths))
        """Signs that it keeps."""

    def has(self, path: str) -> bool:
        path = path.strip("/")
        return path in self.paths or next(self._inside(path), None) is not None

    def read(self, path: str) -> str | None:
        """Raises ``Silent``."""
        path = path.removeprefix("./")
        if path not in self.paths:
            return None
        if path not in self._texts:
            where = f"{self._path}/raw/{quote(path)}?ref={self.commit}"
            reply = self._library.ask(where, self._authorization)
            text = reply.body[:_LONGEST_FILE].decode(errors="replace") if reply.ok else None
            self._texts[path] = text
            self.size += len(text or "")
        return self._texts[path]

    def files_in(self, folder: str) -> list[str]:
        return list(self._inside(folder.strip("/")))

    def _inside(self, folder: str) -> Iterator[str]:
        start = f"{folder}/"
        place = bisect_left(self._in_order, start)
        while place < len(self._in_order) and self._in_order[place].startswith(start):
            yield self._in_order[place]
            place += 1

    def reading(self, root: str) -> LayerReader:
        """Of this folder; it goes on where it paused."""
        found = self._readings.setdefault(root, LayerReader())
        found.restart()
        return found

    def end_reading(self, root: str) -> None:
        self._readings.pop(root, None)

    def plays(self, playbook: str, root: str) -> tuple[Play, ...]:
        """Read once; raises ``AnsibleError`` as often as one asks, and ``Paused``."""
        key = (playbook, root)
        if key not in self._plays:
            try:
                self._plays[key] = read_playbook(Folder(self, root), playbook, self.reading(root))
            except AnsibleError as error:
                self._plays[key] = error
            self.end_reading(root)
        found = self._plays[key]
        if isinstance(found, AnsibleError):
            raise found.with_traceback(None)
        return found


class Folder:
    """A repository where a container sees it."""

    def __init__(self, repository: Repository, root: str) -> None:
        self._repository = repository
        self.root = root

    def read(self, path: str) -> str | None:
        return self._repository.read(path)

    def has(self, path: str) -> bool:
        return self._repository.has(path)

    def files_in(self, folder: str) -> list[str]:
        return self._repository.files_in(folder)


@dataclass(slots=True)
class _Listing:
    """The files of a commit, as far as they were told."""

    page: int = 0
    files: set[str] = field(default_factory=set)
    size: int = 0

    def add(self, told: dict[str, Any]) -> bool:
        """Whether this was the last page."""
        new = {entry["path"] for entry in told.get("tree") or () if entry.get("type") == "blob"}
        self.files |= new
        self.size += sum(map(len, new))
        return not told.get("truncated")


class Library:
    def __init__(self, vcs: Vcs, book: Book) -> None:
        self._vcs = vcs
        self._book = book
        self._kept: OrderedDict[tuple[str, str], Repository] = OrderedDict()
        self._half_read: OrderedDict[tuple[str, str, str], _Listing] = OrderedDict()

    def open(self, layer: dict[str, Any]) -> Repository:
        """Raises ``Silent``, ``NoRepository`` and ``NoCommit``, and ``Paused`` for the sake of others."""
        url, commit = str(layer.get("clone_url") or ""), str(layer.get("commit") or "")
        key = (url, commit)
        if key in self._kept and commit:
            self._kept.move_to_end(key)
            return self._kept[key]
        path = path_of(url)
        if path is None:
            raise NoRepository(f"fatal: unable to access '{url}/': Could not resolve host: {_host(url)}")
        source = str(layer.get("source") or "")
        authorization = self._vcs.authorization(self._book.credentials(source) if source else None)
        repository = Repository(self, path, authorization, self._commit(url, path, authorization, commit))
        self._kept[key] = repository
        self._make_room()
        return repository

    def _make_room(self) -> None:
        """The one that was used last stays, however large it is."""
        size = sum(repository.size for repository in self._kept.values())
        while len(self._kept) > _MOST_KEPT or (size > _MOST_SIGNS and len(self._kept) > 1):
            size -= self._kept.popitem(last=False)[1].size

    def _commit(self, url: str, path: str, authorization: str, commit: str) -> str:
        about = self.ask(path, authorization)
        if not about.ok:
            raise NoRepository(f"remote: Not found.\nfatal: repository '{url}/' not found")
        if commit:
            return commit
        branch = quote(str(about.json().get("default_branch", "")))
        top = self.ask(f"{path}/branches/{branch}", authorization)
        if not top.ok:
            raise NoRepository("warning: You appear to have cloned an empty repository.")
        return str(top.json()["commit"]["id"])

    def tree(self, path: str, authorization: str, commit: str) -> frozenset[str]:
        """All files; raises ``NoCommit``, and ``Paused`` after some pages: whoever asks again gets further."""
        key = (path, authorization, commit)
        listing = self._half_read.pop(key, None) or _Listing()
        for _ in range(_PAGES_AT_ONCE):
            listing.page += 1
            where = f"{path}/git/trees/{quote(commit)}?recursive=true&per_page=1000&page={listing.page}"
            reply = self.ask(where, authorization)
            if not reply.ok:
                raise NoCommit(f"fatal: reference is not a tree: {commit}")
            if listing.add(reply.json()):
                return frozenset(listing.files)
            if listing.page == _MOST_PAGES or listing.size > _MOST_SIGNS:
                raise NoCommit(f"fatal: cannot create the files of {commit}: No space left on device")
        self._half_read[key] = listing
        if len(self._half_read) > _MOST_HALF_READ:
            self._half_read.popitem(last=False)
        raise ReadingPaused

    def ask(self, path: str, authorization: str) -> Reply:
        """Raises ``Silent``."""
        reply = self._vcs.ask(path, authorization)
        if reply.status >= 500:
            raise Silent
        return reply


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0] or url
