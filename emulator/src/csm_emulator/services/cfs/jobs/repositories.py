"""Git repositories at a commit, read from VCS over the mesh. They are cached, since a commit never changes."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

from csm_emulator.records import Record
from csm_emulator.services.cfs.ansible.playbooks.layer_files import LayerReader, ReadingPaused
from csm_emulator.services.cfs.ansible.playbooks.parser import read_playbook
from csm_emulator.services.cfs.ansible.playbooks.plays import Play
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import AnsibleError
from csm_emulator.services.cfs.records import CfsRecords
from csm_emulator.services.cfs.sources.vcs import Vcs, path_of
from csm_emulator.transport.call import Reply

_MAX_CACHED = 64
_MAX_CHARACTERS = 16 << 20
"""Characters of paths and texts in all cached repositories."""
_MAX_PAGES, _PAGES_PER_CALL = 200, 5
_MAX_PARTIAL = 8
_MAX_FILE_SIZE = 1 << 20


class VcsUnavailable(Exception):
    """VCS does not answer now; the caller retries."""


class RepositoryNotFound(Exception):
    """The repository cannot be cloned; the message is that of git."""


class CommitNotFound(Exception):
    """The repository does not have the commit; the message is that of git."""


class Repository:
    """The files of a repository at one commit."""

    def __init__(self, repositories: RepositoryCache, path: str, authorization: str, commit: str) -> None:
        self._cache = repositories
        self._path = path
        self._authorization = authorization
        self._texts: dict[str, str | None] = {}
        self._plays: dict[tuple[str, str], tuple[Play, ...] | AnsibleError] = {}
        self._readers: dict[str, LayerReader] = {}
        self.commit = commit
        self.paths = repositories.tree(path, authorization, commit)
        self._sorted_paths = sorted(self.paths)
        self.size = sum(map(len, self.paths))
        """Characters that the repository holds in memory."""

    def has(self, path: str) -> bool:
        path = path.strip("/")
        return path in self.paths or next(self._paths_in(path), None) is not None

    def read(self, path: str) -> str | None:
        """The text of a file, None when it does not exist; raises ``VcsUnavailable``."""
        path = path.removeprefix("./")
        if path not in self.paths:
            return None
        if path not in self._texts:
            where = f"{self._path}/raw/{quote(path)}?ref={self.commit}"
            reply = self._cache.ask(where, self._authorization)
            text = reply.body[:_MAX_FILE_SIZE].decode(errors="replace") if reply.ok else None
            self._texts[path] = text
            self.size += len(text or "")
        return self._texts[path]

    def files_in(self, folder: str) -> list[str]:
        return list(self._paths_in(folder.strip("/")))

    def _paths_in(self, folder: str) -> Iterator[str]:
        start = f"{folder}/"
        index = bisect_left(self._sorted_paths, start)
        while index < len(self._sorted_paths) and self._sorted_paths[index].startswith(start):
            yield self._sorted_paths[index]
            index += 1

    def reader(self, root: str) -> LayerReader:
        """The reader for this folder, which continues where it paused."""
        reader = self._readers.setdefault(root, LayerReader())
        reader.restart()
        return reader

    def end_reader(self, root: str) -> None:
        self._readers.pop(root, None)

    def plays(self, playbook: str, root: str) -> tuple[Play, ...]:
        """The plays of a playbook, parsed once; raises ``AnsibleError`` at every call, and ``ReadingPaused``."""
        key = (playbook, root)
        if key not in self._plays:
            try:
                self._plays[key] = read_playbook(RepositoryFolder(self, root), playbook, self.reader(root))
            except AnsibleError as error:
                self._plays[key] = error
            self.end_reader(root)
        plays = self._plays[key]
        if isinstance(plays, AnsibleError):
            raise plays.with_traceback(None)
        return plays


class RepositoryFolder:
    """A repository in the folder in which a container sees it."""

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
    """The files of a commit, as far as their pages were read."""

    page: int = 0
    files: set[str] = field(default_factory=set)
    size: int = 0

    def add(self, body: Record) -> bool:
        """Add a page; return whether it was the last one."""
        paths = {entry["path"] for entry in body.get("tree") or () if entry.get("type") == "blob"}
        self.files |= paths
        self.size += sum(map(len, paths))
        return not body.get("truncated")


class RepositoryCache:
    def __init__(self, vcs: Vcs, records: CfsRecords) -> None:
        self._vcs = vcs
        self._records = records
        self._cache: OrderedDict[tuple[str, str], Repository] = OrderedDict()
        self._partial_listings: OrderedDict[tuple[str, str, str], _Listing] = OrderedDict()

    def open(self, layer: Record) -> Repository:
        """The repository of a layer.

        Raises ``VcsUnavailable``, ``RepositoryNotFound``, ``CommitNotFound``, and ``ReadingPaused`` for a large one.
        """
        url, commit = str(layer.get("clone_url") or ""), str(layer.get("commit") or "")
        key = (url, commit)
        if key in self._cache and commit:
            self._cache.move_to_end(key)
            return self._cache[key]
        path = path_of(url)
        if path is None:
            raise RepositoryNotFound(f"fatal: unable to access '{url}/': Could not resolve host: {_host(url)}")
        source = str(layer.get("source") or "")
        authorization = self._vcs.authorization(self._records.credentials(source) if source else None)
        repository = Repository(self, path, authorization, self._commit(url, path, authorization, commit))
        self._cache[key] = repository
        self._evict()
        return repository

    def _evict(self) -> None:
        """Evict the least recently used repositories; the most recent one stays, however large it is."""
        size = sum(repository.size for repository in self._cache.values())
        while len(self._cache) > _MAX_CACHED or (size > _MAX_CHARACTERS and len(self._cache) > 1):
            size -= self._cache.popitem(last=False)[1].size

    def _commit(self, url: str, path: str, authorization: str, commit: str) -> str:
        repository = self.ask(path, authorization)
        if not repository.ok:
            raise RepositoryNotFound(f"remote: Not found.\nfatal: repository '{url}/' not found")
        if commit:
            return commit
        branch = quote(str(repository.json().get("default_branch", "")))
        branch_reply = self.ask(f"{path}/branches/{branch}", authorization)
        if not branch_reply.ok:
            raise RepositoryNotFound("warning: You appear to have cloned an empty repository.")
        return str(branch_reply.json()["commit"]["id"])

    def tree(self, path: str, authorization: str, commit: str) -> frozenset[str]:
        """All files of a commit.

        Raises ``CommitNotFound``, and ``ReadingPaused`` after some pages; the next call reads further pages.
        """
        key = (path, authorization, commit)
        listing = self._partial_listings.pop(key, None) or _Listing()
        for _ in range(_PAGES_PER_CALL):
            listing.page += 1
            where = f"{path}/git/trees/{quote(commit)}?recursive=true&per_page=1000&page={listing.page}"
            reply = self.ask(where, authorization)
            if not reply.ok:
                raise CommitNotFound(f"fatal: reference is not a tree: {commit}")
            if listing.add(reply.json()):
                return frozenset(listing.files)
            if listing.page == _MAX_PAGES or listing.size > _MAX_CHARACTERS:
                raise CommitNotFound(f"fatal: cannot create the files of {commit}: No space left on device")
        self._partial_listings[key] = listing
        if len(self._partial_listings) > _MAX_PARTIAL:
            self._partial_listings.popitem(last=False)
        raise ReadingPaused

    def ask(self, path: str, authorization: str) -> Reply:
        """Send a request to VCS; raises ``VcsUnavailable`` when it fails with 5xx."""
        reply = self._vcs.ask(path, authorization)
        if reply.status >= 500:
            raise VcsUnavailable
        return reply


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0] or url
