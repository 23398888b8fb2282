"""Storage of repositories, and the others when one repository cannot be stored."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from csm_emulator.errors import Unavailable
from csm_emulator.services.vcs.git import bundles
from csm_emulator.services.vcs.git.git import Git, LimitExceeded
from service_client import open_site, reopen
from services.vcs.gitea_client import Gitea

CSM, SLURM = "/repos/cray/csm-config-management", "/repos/cray/slurm-config-management"


def write(gitea: Gitea, repo: str, name: str) -> None:
    """A file on a branch of its own."""
    content = base64.b64encode(name.encode()).decode()
    reply = gitea.ask("POST", f"{repo}/contents/{name}", {"content": content, "new_branch": name})
    assert reply.status == 201, reply.body


def status(gitea: Gitea, repo: str, branch: str) -> int:
    return gitea.ask("GET", f"{repo}/raw/{branch}?ref={branch}").status


class Tries(list[Path]):
    """The failed attempts to bundle the first repository."""

    over = False


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> Tries:
    attempts = Tries()
    run = Git.run

    def failing(git: Git, path: Path, *args: str, **more: Any) -> bytes:
        if args[0] == "bundle" and args[1] == "create" and path.name == "1.git" and not attempts.over:
            attempts.append(path)
            raise LimitExceeded("git bundle took more than 5 s")
        return run(git, path, *args, **more)

    monkeypatch.setattr(Git, "run", failing)
    return attempts


def test_one_that_cannot_be_kept_leaves_the_rest(gitea: Gitea, tries: Tries, caplog: pytest.LogCaptureFixture) -> None:
    write(gitea, CSM, "lost")
    write(gitea, SLURM, "kept")
    gitea.ask("POST", "/orgs", {"username": "Site"})
    for _ in range(bundles.FIRST_PAUSE + 1):
        gitea.site.save()
    assert (len(tries), len(caplog.records)) == (1, 1)
    assert "VCS repository 1 cannot be saved: git bundle took more than 5 s" in caplog.text
    gitea.site.save()
    assert (len(tries), len(caplog.records)) == (2, 1)
    assert status(gitea, CSM, "lost") == 200
    reopened_gitea = Gitea(reopen(gitea.site))
    assert status(reopened_gitea, SLURM, "kept") == 200
    assert reopened_gitea.ask("GET", "/orgs/site").status == 200
    # As it was before: no ref without its commit.
    assert status(reopened_gitea, CSM, "lost") == 404
    assert status(reopened_gitea, CSM, "main") == 404
    assert reopened_gitea.ask("GET", f"{CSM}/branches/main").status == 200


def test_what_could_not_be_kept_is_kept_later(gitea: Gitea, tries: Tries) -> None:
    write(gitea, CSM, "late")
    gitea.site.save()
    assert len(tries) == 1
    tries.over = True
    for _ in range(bundles.FIRST_PAUSE):
        gitea.site.save()
    assert status(Gitea(reopen(gitea.site)), CSM, "late") == 200


def test_a_full_disk_takes_no_bundle_away(gitea: Gitea, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old bundle is deleted only after the new one is stored; the rest is written, and the error is logged."""
    write(gitea, CSM, "first")
    gitea.site.save()
    write(gitea, CSM, "second")
    gitea.ask("POST", "/orgs", {"username": "Site"})

    def full(key: str, data: bytes) -> None:
        raise Unavailable(f"no room for {key} of {len(data)} bytes")

    with monkeypatch.context() as without_room:
        without_room.setattr(type(gitea.site.context.blobs), "put", lambda _, key, data: full(key, data))
        with pytest.raises(Unavailable, match="no room for vcs/1/2"):
            gitea.site.save()
    gitea.site.state_file.close()
    reopened_gitea = Gitea(open_site(gitea.site.state_file.path, gitea.site.machine.topology.name))
    assert (status(reopened_gitea, CSM, "first"), status(reopened_gitea, CSM, "second")) == (200, 404)
    assert reopened_gitea.ask("GET", "/orgs/site").status == 200


def test_what_was_pushed_last_is_kept_at_the_end(gitea: Gitea) -> None:
    """The end of a machine: first it is closed, then its state is stored."""
    write(gitea, CSM, "last")
    gitea.site.close()
    assert status(Gitea(reopen(gitea.site)), CSM, "last") == 200
