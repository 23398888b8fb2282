"""Every character that controls a terminal or is invisible is escaped."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest

from canton.domain.terminal_text import harmless, is_blank, is_harmless, json_escaped, one_line

# Unicode 16, DerivedCoreProperties.txt, Default_Ignorable_Code_Point.
IGNORABLE = """
00AD 034F 061C 115F-1160 17B4-17B5 180B-180D 180E 180F 200B-200F 202A-202E 2060-2064 2065 2066-206F 3164 FE00-FE0F FEFF
FFA0 FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000 E0001 E0002-E001F E0020-E007F E0080-E00FF E0100-E01EF E01F0-E0FFF
"""
BLANK_BRAILLE = "\u2800"


def ignorable() -> set[str]:
    characters = set()
    for entry in IGNORABLE.split():
        first, _, last = entry.partition("-")
        characters |= {chr(number) for number in range(int(first, 16), int(last or first, 16) + 1)}
    return characters


def active() -> set[str]:
    """Controls, formats, surrogates and separators of lines."""
    every = map(chr, range(sys.maxunicode + 1))
    return {it for it in every if unicodedata.category(it) in ("Cc", "Cf", "Cs", "Zl", "Zp") and it not in "\t\n"}


@pytest.mark.parametrize("characters", [ignorable(), active()], ids=["ignorable", "active"])
def test_active_and_invisible_characters_are_escaped(characters: set[str]) -> None:
    assert [it for it in characters if not harmless(it).isascii() or is_harmless(it)] == []
    assert [it for it in characters if not one_line(f"psi{it}x").isascii()] == []
    assert [it for it in characters if not json_escaped(f'"{it}"').isascii()] == []
    assert [it for it in characters if json.loads(json_escaped(json.dumps(it, ensure_ascii=False))) != it] == []


def test_everything_else_stays_as_it_is() -> None:
    other_characters = {chr(number) for number in range(sys.maxunicode + 1)} - ignorable() - active() - {BLANK_BRAILLE}
    assert [it for it in other_characters if harmless(it) != it and unicodedata.category(it) != "Cn"] == []


@pytest.mark.parametrize("text", ["", " \t", "\u3164", "\u2800\u00ad", "\ufe0f"])
def test_a_text_that_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(f"{text}a")


def test_how_they_are_written() -> None:
    assert harmless("a\x1bb\u00adc\u3164d\U000e0041") == r"a\x1bb\xadc\u3164d\U000e0041"
