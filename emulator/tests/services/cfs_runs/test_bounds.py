"""A playbook, whatever it contains, does not delay other clients."""

from __future__ import annotations

import json
import tracemalloc
from time import process_time
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csm_emulator.services.cfs.ansible import limits as meter
from csm_emulator.services.cfs.ansible.hosts import Inventory, terms
from csm_emulator.services.cfs.ansible.jinja.expressions import evaluate
from csm_emulator.services.cfs.ansible.jinja.filters import FILTERS, TESTS
from csm_emulator.services.cfs.ansible.jinja.templates import render, render_to_text
from csm_emulator.services.cfs.ansible.limits import WorkMeter
from csm_emulator.services.cfs.ansible.playbooks import layer_files as reading
from csm_emulator.services.cfs.ansible.playbooks.layer_files import LayerReader, ReadingPaused
from csm_emulator.services.cfs.ansible.playbooks.parser import read_playbook
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import MAX_FILE_VALUES, AnsibleError
from csm_emulator.services.cfs.ansible.run_state import PlaybookOptions, RunInputs
from csm_emulator.services.cfs.ansible.runner import start_run
from csm_emulator.services.cfs.ansible.values import UNKNOWN, known
from csm_emulator.services.cfs.ansible.variables import Scope
from csm_emulator.services.cfs.jobs.inventory.host_files import read_hosts
from csm_emulator.services.cfs.jobs.repositories import CommitNotFound, Repository, RepositoryCache
from csm_emulator.services.cfs.records import CfsRecords
from csm_emulator.services.cfs.sources.vcs import Vcs
from csm_emulator.state.scheduler import ActionNotReady
from csm_emulator.transport.call import Reply, json_reply
from services.cfs_runs.lab import NODE, Lab
from services.cfs_runs.playbooks import FACTS, Files, log, run, tasks, text


class CountingText(str):
    """Counts how often it is compared."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, value: object) -> bool:
        CountingText.comparisons += 1
        return str.__eq__(self, value)

    __hash__ = str.__hash__


@pytest.mark.parametrize("expression", ["a | unique", "a | union(a)", "a | difference(a)", "a | intersect(a)"])
def test_filters_of_sets_do_not_compare_all_with_all(expression: str) -> None:
    CountingText.comparisons = 0
    evaluate(expression, Scope(({"a": [CountingText(number) for number in range(1000)]},)))
    assert CountingText.comparisons < 10_000


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[3, 1, 3, '1', [1], [1], 2] | unique", [3, 1, "1", [1], 2]),
        ("[[1], 2] | union([2, [1], 3])", [[1], 2, 3]),
        ("[[1], 2, 2] | difference([[1]])", [2, 2]),
        ("[[1], 2, 3] | intersect([3, [1]])", [[1], 3]),
        ("['a', 'b'] | join(', ')", "a, b"),
        ("'aba' | replace('a', 'xy')", "xybxy"),
        ("['aaa'] | select('match', '^(a+)+$')", UNKNOWN),
        ("['aaa'] | select('match', 'a*a*a*a*b')", UNKNOWN),
    ],
)
def test_what_filters_of_lists_give(expression: str, value: Any) -> None:
    assert evaluate(expression, Scope(())) == value


def test_long_texts_do_not_add_up() -> None:
    long = Scope(({"long": "x" * 60_000, "longs": ["{{ long }}"] * 100, "both": "{{ long }}{{ long }}"},))
    assert evaluate("longs", long) is UNKNOWN
    assert evaluate("[long, long] | join", long) is UNKNOWN
    assert evaluate("long | replace('x', 'yy')", long) is UNKNOWN
    assert evaluate("both", long) is UNKNOWN
    assert render("{{ 1 }}" * 200, long) == "1" * 200
    assert render("{{ 1 }}" * 201, long) is UNKNOWN


ATTACKS = [
    "{{ 'x' * 10**9 }}",
    "{{ ['x'] * 10**9 }}",
    "{{ 10 ** (10 ** 8) }}",
    "{{ (0 - 8) ** 0.5 }}",
    "{{ 0x" + "f" * 9000 + " }}",
    "{{ 'x' | center(10**9) }}",
    "{{ 'x' | indent(10**9, true) }}",
    "{{ '%1000000000d' | format(1) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ ('{:>' ~ 10**9 ~ '}').format(1) }}",
    "{{ 'x'.rjust(10**9) }}",
    "{{ [1] | batch(10**8, 0) | list }}",
    "{{ 'ab' | slice(10**9) | list }}",
    "{{ {'a': 1} | tojson(indent=10**9) }}",
    "{{ 1 | round(-10**9) }}",
    "{{ range(10**9) | list }}",
    "{{ lipsum(n=10**6) }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ 'x' | attr('__class__') }}",
    "{{ long ~ long }}",
    "{{ longs | sum(start=[]) }}",
    "{{ longs | map('upper') | join }}",
    "{{ " + "[" * 26 + "]" * 26 + " }}",
    "{{ " + "1" + "+1" * 75 + " }}",
    "{{ " + "'" * 30_000 + " }}",
]
BLOCKS = [
    "{% for i in range(10**9) %}{% for j in range(10**9) %}x{% endfor %}{% endfor %}",
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "{% include 'site.yml' %}",
    "{% import 'os' as os %}",
    "{% set a = 'x' * 10**9 %}",
]
LONG = Scope(({"long": "x" * 60_000, "longs": ["x" * 60_000] * 60},))


@pytest.mark.parametrize("template", ATTACKS, ids=lambda template: template[:40])
def test_a_template_that_would_hold_or_fill_the_process_is_unknown(template: str) -> None:
    tracemalloc.start()
    started = process_time()
    assert not known(render(template, LONG))
    assert render_to_text(f"a {template}", LONG) == f"a {template}"
    assert process_time() - started < 2
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("template", BLOCKS)
def test_blocks_stay_as_they_are_written(template: str) -> None:
    assert render_to_text(template, LONG) == template


def test_variables_that_nest_deep_expressions_are_unknown() -> None:
    deep = {f"v{number}": f"{{{{ {'-' * 140}v{number + 1} }}}}" for number in range(20)}
    assert evaluate("v0", Scope((deep,))) is UNKNOWN


def test_a_fact_that_nests_itself_comes_to_an_end() -> None:
    """Five hundred levels, deeper than Python's stack."""
    course = run(tasks("\n".join(["- set_fact: {a: ['{{ a }}']}"] * 520 + ["- debug: {var: a}"])), hosts=["x1"])
    assert course.code == 0


def test_a_number_of_many_digits_is_unknown() -> None:
    """Python refuses to print a number of more than 4300 digits."""
    course = run(
        tasks(
            f"- set_fact: {{a: '{{{{ \"{'9' * 1200}\" | int }}}}', b: 0x{'f' * 5000}}}\n"
            "- debug: {msg: 'a {{ a * a }} {{ a * a * a * a }} {{ b }}'}\n- debug: {var: b}"
        ),
        hosts=["x1"],
    )
    assert course.code == 0
    assert "{{ a * a }} {{ a * a * a * a }}" in text(course)


def test_braces_that_never_close_are_read_once() -> None:
    braces = "{{" * 100_000
    started = process_time()
    assert render_to_text(braces, Scope(())) == braces
    assert process_time() - started < 1


def test_the_expressions_of_one_task_have_a_bound() -> None:
    """Every expression is new, and has to be parsed; all together would take twenty seconds."""
    long = {
        f"v{number}": "".join(f"{{{{ {number}{place}{'+1' * 74} }}}}" for place in range(100, 175))
        for number in range(190)
    }
    scope = Scope(({**long, "all": "".join(f"{{{{ v{number} }}}}" for number in range(190))},))
    started = process_time()
    assert "{{" in render_to_text("{{ all }}{{ v0 }}", scope)
    assert process_time() - started < 5
    assert evaluate("1 + 1", scope) is UNKNOWN


def test_new_expressions_bring_others_their_turn() -> None:
    meter = WorkMeter()
    evaluate("1000000 + 7 * 3 + 1", Scope((), meter))
    assert meter.done > 0
    meter.start_turn()
    evaluate("1000000 + 7 * 3 + 1", Scope((), meter))
    assert meter.done == 0


def test_collections_are_compared_for_what_it_costs() -> None:
    meter = WorkMeter()
    nest = [[1] * 100] * 100
    maps = ({"a": nest, "b": [[1] * 100] * 100},)
    assert evaluate("a == b and a in [b]", Scope(maps, meter)) is True
    assert meter.done > 2 * 2 * 10_000 / 100
    many = ", ".join("a" * 14)
    assert evaluate(f"[{many}] == [{many}]", Scope(maps)) is UNKNOWN


_PIECES = [
    *("a", "l", "d", "p", "s", "1", "0", "9999999", "'t'", "none", "true", "(", ")", "[", "]", "{", "}", ":", ",", "="),
    *("+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "in", "not", "and", "or", "if", "else", "is", "."),
    *(f"| {name}" for name in [*FILTERS, "default", "absent"]),
    *(f"is {name}" for name in [*TESTS, "defined", "absent"]),
]


@given(st.lists(st.sampled_from(_PIECES), max_size=15))
def test_no_expression_raises(pieces: list[str]) -> None:
    values = {"a": 3, "l": ["x", 1], "d": {"k": [1]}, "p": UNKNOWN, "s": "Text"}
    filled = render_to_text(f"a {{{{ {' '.join(pieces)} }}}}", Scope((values,)))
    assert filled.startswith("a ")


def test_terms_of_a_pattern() -> None:
    assert terms("a,,b:c[0:2], a ,&d") == ["a", "b", "c[0:2]", "&d"]
    assert terms("," * 1_000_000 + "[" * 100_000 + "a") == ["[" * 100_000 + "a"]


def test_many_patterns_are_refused() -> None:
    with pytest.raises(AnsibleError, match="more than 50 patterns"):
        run(f"- hosts: {','.join(f'x{number}*' for number in range(51))}\n")


ROLES = {
    "roles/top/meta/main.yml": "dependencies: [base, base, {role: base, vars: {a: 1}}]\n",
    "roles/top/tasks/main.yml": "- name: top\n  ping:\n",
    "roles/base/tasks/main.yml": "- name: base\n  ping:\n",
}


def test_a_role_runs_once_with_the_same_parameters() -> None:
    playbook = "- hosts: all\n  gather_facts: false\n  roles: [base, top, top]\n" * 2
    banners = [line.split(" *")[0] for line in log(run(playbook, ROLES)) if line.startswith("TASK")]
    assert banners == ["TASK [base : base]", "TASK [base : base]", "TASK [top : top]"] * 2, "in each of two plays"


def test_a_role_that_allows_it_runs_again() -> None:
    more = {**ROLES, "roles/base/meta/main.yml": "allow_duplicates: true\n"}
    output = text(run("- hosts: all\n  gather_facts: false\n  roles: [top]\n", more))
    assert output.count("TASK [base : base]") == 3


def test_an_included_role_runs_each_time() -> None:
    output = text(run(tasks("- include_role: {name: top}\n- include_role: {name: top}"), ROLES))
    assert (output.count("TASK [top : top]"), output.count("TASK [base : base]")) == (2, 4)


@pytest.mark.parametrize("below", ["top", "other"])
def test_roles_in_a_circle(below: str) -> None:
    more = {
        "roles/top/meta/main.yml": f"dependencies: [{below}]\n",
        "roles/other/meta/main.yml": "dependencies: [top]\n",
    }
    with pytest.raises(AnsibleError, match="A recursion loop was detected with the roles"):
        run("- hosts: all\n  roles: [top]\n", more)


def test_imports_that_double_are_refused() -> None:
    more = {f"t{level}.yml": f"- import_tasks: t{level + 1}.yml\n" * 2 for level in range(14)}
    with pytest.raises(AnsibleError, match="more than 10000 tasks in this layer"):
        run(tasks("- import_tasks: t0.yml"), {**more, "t14.yml": "- ping:\n"})


def test_playbooks_that_multiply_are_refused() -> None:
    more = {f"p{level}.yml": f"- import_playbook: p{level + 1}.yml\n" * 10 for level in range(8)}
    with pytest.raises(AnsibleError, match="more than 10000 tasks in this layer"):
        run("- import_playbook: p0.yml\n", {**more, "p8.yml": "- hosts: all\n"})


def test_what_tasks_take_over_counts() -> None:
    variables = ", ".join(f"v{number}: 1" for number in range(1000))
    inner = "".join("    - ping:\n      vars: {a: 1}\n" for _ in range(200))
    with pytest.raises(AnsibleError, match="more than 10000 tasks"):
        run(tasks(f"- vars: {{{variables}}}\n  block:\n{inner}"))


def test_a_large_file_is_refused() -> None:
    with pytest.raises(AnsibleError, match="document has more than 30000 values"):
        run(f"- hosts: all\n  vars: {{a: [{','.join(['1'] * MAX_FILE_VALUES)}]}}\n")


def test_large_files_are_read_one_by_one() -> None:
    large = f"a: [{','.join(['1'] * 20_000)}]\n"
    files = Files({"site.yml": "- hosts: all\n  vars_files: [a.yml, b.yml]\n", "a.yml": large, "b.yml": large})
    reading = LayerReader()
    with pytest.raises(ReadingPaused):
        read_playbook(files, "site.yml", reading)
    assert len(read_playbook(files, "site.yml", reading)) == 1


def test_many_large_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_VALUES_IN_LAYER", 100)
    with pytest.raises(AnsibleError, match="more than 100 values in the files of this layer"):
        run(f"- hosts: all\n  vars: {{a: [{','.join(['1'] * 100)}]}}\n")


LOOP = f"- debug: {{msg: hi}}\n  loop: [{','.join(map(str, range(1000)))}]\n"


def _setting(playbook: str) -> RunInputs:
    files = Files({"site.yml": playbook})
    plays = read_playbook(files, "site.yml")
    hosts = Inventory({"Compute": ["x1"]})
    return RunInputs(files, "site.yml", plays, hosts, PlaybookOptions(), lambda _: FACTS, lambda _: 0.5)


def test_a_long_run_lets_others_have_their_turn() -> None:
    following = start_run(_setting(tasks(LOOP * 10)))
    pauses = 0
    while not following.go_until(float("inf")):
        pauses += 1
        assert following.meter.done < 2 * meter.WORK_PER_TURN
    assert pauses >= 3
    assert following.result is not None
    assert following.result.code == 0


def test_others_have_their_turn_between_items_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "WORK_PER_TURN", 150)
    playbook = f"- hosts: all\n  gather_facts: false\n  vars: {{a: [{','.join(map(str, range(2500)))}]}}\n  tasks:\n"
    looped = f"    - debug: {{msg: '{{{{ a | unique | length }}}}'}}\n      loop: [{'1,' * 20}]\n"
    following = start_run(_setting(playbook + looped))
    pauses = 0
    while not following.go_until(float("inf")):
        pauses += 1
    assert pauses >= 10


class CountingNotYet(ActionNotReady):
    count = 0

    def __init__(self) -> None:
        CountingNotYet.count += 1


def test_more_results_than_there_is_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "MAX_RESULTS", 10_000)
    course = run(tasks(LOOP * 5))
    assert course.code == 137
    assert "ERROR! ansible-playbook was killed: its results and its log are more than" in text(course)
    long = run(
        tasks(
            "- debug: {msg: '{{ long }}{{ item }}'}\n  loop: [" + "1," * 500 + "]\n  vars: {long: " + "x" * 60_000 + "}"
        )
    )
    assert long.code == 137


def test_templates_that_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "MAX_STEP_WORK", 1000)
    playbook = f"- hosts: all\n  gather_facts: false\n  vars: {{a: [{','.join(map(str, range(5000)))}]}}\n  tasks:\n"
    course = run(playbook + "    - debug: {msg: '{{ a | unique | sort | unique | sort | unique | sort | length }}'}\n")
    assert course.code == 137
    assert "its templates and conditions take too long" in text(course)


def test_a_session_in_several_parts_logs_every_line_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "WORK_PER_TURN", 50)
    monkeypatch.setattr("csm_emulator.services.cfs.jobs.ansible.container.WORK_PER_TURN", 50)
    monkeypatch.setattr("csm_emulator.services.cfs.jobs.ansible.container.ActionNotReady", CountingNotYet)
    CountingNotYet.count = 0
    lab.configure("c", lab.layer("one", tasks("- debug: {msg: hi}\n  loop: [1, 2, 3, 4, 5, 6]\n" * 10)))
    assert lab.run("s", "c", NODE) == "true"
    output = lab.text("s")
    assert [output.count(line) for line in ("Running site.yml", "PLAY RECAP", "TASK [debug]")] == [1, 1, 10]
    assert output.count("=> (item=6)") == 10
    assert CountingNotYet.count >= 4


class Pages:
    """A VCS with a repository of that many pages of one file."""

    def __init__(self, pages: int) -> None:
        self._pages = pages
        self.asked: list[str] = []

    def ask(self, path: str, _: str) -> Reply:
        self.asked.append(path)
        page = int(path.rpartition("=")[2])
        return json_reply({"tree": [{"path": f"d/f{page}", "type": "blob"}], "truncated": page < self._pages})


def _library(vcs: Pages) -> RepositoryCache:
    return RepositoryCache(cast("Vcs", vcs), cast("CfsRecords", None))


def test_a_large_tree_is_read_page_by_page() -> None:
    vcs = Pages(12)
    library = _library(vcs)
    for page_size in (5, 10):
        with pytest.raises(ReadingPaused):
            Repository(library, "/r", "", "c")
        assert len(vcs.asked) == page_size
    repository = Repository(library, "/r", "", "c")
    assert len(vcs.asked) == 12, "no page twice"
    assert len(repository.paths) == len(repository.files_in("d")) == 12
    assert repository.has("d")
    assert repository.has("d/f3")
    assert not repository.has("d/f")
    assert repository.size == sum(map(len, repository.paths))


def test_a_tree_without_an_end_is_refused() -> None:
    library = _library(Pages(1000))
    for _ in range(39):
        with pytest.raises(ReadingPaused):
            library.tree("/r", "", "c")
    with pytest.raises(CommitNotFound, match="No space left on device"):
        library.tree("/r", "", "c")


class Hosts:
    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts
        self.paths = frozenset(texts)
        self.asked: list[str] = []

    def read(self, path: str) -> str:
        self.asked.append(path)
        return self._texts[path]

    def reader(self, _: str) -> LayerReader:
        return LayerReader()

    def end_reader(self, _: str) -> None:
        """Does nothing: the stub has no cache."""


def test_an_inventory_reads_only_what_it_needs() -> None:
    chain = "".join(f"[g{number}:children]\ng{number + 1}\n" for number in range(600))
    texts = {"hosts": f"[g400]\nx1\nx2\nx1\n{chain}[g0:vars]\na=1\nb=2\n", "docs/hosts.yml": "all: {}\n", "a.md": ""}
    repository = Hosts({**texts, "group_vars/g1.yml": json.dumps({"c": 3})})
    hosts = read_hosts(cast("Repository", repository))
    assert sorted(repository.asked) == ["group_vars/g1.yml", "hosts"]
    assert hosts.flattened()["g0"] == ["x1", "x2"]
    assert hosts.group_vars == {"g0": {"a": "1", "b": "2"}, "g1": {"c": 3}}
