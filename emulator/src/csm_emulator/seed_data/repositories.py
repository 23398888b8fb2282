"""The initial git repositories of a site, in the organization ``cray``: Ansible content for the layers of CFS.

A product's content is imported to a branch of its own, ``cray/<product>/<version>``, as cf-gitea-import does it, and
to ``main``; ``integration`` has the site's own settings on top. Commit ids depend on nothing but the content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from csm_emulator.seed_data.git_objects import Author, Objects

ORGANIZATION = "cray"
MAIN, INTEGRATION = "main", "integration"
FIRST_DAY = 1_735_725_600
"""2025-01-01T10:00:00Z."""
DAY = 86_400
IMPORTER = Author("crayvcs", "crayvcs@cray.local")
OPERATOR = Author("Site operator", "operator@site.local")
_SITE = "+site/"
"""Folder with the site's changes of a product's files."""


@dataclass(frozen=True, slots=True)
class Product:
    name: str
    version: str
    repository: str
    content: str
    """The version of the content, in the name of the import branch; it may differ from the product's."""
    earlier: str = ""
    """The previous version of the content."""

    @property
    def import_branch(self) -> str:
        return f"{ORGANIZATION}/{self.name}/{self.content}"


PRODUCTS = (
    Product("csm", "1.6.1", "csm-config-management", "1.26.0", "1.25.3"),
    Product("uss", "1.2.1", "uss-config-management", "1.2.1", "1.1.0"),
    Product(
        "slingshot-host-software", "12.0.1", "slingshot-host-software-config-management", "12.0.1-244-csm", "11.1.0"
    ),
    Product("slurm", "2.1.2", "slurm-config-management", "2.1.2"),
    Product("cpe", "24.11.0", "cpe-config-management", "24.11.0"),
)
SITES_OWN = ("site-config-management",)


@dataclass(frozen=True, slots=True)
class SeedRepository:
    """One repository: its objects by id, and its refs."""

    name: str
    description: str
    objects: Mapping[str, tuple[str, bytes]]
    refs: Mapping[str, str]
    protected: tuple[str, ...]
    """Protected branches: the imported ones."""


def names() -> tuple[str, ...]:
    return (*(product.repository for product in PRODUCTS), *SITES_OWN)


@cache
def seed_repository(name: str) -> SeedRepository:
    """The repository of this name; raises ``KeyError`` if it is not in ``names``."""
    product = next((product for product in PRODUCTS if product.repository == name), None)
    if product is not None:
        return _of_product(product)
    if name not in SITES_OWN:
        raise KeyError(name)
    return _of_site(name)


def commit_of(name: str, branch: str) -> str:
    """The initial commit of a branch."""
    return seed_repository(name).refs[f"refs/heads/{branch}"]


def _of_product(product: Product) -> SeedRepository:
    objects = Objects()
    files = _files(product.repository)
    ours = {path: text for path, text in files.items() if not path.startswith(_SITE)}
    theirs = {path[len(_SITE) :]: text for path, text in files.items() if path.startswith(_SITE)}
    moment, commit, imported = FIRST_DAY, "", {}
    for version in filter(None, (product.earlier, product.content)):
        ours["vars/product.yml"] = f'---\nproduct_name: {product.name}\nproduct_version: "{version}"\n'.encode()
        message = f"Import of '{product.name}' product version {version}\n"
        commit = objects.commit(objects.tree(ours), filter(None, (commit,)), IMPORTER, moment, message)
        imported[f"{ORGANIZATION}/{product.name}/{version}"] = commit
        moment += 30 * DAY
    settings = commit
    if theirs:
        settings = objects.commit(
            objects.tree({**ours, **theirs}), (commit,), OPERATOR, moment, "Settings of this site\n"
        )
    branches = {**imported, INTEGRATION: settings, MAIN: commit}
    refs = {f"refs/heads/{branch}": at for branch, at in branches.items()} | {f"refs/tags/{product.content}": commit}
    return SeedRepository(product.repository, "", objects.by_name, refs, tuple(imported))


def _of_site(name: str) -> SeedRepository:
    objects = Objects()
    tree = objects.tree(_files(name))
    commit = objects.commit(tree, (), OPERATOR, FIRST_DAY + 31 * DAY, "What this site adds\n")
    refs = {f"refs/heads/{branch}": commit for branch in (INTEGRATION, MAIN)}
    return SeedRepository(name, "The last layer of this site's configurations", objects.by_name, refs, ())


def _files(repository: str) -> dict[str, bytes]:
    folder = resources.files("csm_emulator.seed_data").joinpath("playbooks", repository)
    return dict(sorted(_walk(folder, "")))


def _walk(folder: Traversable, above: str) -> list[tuple[str, bytes]]:
    files: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        path = above + entry.name
        files += _walk(entry, f"{path}/") if entry.is_dir() else [(path, entry.read_bytes())]
    return files
