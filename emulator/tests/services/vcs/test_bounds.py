"""Small pushes with large contents: the amount that is read, and the delay of other clients, are bounded."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from csm_emulator.seed_data.git_objects import Objects
from csm_emulator.services.vcs.git import pre_receive_hook as hook
from csm_emulator.services.vcs.git.git import Bounds, Git, LimitExceeded
from csm_emulator.services.vcs.git.objects import Signature, _signature
from services.vcs.gitea_client import Gitea
from services.vcs.pushing import BEA, push

CSM = "/repos/cray/csm-config-management"


@pytest.fixture
def repository(gitea: Gitea) -> str:
    """An empty repository."""
    assert gitea.ask("POST", "/orgs/cray/repos", {"name": "made"}).status == 201
    return "cray/made"


def pushed(gitea: Gitea, files: dict[str, bytes], branch: str = "main") -> str:
    objects = Objects()
    commit = objects.commit(objects.tree(files), [], BEA, 1_700_000_000, "m")
    assert f"ok refs/heads/{branch}".encode() in push(gitea, "cray/made", branch, commit, objects)
    return commit


def test_a_huge_tree_is_returned_up_to_the_bound(gitea: Gitea, repository: str) -> None:
    """Seven folders, each ten times in the next: a few hundred bytes that contain ten million files."""
    objects = Objects()
    at, mode = objects.add("blob", b"x"), b"100644"
    for _ in range(7):
        entries = (mode + b" %d\0" % number + bytes.fromhex(at) for number in range(10))
        at, mode = objects.add("tree", b"".join(entries)), b"40000"
    push(gitea, repository, "main", objects.commit(at, [], BEA, 1, "bomb"), objects)
    place = f"/repos/{repository}/git/trees/main?recursive=true"
    first = gitea.get(place)
    assert (len(first["tree"]), first["truncated"]) == (1000, True)
    last = -(-first["total_count"] // 1000)
    assert gitea.get(f"{place}&page={last}")["truncated"] is True
    # A client that follows the pages until the last comes to an end.
    beyond = gitea.get(f"{place}&page={last + 1}")
    assert (beyond["tree"], beyond["truncated"]) == ([], False)


def test_a_tree_is_read_once_for_all_its_pages(gitea: Gitea, repository: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"f{number:02}": b"%d" % number for number in range(25)}
    commit = pushed(gitea, files)
    calls: list[str] = []
    beginning = Git.run_truncated

    def spied(git: Git, path: Path, *args: str, **more: Any) -> tuple[bytes, bool]:
        calls.append(args[0])
        return beginning(git, path, *args, **more)

    monkeypatch.setattr(Git, "run_truncated", spied)
    pages = [gitea.get(f"/repos/{repository}/git/trees/{commit}?per_page=10&page={page}") for page in (1, 2, 3)]
    assert [entry["path"] for page in pages for entry in page["tree"]] == sorted(files)
    assert [page["truncated"] for page in pages] == [True, True, False]
    assert calls.count("ls-tree") == 1


@pytest.mark.parametrize("path", ["commits", "contents", "git/refs", "raw/site.yml"])
def test_what_is_too_much_to_read_is_a_plain_error(gitea: Gitea, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gitea.get(f"{CSM}/branches/main")
    beginning = Git.run_truncated

    def narrow(git: Git, folder: Path, *args: str, **more: Any) -> tuple[bytes, bool]:
        return beginning(git, folder, *args, **{**more, "bounds": Bounds(20.0, 0)})

    monkeypatch.setattr(Git, "run_truncated", narrow)
    reply = gitea.ask("GET", f"{CSM}/{path}")
    assert reply.status == 500
    assert "more than" in reply.json()["message"]


def test_git_ends_with_its_children(tmp_path: Path) -> None:
    git, note = Git(), tmp_path / "pid"
    alias = f"alias.talk=!sleep 600 & echo $! > {note}; yes"
    with pytest.raises(LimitExceeded, match="wrote more"):
        git.run(tmp_path, "-c", alias, "talk", bounds=Bounds(60.0, 10_000))
    child = Path(f"/proc/{note.read_text().strip()}/stat")
    deadline = time.monotonic() + 20
    while child.exists() and ") Z " not in child.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not child.exists() or ") Z " in child.read_text()
    git.end()


def test_a_silent_git_is_ended(tmp_path: Path) -> None:
    git = Git()
    with pytest.raises(LimitExceeded, match=r"took more than 0\.01 s"):
        git.run(tmp_path, "-c", "alias.rest=!sleep 600", "rest", bounds=Bounds(0.01, 10))
    git.end()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (b"Bea <bea@site.local> 17 +0130", Signature("Bea", "bea@site.local", 17, "+0130")),
        (b"Bea  <> 0017 -0000", Signature("Bea ", "", 17, "-0000")),
        (b"a<b>c <d> 5 +0000", Signature("a", "b>c <d", 5, "+0000")),
        (b"<a@b> 000 +0000", Signature("", "a@b", 0, "+0000")),
        (b"<" * 200_000, Signature("", "", 0, "+0000")),
        (b"a <b> " + b"0" * 200_000 + b"x", Signature("", "", 0, "+0000")),
        (b"a b> 5 +0000", Signature("", "", 0, "+0000")),
        (b"", Signature("", "", 0, "+0000")),
    ],
)
def test_signatures_are_read_with_patience_but_quickly(text: bytes, read: Signature) -> None:
    assert _signature(text) == read


def test_a_moment_without_an_end_is_none(gitea: Gitea, repository: str) -> None:
    objects = Objects()
    signed = b"a <a@b> " + b"9" * 5_000 + b" +0000"
    tree = objects.tree({"f": b"x"}).encode()
    commit = objects.add("commit", b"tree " + tree + b"\nauthor " + signed + b"\ncommitter " + signed + b"\n\nm")
    push(gitea, repository, "main", commit, objects)
    assert gitea.get(f"/repos/{repository}/branches/main")["commit"]["timestamp"] == "0001-01-01T00:00:00Z"


def test_changes_of_commits_are_against_the_first_parent(gitea: Gitea, repository: str) -> None:
    objects = Objects()
    root = objects.commit(objects.tree({"a": b"1\n"}), [], BEA, 1, "root")
    side = objects.commit(objects.tree({"a": b"1\n", "b\tc": b"1\n2\n"}), [root], BEA, 2, "side")
    same = objects.commit(objects.tree({"a": b"1\n"}), [root], BEA, 3, "same")
    merge = objects.commit(objects.tree({"a": b"1\n", "b\tc": b"1\n2\n"}), [same, side], BEA, 4, "merge")
    push(gitea, repository, "main", merge, objects)
    changes = {
        commit["commit"]["message"]: ([file["filename"] for file in commit["files"]], commit["stats"]["additions"])
        for commit in gitea.get(f"/repos/{repository}/commits")
    }
    assert changes == {"root": (["a"], 1), "side": (["b\tc"], 2), "same": ([], 0), "merge": (["b\tc"], 2)}


@pytest.mark.parametrize(
    ("bound", "lowered", "message"),
    [
        (hook.LARGEST_REPOSITORY, 3 << 20, "the repository would hold 4 MB unpacked, and may hold"),
        (hook.MOST_OBJECTS, 2, "the repository would hold 3 objects, and may hold 2; push fewer"),
    ],
)
def test_a_push_that_unpacks_to_too_much_is_refused(
    gitea: Gitea, repository: str, bound: int, lowered: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csm_emulator.services.vcs.git.git.HOOK", hook.HOOK.replace(f" {bound}", f" {lowered}"))
    objects = Objects()
    commit = objects.commit(objects.tree({"f": bytes(4 << 20)}), [], BEA, 1, "m")
    answer = push(gitea, repository, "main", commit, objects)
    assert b"Gitea: " + message.encode() in answer
    assert b"pre-receive hook declined" in answer
    assert gitea.get(f"/repos/{repository}")["empty"] is True


def test_what_was_pushed_stays_packed(
    gitea: Gitea, repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pack can be copied into the state file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pushed(gitea, {"f": b"x"})
    assert len(list(tmp_path.glob("csm-emulator-vcs-*/repositories/*.git/objects/pack/*.pack"))) == 1
