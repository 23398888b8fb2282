"""Conditions and templates of playbooks."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.services.cfs.ansible.jinja.expressions import evaluate
from csm_emulator.services.cfs.ansible.jinja.templates import holds, render, render_to_text
from csm_emulator.services.cfs.ansible.modules.command_lines import run_command, run_shell
from csm_emulator.services.cfs.ansible.values import UNDEFINED, UNKNOWN
from csm_emulator.services.cfs.ansible.variables import Scope

KNOWN: dict[str, Any] = {
    "cray_cfs_image": False,
    "name": "x1000c0s0b0n0",
    "group_names": ["Compute", "gpu"],
    "number": 3,
    "settings": {"size": 10, "names": ["a", "b"]},
    "printed": UNKNOWN,
    "result": {"failed": False, "changed": True, "rc": 0, "stdout": UNKNOWN},
    "greeting": "hello {{ name }}",
    "circle": "{{ circle }}",
}
SCOPE = Scope((KNOWN,))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("cray_cfs_image", False),
        ("not cray_cfs_image", True),
        ("'Compute' in group_names", True),
        ("'Application' not in group_names", True),
        ("number > 2 and number <= 3", True),
        ("number == 3 or nothing.at_all", True),
        ("number == 4 and nothing", False),
        ("settings.size * 2 + 1", 21),
        ("settings['names'][1] ~ '!'", "b!"),
        ("name[1:5]", "1000"),
        ("name[:2] + name[11:]", "x1n0"),
        ("settings.names | join('-') | upper", "A-B"),
        ("nothing | default('x')", "x"),
        ("nothing is defined", False),
        ("nothing is not defined", True),
        ("printed is defined", True),
        ("result is changed and result is not failed", True),
        ("result.rc != 0", False),
        ("'yes' if number == 3 else 'no'", "yes"),
        ("(number | string) == '3'", True),
        ("[1, 2] | length", 2),
        ("settings | dict2items | length", 2),
        ("['hsn0', 'nmn0', 'hsn1'] | select('match', '^hsn[0-9]+$') | list", ["hsn0", "hsn1"]),
        ("greeting", "hello x1000c0s0b0n0"),
        ("-1 < 0", True),
        ("none is none", True),
        ("settings | combine({'size': 11}) == {'size': 11, 'names': ['a', 'b']}", True),
        ("['b', 'a'] | sort(reverse=true)", ["b", "a"]),
        ("'' | default('x', boolean=true)", "x"),
        ("'3.7' | int", 3),
        ("2 ** 10", 1024),
        ("-1 | abs", 1),
        ("1 < number < 3", False),
        ("printed == 'x' and number == 4", False),
        ("printed == 'x' or number == 3", True),
        ("number | some_filter or number == 3", True),
        ("settings.names[::-1]", ["b", "a"]),
    ],
)
def test_what_is_known_is_computed(expression: str, value: Any) -> None:
    assert evaluate(expression, SCOPE) == value


@pytest.mark.parametrize(
    "expression",
    [
        "printed == 'x'",
        "result.stdout | length > 3",
        "lookup('file', '/etc/passwd')",
        "number | some_filter",
        "number +",
        "'unfinished",
        "number ** 999999",
        "'a' * 999999999",
        "['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'] | select('nonsense', 'x')",
        "x" + "(" * 500,
        "[" * 500,
        "circle",
        "1 / 0",
        "settings | int(printed)",
    ],
)
def test_what_is_not_known_counts_as_met(expression: str) -> None:
    assert evaluate(expression, SCOPE) is UNKNOWN
    assert holds(expression, SCOPE)
    assert not holds(expression, SCOPE, unknown=False)


def test_a_member_of_nothing_is_nothing() -> None:
    assert evaluate("nothing.at.all", SCOPE) is UNDEFINED
    assert evaluate("settings.absent", SCOPE) is UNDEFINED


def test_variables_that_multiply_come_to_an_end() -> None:
    many = {f"v{number}": f"{{{{ v{number + 1} }}}}" * 20 for number in range(10)}
    assert "{{" in render_to_text("{{ v0 }}", Scope((many,)))


def test_templates_keep_types_and_leave_what_they_cannot_fill() -> None:
    assert render("{{ settings.names }}", SCOPE) == ["a", "b"]
    assert render({"a": ["{{ number }}", "n{{ number }}"]}, SCOPE) == {"a": [3, "n3"]}
    assert render_to_text("{{ name }} and {{ printed }}", SCOPE) == "x1000c0s0b0n0 and {{ printed }}"
    assert holds("{{ number == 3 }}", SCOPE)
    assert not holds("no", Scope(({"no": "false"},)))


@pytest.mark.parametrize(
    "text",
    [
        "1" + "+1" * 100_000,
        "name" + ".x" * 100_000,
        "name" + "|upper" * 50_000,
        "-" * 100_000 + "1",
        "~".join(["name"] * 100_000),
        "1" + "<1" * 50_000,
        "9" * 5000,
        "*".join(["9" * 30] * 74),
        r"'\x'",
        r"'\N{'",
    ],
)
def test_an_endless_expression_is_unknown(text: str) -> None:
    assert evaluate(text, SCOPE) is UNKNOWN
    assert render_to_text(f"a {{{{ {text} }}}}", SCOPE) == f"a {{{{ {text} }}}}"
    assert holds(text, SCOPE)


def test_the_longest_expression_is_followed() -> None:
    assert evaluate("1" + "+1" * 74, SCOPE) == 75
    assert evaluate("-" * 140 + "1", SCOPE) == 1


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("true && false", 1),
        ("false || true", 0),
        ("false; true", 0),
        ("something --else\nexit 3", 3),
        ("false || exit 4", 4),
        ("true || exit 4", 0),
        ("false && exit 4", 1),
        ("exit 0", 0),
        ("some thing", 0),
        ("exit 99999999999999999999", 99999999999999999999 % 256),
    ],
)
def test_a_shell_command_fails_by_its_exit_code(line: str, status: int) -> None:
    assert run_shell(line)[0] == status


def test_a_command_prints_what_it_echoes() -> None:
    assert run_command("echo 'a  b' c") == (0, "a  b c")
    assert run_command("/bin/false")[0] == 1
    assert run_shell("echo one; echo two") == (0, "one\ntwo")
    assert run_shell("echo $HOME")[1] is UNKNOWN
    assert run_command("echo 'unfinished") == (0, "'unfinished")
