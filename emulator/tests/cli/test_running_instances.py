"""The files that list running emulators, in a folder in which other users may plant files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from csm_emulator.cli import running_instances
from csm_emulator.errors import InvalidInput, NotFound


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder is like /tmp, for a user without a folder of their own."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv(running_instances.ENVIRONMENT, raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    return tmp_path / f"csm-emulators-{os.getuid()}"


def test_who_runs_is_found_until_it_ends(shared: Path) -> None:
    with running_instances.registered() as note:
        with pytest.raises(NotFound):
            running_instances.find(None)
        note("tiny", "http://127.0.0.1:5")
        assert running_instances.find(None) == "http://127.0.0.1:5"
        assert shared.stat().st_mode & 0o777 == 0o700
    assert list(shared.iterdir()) == []


def test_a_planted_link_is_not_followed(shared: Path, tmp_path: Path) -> None:
    """The file would make the emulator delete other files of the user."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letters.json").write_text("{}")
    shared.symlink_to(mine)
    with pytest.raises(NotFound):
        running_instances.find(None)
    with pytest.raises(InvalidInput, match="is not private"), running_instances.registered():
        pass
    assert [file.name for file in mine.iterdir()] == ["letters.json"]


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_may_write_to_is_not_used(shared: Path, mode: int) -> None:
    shared.mkdir()
    shared.chmod(mode)
    with pytest.raises(InvalidInput, match="is not private"), running_instances.registered():
        pass


@pytest.mark.parametrize("text", ["", "[]", "1", '{"machine": 1}', "null"])
def test_notes_that_are_none_are_passed_over(shared: Path, text: str) -> None:
    shared.mkdir(mode=0o700)
    (shared / f"{os.getpid()}.json").write_text(text)
    with pytest.raises(NotFound):
        running_instances.find(None)
