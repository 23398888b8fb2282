"""The repositories: records and refs on tables, what they hold as bundles in the state file; folders are a cache."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.seed_data import repositories as furniture
from csm_emulator.seed_data.git_objects import framed
from csm_emulator.services.vcs.git.bundles import Bundles
from csm_emulator.services.vcs.git.git import WRITE, Git

HEADS, TAGS = "refs/heads/", "refs/tags/"


@dataclass(frozen=True, slots=True)
class Repository:
    """As it is known now; ``change`` of ``Repositories`` makes another."""

    id: int
    owner: str
    name: str
    description: str
    private: bool
    default_branch: str
    created: float
    updated: float
    protected: Mapping[str, Json]
    """Rules by the branch that they are for."""

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


class Repositories:
    def __init__(self, context: Context, git: Git) -> None:
        self._context = context
        self._git = git
        self._records = context.tables.open("vcs.repositories", _seed())
        self._refs = context.tables.open("vcs.refs")
        self._numbers = context.tables.open("vcs.numbers", {"repository": len(furniture.names())})
        self._bundles = Bundles(git)
        self._loaded: set[int] = set()
        self._moved: dict[int, dict[str, str]] = {}
        """Refs that are not kept yet. They are, with what they lead to: never a ref without its commit."""
        self._ended = False
        context.before_keep.append(self.keep)
        context.at_end.append(self._end)

    def __iter__(self) -> Iterator[Repository]:
        return (Repository(**record) for record in self._records.values())

    def find(self, owner: str, name: str) -> Repository | None:
        """As Gitea finds it: letters of any case."""
        record = self._records.get(_key(owner, name))
        return Repository(**record) if record else None

    def create(self, owner: str, name: str, description: str, private: bool, default_branch: str) -> Repository:
        number = self._numbers["repository"] + 1
        self._numbers["repository"] = number
        now = self._context.clock.now()
        made = Repository(number, owner, name, description, private, default_branch, now, now, {})
        self._records[_key(owner, name)] = asdict(made)
        self._refs[str(number)] = {"refs": {}, "bundle": ""}
        return made

    def change(self, repository: Repository, **facts: Json) -> Repository:
        key = _key(repository.owner, repository.name)
        self._records[key] = {**self._records[key], **facts}
        if "default_branch" in facts and repository.id in self._loaded:
            self._point_head(repository.id, facts["default_branch"])
        return Repository(**self._records[key])

    def delete(self, repository: Repository) -> None:
        del self._records[_key(repository.owner, repository.name)]
        kept = self._refs.pop(str(repository.id), None)
        if kept and kept["bundle"]:
            self._context.blobs.delete(kept["bundle"])
        self._loaded.discard(repository.id)
        self._moved.pop(repository.id, None)
        self._bundles.forget(repository.id)

    def refs(self, repository: Repository) -> Mapping[str, str]:
        """By name, in order; nothing has to be unpacked for it."""
        if repository.id in self._moved:
            return dict(sorted(self._moved[repository.id].items()))
        kept = self._refs.get(str(repository.id))
        refs = furniture.furnished(repository.name).refs if kept is None else kept["refs"]
        return dict(sorted(refs.items()))

    def path(self, repository: Repository) -> Path:
        """The bare repository, unpacked if need be."""
        path = self._path(repository.id)
        if repository.id not in self._loaded:
            self._load(repository, path)
            self._loaded.add(repository.id)
        return path

    def touched(self, repository: Repository) -> None:
        """Somebody worked in its folder: see what came of it. A repository that is gone meanwhile stays gone."""
        if repository.id not in self._loaded:
            return
        told = "--format=%(refname) %(objectname)"
        found = self._git.run(self.path(repository), "for-each-ref", told, bounds=WRITE).decode()
        refs = dict(line.rsplit(" ", 1) for line in found.splitlines())
        if refs == self.refs(repository):
            return
        self._moved[repository.id] = refs
        self.change(repository, updated=self._context.clock.now())

    def keep(self) -> None:
        """What was pushed goes into the state file, under a new name each time: its refs are written with it.

        Raises ``Unavailable``, as keeping itself does.
        """
        for number, refs in list(self._moved.items()):
            bundle = self._bundled(number) if refs else ""
            if bundle is None:
                continue
            kept = self._refs.get(str(number))
            if kept and kept["bundle"]:
                self._context.blobs.delete(kept["bundle"])
            self._refs[str(number)] = {"refs": refs, "bundle": bundle}
            del self._moved[number]
        if self._ended:
            self._leave()

    def _bundled(self, number: int) -> str | None:
        """The name under which the bundle is kept; None when there is none yet."""
        made = self._bundles.made(number, self._path(number))
        if made is None:
            return None
        count = self._numbers.get("bundle", 0) + 1
        self._numbers["bundle"] = count
        name = f"vcs/{number}/{count}"
        self._context.blobs.put(name, made)
        return name

    def _end(self) -> None:
        """What was pushed last is still kept after this, where anything is."""
        self._ended = True
        if not self._moved:
            self._leave()

    def _leave(self) -> None:
        """The folders go; what is in the state file stays."""
        self._loaded.clear()
        self._moved.clear()
        self._git.end()

    def _path(self, number: int) -> Path:
        """By number: no name that a client chose is ever a name of a file."""
        return self._git.folder / "repositories" / f"{number}.git"

    def _load(self, repository: Repository, path: Path) -> None:
        self._git.make(path)
        kept = self._refs.get(str(repository.id))
        if kept is None:
            _write_loose(path, furniture.furnished(repository.name).objects)
        elif kept["bundle"]:
            file = path / "bundle"
            file.write_bytes(self._context.blobs.get(kept["bundle"]) or b"")
            self._git.run(path, "bundle", "unbundle", str(file), bounds=WRITE)
            file.unlink()
        orders = "".join(f"create {name} {at}\n" for name, at in self.refs(repository).items())
        self._git.run(path, "update-ref", "--stdin", given=orders.encode(), bounds=WRITE)
        self._point_head(repository.id, repository.default_branch)

    def _point_head(self, number: int, branch: str) -> None:
        self._git.run(self._path(number), "symbolic-ref", "HEAD", HEADS + branch)


def _key(owner: str, name: str) -> str:
    return f"{owner}/{name}".lower()


def _seed() -> dict[str, Json]:
    """cf-gitea-import protects what it imported."""
    seed = {}
    for number, name in enumerate(furniture.names(), 1):
        given = furniture.furnished(name)
        rules = {branch: {"enable_push": False, "created": furniture.FIRST_DAY} for branch in given.protected}
        made = Repository(
            id=number,
            owner=furniture.ORGANIZATION,
            name=name,
            description=given.description,
            private=True,
            default_branch=furniture.MAIN,
            created=furniture.FIRST_DAY,
            updated=furniture.FIRST_DAY,
            protected=rules,
        )
        seed[_key(made.owner, name)] = asdict(made)
    return seed


def _write_loose(path: Path, objects: Mapping[str, tuple[str, bytes]]) -> None:
    for name, (kind, content) in objects.items():
        file = path / "objects" / name[:2] / name[2:]
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(framed(kind, content)))
