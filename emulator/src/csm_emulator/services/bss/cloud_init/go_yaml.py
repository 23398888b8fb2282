"""YAML in the format of Go's yaml.v2, so that it can be compared with that of the real BSS."""

from __future__ import annotations

import re
from decimal import Decimal

import yaml

from csm_emulator.records import Json

_RUNS = re.compile(r"[0-9]+|.", re.DOTALL)
_LOOKS_LIKE_OTHER_TYPE = re.compile(
    r"[yYnN]|[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?0(?:x[0-9a-fA-F_]+|b[01_]+|o[0-7_]+)"
)
_TEXT = "tag:yaml.org,2002:str"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Json) -> bool:  # noqa: ARG002 (the same object twice is written twice)
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    tag = _plain_tag(dumper, text)
    if text in ("=", "<<"):
        return dumper.represent_scalar(tag, text)
    style = '"' if tag != _TEXT or _LOOKS_LIKE_OTHER_TYPE.fullmatch(text) else None
    return dumper.represent_scalar(_TEXT, text, "|" if "\n" in text else style)


def _number(dumper: yaml.SafeDumper, number: float) -> yaml.ScalarNode:
    text = _shortest(float(number))
    return dumper.represent_scalar(_plain_tag(dumper, text), text)


def _plain_tag(dumper: yaml.SafeDumper, text: str) -> str:
    """The YAML tag of the text without quotes."""
    return str(dumper.resolve(yaml.ScalarNode, text, (True, False)))  # type: ignore[no-untyped-call]


def _table(dumper: yaml.SafeDumper, table: Json) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", sorted(table.items(), key=lambda item: _sort_key(item[0])))


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _table)
_Dumper.add_representer(int, _number)
_Dumper.add_representer(float, _number)
_Dumper.add_multi_representer(int, _number)
_Dumper.add_multi_representer(float, _number)


def cloud_config(data: Json) -> str:
    """The data as a cloud-config document."""
    return "#cloud-config\n" + yaml.dump(data, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=80)


def _shortest(number: float) -> str:
    """The number as Go's ``%g`` formats it: with an exponent from seven digits before the point."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    power = len(digits) + int(exponent) - 1
    if number == 0 or -4 <= power < 6:
        return f"{Decimal(repr(number)).normalize():f}"
    fraction = "".join(map(str, digits[1:]))
    mantissa = f"{digits[0]}.{fraction}" if fraction else f"{digits[0]}"
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _sort_key(key: str) -> list[tuple[int, ...]]:
    """Sorts punctuation before numbers before letters, and numbers by their value."""
    return [
        (1, ord(run), 0) if run.isalpha() else ((0, 1, int(run), len(run)) if run.isdecimal() else (0, 0, ord(run)))
        for run in _RUNS.findall(key)
    ]
