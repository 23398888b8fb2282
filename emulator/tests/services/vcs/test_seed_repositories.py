"""The repositories of a new site: the same on every machine, and valid for git."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from csm_emulator.seed_data import repositories
from csm_emulator.seed_data.git_objects import Objects, framed

GIT = shutil.which("git") or "git"


def git(folder: Path, *args: str) -> str:
    completed = subprocess.run([GIT, "-C", str(folder), *args], capture_output=True, text=True, check=True)
    return completed.stdout.strip()


@pytest.mark.parametrize("name", repositories.names())
def test_git_finds_every_object_sound(name: str, tmp_path: Path) -> None:
    objects = repositories.seed_repository(name)
    subprocess.run([GIT, "init", "-q", "--bare", str(tmp_path)], check=True)
    for sha, (kind, content) in objects.objects.items():
        file = tmp_path / "objects" / sha[:2] / sha[2:]
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(framed(kind, content)))
    for ref, at in objects.refs.items():
        git(tmp_path, "update-ref", ref, at)
    assert git(tmp_path, "fsck", "--strict", "--full", "--unreachable") == ""
    files = git(tmp_path, "ls-tree", "-r", "--name-only", "refs/heads/integration").splitlines()
    assert "site.yml" in files
    assert len(files) < 30


def test_folders_sort_as_git_sorts_them(tmp_path: Path) -> None:
    """``a`` as a folder sorts behind ``a-b`` and ``a.b``."""
    files = {"a/x": b"1", "a-b": b"2", "a.b": b"3", "a0": b"4"}
    git(tmp_path, "init", "-q")
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(text)
    git(tmp_path, "add", "-A")
    assert Objects().tree(files) == git(tmp_path, "write-tree")


def test_ids_follow_from_the_content_alone() -> None:
    assert repositories.commit_of("csm-config-management", "cray/csm/1.26.0") == (
        "730c85a08dabd718de6da3c4dda964b754120b7d"
    )
    assert repositories.commit_of("site-config-management", "main") == "1d0888ce16572731786912d75765260c10fe0007"


def test_plays_are_plays() -> None:
    """A play has hosts, its roles exist, and every task has a name."""
    for name in repositories.names():
        files = repositories._files(name)
        paths = {path.removeprefix("+site/") for path in files}
        for path, text in files.items():
            document: Any = yaml.safe_load(text) if path.endswith(".yml") else None
            if "/tasks/" in path or "/handlers/" in path:
                assert all(task["name"] for task in document), path
            elif "/" not in path and path.endswith(".yml"):
                _check_play(document, paths, f"{name}/{path}")


def _check_play(plays: list[dict[str, object]], paths: set[str], where: str) -> None:
    for play in plays:
        if "import_playbook" in play:
            assert play["import_playbook"] in paths, where
            continue
        assert play["hosts"], where
        roles = play["roles"]
        assert isinstance(roles, list)
        for role in roles:
            assert f"roles/{role['role']}/tasks/main.yml" in paths, where


def test_products_know_their_branch() -> None:
    for product in repositories.PRODUCTS:
        at = repositories.commit_of(product.repository, product.import_branch)
        assert at == repositories.commit_of(product.repository, "main")
        assert product.import_branch in repositories.seed_repository(product.repository).protected
