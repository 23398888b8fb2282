"""Git repositories at a commit, read from VCS over the mesh, and kept in memory: a commit never changes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from urllib.parse import quote

from canton.emulator.faces.cfs.book import Book
from canton.emulator.faces.cfs.runs.ansible.loading import AnsibleError
from canton.emulator.faces.cfs.runs.ansible.play_reading import read_playbook
from canton.emulator.faces.cfs.runs.ansible.plays import Play
from canton.emulator.faces.cfs.vcs import Vcs, path_of
from canton.emulator.wire.call import Reply

_MOST_KEPT = 64
_MOST_PAGES = 200
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
        self.commit = commit
        self.paths = library.tree(path, authorization, commit)
        self._folders = {path[:place] for path in self.paths for place, sign in enumerate(path) if sign == "/"}

    def has(self, path: str) -> bool:
        path = path.strip("/")
        return path in self.paths or path in self._folders

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
        return self._texts[path]

    def below(self, folder: str) -> list[str]:
        return sorted(path for path in self.paths if path.startswith(f"{folder.strip('/')}/"))

    def plays(self, playbook: str, root: str) -> tuple[Play, ...]:
        """Read once; raises ``AnsibleError`` as often as one asks."""
        key = (playbook, root)
        if key not in self._plays:
            try:
                self._plays[key] = read_playbook(Folder(self, root), playbook)
            except AnsibleError as error:
                self._plays[key] = error
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

    def below(self, folder: str) -> list[str]:
        return self._repository.below(folder)


class Library:
    def __init__(self, vcs: Vcs, book: Book) -> None:
        self._vcs = vcs
        self._book = book
        self._kept: OrderedDict[tuple[str, str], Repository] = OrderedDict()

    def open(self, layer: dict[str, Any]) -> Repository:
        """Raises ``Silent``, ``NoRepository`` and ``NoCommit``."""
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
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return repository

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
        """All files; raises ``NoCommit``."""
        files: set[str] = set()
        for page in range(1, _MOST_PAGES):
            where = f"{path}/git/trees/{quote(commit)}?recursive=true&per_page=1000&page={page}"
            reply = self.ask(where, authorization)
            if not reply.ok:
                raise NoCommit(f"fatal: reference is not a tree: {commit}")
            told = reply.json()
            files |= {entry["path"] for entry in told.get("tree") or () if entry.get("type") == "blob"}
            if not told.get("truncated"):
                break
        return frozenset(files)

    def ask(self, path: str, authorization: str) -> Reply:
        """Raises ``Silent``."""
        reply = self._vcs.ask(path, authorization)
        if reply.status >= 500:
            raise Silent
        return reply


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0] or url
