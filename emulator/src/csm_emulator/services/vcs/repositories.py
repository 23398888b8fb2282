"""The repositories: records and refs in tables, git objects as bundles in the state file; folders are a cache."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.seed_data import repositories as seed_repositories
from csm_emulator.seed_data.git_objects import framed
from csm_emulator.services.vcs.git.bundles import Bundles
from csm_emulator.services.vcs.git.git import WRITE, Git
from csm_emulator.state.tables import RecordTable

HEADS, TAGS = "refs/heads/", "refs/tags/"


@dataclass(frozen=True, slots=True)
class Repository:
    """The record of a repository; ``Repositories.change`` returns a changed one."""

    id: int
    owner: str
    name: str
    description: str
    private: bool
    default_branch: str
    created: float
    updated: float
    protected: Mapping[str, Json]
    """Protection rules by branch name or pattern."""

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


class StoredRefs(TypedDict):
    refs: dict[str, str]
    bundle: str
    """The name of the blob with the commits; empty without refs."""


class Repositories:
    def __init__(self, context: Context, git: Git) -> None:
        self._context = context
        self._git = git
        self._records = context.tables.open("vcs.repositories", _seed())
        self._refs: RecordTable[StoredRefs] = context.tables.open("vcs.refs")
        self._numbers = context.tables.open("vcs.numbers", {"repository": len(seed_repositories.names())})
        self._bundles = Bundles(git)
        self._loaded: set[int] = set()
        self._unsaved_refs: dict[int, dict[str, str]] = {}
        """Refs that are not stored yet. A ref is stored together with its commits, never without them."""
        self._ended = False
        context.before_save.append(self.save)
        context.on_close.append(self._on_stop)

    def __iter__(self) -> Iterator[Repository]:
        return (Repository(**record) for record in self._records.values())

    def find(self, owner: str, name: str) -> Repository | None:
        """Find a repository; like Gitea, without regard to upper and lower case."""
        record = self._records.get(_key(owner, name))
        return Repository(**record) if record else None

    def create(self, owner: str, name: str, description: str, private: bool, default_branch: str) -> Repository:
        number = self._numbers["repository"] + 1
        self._numbers["repository"] = number
        now = self._context.clock.now()
        repository = Repository(number, owner, name, description, private, default_branch, now, now, {})
        self._records[_key(owner, name)] = asdict(repository)
        self._refs[str(number)] = {"refs": {}, "bundle": ""}
        return repository

    def change(self, repository: Repository, **fields: Json) -> Repository:
        key = _key(repository.owner, repository.name)
        self._records[key] = {**self._records[key], **fields}
        if "default_branch" in fields and repository.id in self._loaded:
            self._point_head(repository.id, fields["default_branch"])
        return Repository(**self._records[key])

    def delete(self, repository: Repository) -> None:
        del self._records[_key(repository.owner, repository.name)]
        stored_refs = self._refs.pop(str(repository.id), None)
        if stored_refs and stored_refs["bundle"]:
            self._context.blobs.delete(stored_refs["bundle"])
        self._loaded.discard(repository.id)
        self._unsaved_refs.pop(repository.id, None)
        self._bundles.forget(repository.id)

    def refs(self, repository: Repository) -> Mapping[str, str]:
        """The refs, sorted by name; they are known without unpacking the repository."""
        if repository.id in self._unsaved_refs:
            return dict(sorted(self._unsaved_refs[repository.id].items()))
        stored_refs = self._refs.get(str(repository.id))
        refs = seed_repositories.seed_repository(repository.name).refs if stored_refs is None else stored_refs["refs"]
        return dict(sorted(refs.items()))

    def path(self, repository: Repository) -> Path:
        """The folder of the bare repository; it is unpacked first if necessary."""
        path = self._path(repository.id)
        if repository.id not in self._loaded:
            self._load(repository, path)
            self._loaded.add(repository.id)
        return path

    def refresh_refs(self, repository: Repository) -> None:
        """Read the refs again after a change in the folder; does nothing when the repository was deleted meanwhile."""
        if repository.id not in self._loaded:
            return
        ref_format = "--format=%(refname) %(objectname)"
        output = self._git.run(self.path(repository), "for-each-ref", ref_format, bounds=WRITE).decode()
        refs = dict(line.rsplit(" ", 1) for line in output.splitlines())
        if refs == self.refs(repository):
            return
        self._unsaved_refs[repository.id] = refs
        self.change(repository, updated=self._context.clock.now())

    def save(self) -> None:
        """Store pushed objects and their refs in the state file, under a new name each time.

        Raises ``Unavailable``, as writing the state does.
        """
        for number, refs in list(self._unsaved_refs.items()):
            bundle = self._store_bundle(number) if refs else ""
            if bundle is None:
                continue
            stored_refs = self._refs.get(str(number))
            if stored_refs and stored_refs["bundle"]:
                self._context.blobs.delete(stored_refs["bundle"])
            self._refs[str(number)] = {"refs": refs, "bundle": bundle}
            del self._unsaved_refs[number]
        if self._ended:
            self._remove_folders()

    def _store_bundle(self, number: int) -> str | None:
        """Store a bundle and return its name; None when it cannot be made yet."""
        bundle = self._bundles.create(number, self._path(number))
        if bundle is None:
            return None
        count = self._numbers.get("bundle", 0) + 1
        self._numbers["bundle"] = count
        name = f"vcs/{number}/{count}"
        self._context.blobs.put(name, bundle)
        return name

    def _on_stop(self) -> None:
        """The site stops. The last pushes are still stored after this, if the site has a state file."""
        self._ended = True
        if not self._unsaved_refs:
            self._remove_folders()

    def _remove_folders(self) -> None:
        """Delete the folders; the state file is not changed."""
        self._loaded.clear()
        self._unsaved_refs.clear()
        self._git.end()

    def _path(self, number: int) -> Path:
        """By number: a name that a client chose is never used as a file name."""
        return self._git.folder / "repositories" / f"{number}.git"

    def _load(self, repository: Repository, path: Path) -> None:
        self._git.make(path)
        stored_refs = self._refs.get(str(repository.id))
        if stored_refs is None:
            _write_loose(path, seed_repositories.seed_repository(repository.name).objects)
        elif stored_refs["bundle"]:
            file = path / "bundle"
            file.write_bytes(self._context.blobs.get(stored_refs["bundle"]) or b"")
            self._git.run(path, "bundle", "unbundle", str(file), bounds=WRITE)
            file.unlink()
        commands = "".join(f"create {name} {sha}\n" for name, sha in self.refs(repository).items())
        self._git.run(path, "update-ref", "--stdin", stdin=commands.encode(), bounds=WRITE)
        self._point_head(repository.id, repository.default_branch)

    def _point_head(self, number: int, branch: str) -> None:
        self._git.run(self._path(number), "symbolic-ref", "HEAD", HEADS + branch)


def _key(owner: str, name: str) -> str:
    return f"{owner}/{name}".lower()


def _seed() -> dict[str, Json]:
    """The repositories of the first day; cf-gitea-import protects the branches that it imported."""
    seed = {}
    for number, name in enumerate(seed_repositories.names(), 1):
        content = seed_repositories.seed_repository(name)
        rules = {branch: {"enable_push": False, "created": seed_repositories.FIRST_DAY} for branch in content.protected}
        repository = Repository(
            id=number,
            owner=seed_repositories.ORGANIZATION,
            name=name,
            description=content.description,
            private=True,
            default_branch=seed_repositories.MAIN,
            created=seed_repositories.FIRST_DAY,
            updated=seed_repositories.FIRST_DAY,
            protected=rules,
        )
        seed[_key(repository.owner, name)] = asdict(repository)
    return seed


def _write_loose(path: Path, objects: Mapping[str, tuple[str, bytes]]) -> None:
    for name, (kind, content) in objects.items():
        file = path / "objects" / name[:2] / name[2:]
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(framed(kind, content)))
