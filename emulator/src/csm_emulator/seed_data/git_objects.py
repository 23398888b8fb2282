"""Git objects and their ids, computed without git; they depend only on the content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

FILE, FOLDER = "100644", "40000"


@dataclass(frozen=True, slots=True)
class Author:
    name: str
    email: str


@dataclass(slots=True)
class Objects:
    """Kind and content of objects, by id."""

    by_name: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def add(self, kind: str, content: bytes) -> str:
        name = hashlib.sha1(framed(kind, content), usedforsecurity=False).hexdigest()
        self.by_name[name] = (kind, content)
        return name

    def tree(self, files: Mapping[str, bytes]) -> str:
        """Adds the tree of files, given by path; returns its id."""
        entries: list[tuple[bytes, str, str]] = []
        for name in {path.split("/")[0] for path in files}:
            if name in files:
                entries.append((name.encode(), FILE, self.add("blob", files[name])))
            else:
                below = {path[len(name) + 1 :]: text for path, text in files.items() if path.startswith(f"{name}/")}
                entries.append((name.encode(), FOLDER, self.tree(below)))
        return self.add("tree", b"".join(_entry(*entry) for entry in sorted(entries, key=_order)))

    def commit(self, tree: str, parents: Iterable[str], author: Author, moment: int, message: str) -> str:
        signed = f"{author.name} <{author.email}> {moment} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {signed}", f"committer {signed}", "", message]
        return self.add("commit", "\n".join(lines).encode())


def framed(kind: str, content: bytes) -> bytes:
    """The bytes that are hashed, which are also the content of a loose object."""
    return f"{kind} {len(content)}\0".encode() + content


def _entry(name: bytes, mode: str, of: str) -> bytes:
    return mode.encode() + b" " + name + b"\0" + bytes.fromhex(of)


def _order(entry: tuple[bytes, str, str]) -> bytes:
    """A folder sorts as if its name ended in a slash."""
    return entry[0] + (b"/" if entry[1] == FOLDER else b"")
