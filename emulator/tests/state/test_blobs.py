"""Bytes beside the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.errors import Unavailable
from csm_emulator.state import blobs as module
from csm_emulator.state.blobs import Blobs
from csm_emulator.state.file import StateFile
from service_client import open_site, reopen


def test_they_are_read_back_before_and_after_a_restart(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    site.context.blobs.put("a", b"\0\xff")
    site.context.blobs.put("b", b"two")
    site.context.blobs.delete("b")
    assert (site.context.blobs.get("a"), site.context.blobs.get("b")) == (b"\0\xff", None)
    site = reopen(site)
    assert (site.context.blobs.get("a"), site.context.blobs.get("b")) == (b"\0\xff", None)
    site.context.blobs.delete("a")
    site = reopen(site)
    assert site.context.blobs.get("a") is None
    site.state_file.close()


def test_a_part_of_one_is_the_same_before_and_after_it_is_written(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    site.context.blobs.put("a", b"0123456789")
    for _ in range(2):
        parts = [site.context.blobs.part("a", *span) for span in ((0, 10), (3, 5), (8, 99), (50, 60), (5, 3))]
        assert parts == [b"0123456789", b"34", b"89", b"", b""]
        assert site.context.blobs.part("b", 0, 1) is None
        site.save()
    site.context.blobs.delete("a")
    assert site.context.blobs.part("a", 0, 1) is None
    site.state_file.close()


def test_what_was_not_written_down_is_gone(tmp_path: Path) -> None:
    state_file = StateFile(tmp_path / "state")
    Blobs(state_file).put("a", b"lost")
    assert Blobs(state_file).get("a") is None
    state_file.close()


def test_many_bytes_do_not_wait_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 1000)
    state_file = StateFile(tmp_path / "state")
    blobs = Blobs(state_file)
    for number in range(100):
        blobs.put(str(number), bytes(100))
    assert sum(len(data or b"") for _, data in blobs.take_changes()) <= 1000
    assert Blobs(state_file).get("0") == bytes(100)
    state_file.close()


def test_what_could_not_be_written_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = open_site(tmp_path / "state")
    site.context.blobs.put("a", b"first")

    def full(*_: object) -> None:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(site.state_file, "write", full)
        with pytest.raises(Unavailable):
            site.save()
    site = reopen(site)
    assert site.context.blobs.get("a") == b"first"
    site.state_file.close()


def test_a_full_disk_fills_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 1000)
    state_file = StateFile(tmp_path / "state")
    blobs = Blobs(state_file)
    blobs.put("a", b"first")

    def full(*_: object) -> None:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(state_file, "write", full)
        for key in ("a", "b", "c"):
            with pytest.raises(Unavailable):
                blobs.put(key, bytes(2000))
    assert (blobs.get("a"), blobs.get("b")) == (b"first", None)
    assert blobs.take_changes() == [("a", b"first")]
    state_file.close()


def test_a_saved_state_holds_them(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    site.context.blobs.put("a", b"first")
    site.save()
    site.state_file.copy_to(tmp_path / "copy")
    site.context.blobs.put("a", b"second")
    site.save()
    site.state_file.replace_with(tmp_path / "copy")
    assert Blobs(site.state_file).get("a") == b"first"
    site.state_file.close()
