"""Playbooks: the hosts of each play, failures, and the log."""

from __future__ import annotations

import pytest

from csm_emulator.services.cfs.ansible.hosts import Inventory, match_hosts
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import AnsibleError
from csm_emulator.services.cfs.ansible.run_state import PlaybookOptions, RunResult
from services.cfs_runs.playbooks import count_task_lines, counts, log, run, tasks, text


def error(playbook: str, more: dict[str, str] | None = None) -> str:
    with pytest.raises(AnsibleError) as caught:
        run(playbook, more)
    return "\n".join(caught.value.lines())


def test_a_run_in_full() -> None:
    course = run(tasks("- name: Make it\n  file: {path: /x}\n- debug: {msg: done}", "hosts: Compute"), hosts=["x1"])
    assert log(course) == [
        "",
        "PLAY [Compute] *****************************************************************",
        "",
        "TASK [Gathering Facts] *********************************************************",
        "ok: [x1]",
        "",
        "TASK [Make it] *****************************************************************",
        "changed: [x1]",
        "",
        "TASK [debug] *******************************************************************",
        "ok: [x1] => {",
        '    "msg": "done"',
        "}",
        "",
        "PLAY RECAP *********************************************************************",
        "x1                         : ok=3    changed=1    unreachable=0    failed=0    skipped=0    rescued=0    "
        "ignored=0   ",
        "",
    ]
    assert course.code == 0
    moments = [moment for moment, _ in course.timeline.entries]
    assert moments == sorted(moments)


def test_the_recap_agrees_with_the_lines() -> None:
    course = run(
        tasks(
            """
- command: /usr/bin/anything
- fail: msg=no
  ignore_errors: true
- command: /bin/false
  ignore_errors: yes
- file: {path: /x}
  when: inventory_hostname == 'x2'
- include_tasks: more.yml
- fail: {msg: "only {{ inventory_hostname }}"}
  when: inventory_hostname == 'x1'
- shell: echo on
""",
            "hosts: all",
        ),
        {"more.yml": "- set_fact: {a: 1}\n- assert: {that: a == 1}\n"},
        hosts=["x1", "x2", "x3"],
        down_since={"x3": 30.0},
    )
    lines = log(course)
    results = {
        host: {key: value for key, value in mine.items() if key != "rescued"} for host, mine in counts(lines).items()
    }
    assert results == count_task_lines(lines)
    assert results["x1"]["failed"] == 1
    assert results["x2"]["failed"] == 0
    assert results["x3"]["unreachable"] == 1
    assert 'fatal: [x1]: FAILED! => {"changed": false, "msg": "only x1"}' in lines
    assert course.code == 2 | 4


def test_who_failed_is_left_out_of_what_follows() -> None:
    playbook = tasks("- fail: {msg: no}\n  when: inventory_hostname == 'x1'\n- shell: echo a") + tasks(
        "- shell: echo b"
    )
    lines = log(run(playbook))
    assert lines.count("changed: [x1]") == 0
    assert lines.count("changed: [x2]") == 2


def test_no_host_is_left() -> None:
    course = run(tasks("- fail: {msg: no}\n- shell: echo a") + tasks("- shell: echo b"))
    assert "NO MORE HOSTS LEFT *************************************************************" in log(course)
    assert "TASK [shell]" not in text(course)
    assert course.code == 2


def test_rescue_and_always() -> None:
    block = """
- block:
    - name: breaks
      command: /bin/false
      when: inventory_hostname == 'x1'
    - name: goes on
      file: {path: /x}
  rescue:
    - name: saves
      debug: {msg: saved}
  always:
    - name: in any case
      shell: echo always
- name: after
  file: {path: /y}
"""
    course = run(tasks(block))
    recap = counts(log(course))
    assert (recap["x1"]["rescued"], recap["x1"]["failed"], recap["x1"]["ok"]) == (1, 0, 3)
    assert (recap["x2"]["rescued"], recap["x2"]["ok"], recap["x2"]["skipped"]) == (0, 3, 1)
    assert course.code == 0
    failing = run(tasks(block.replace("debug: {msg: saved}", "fail: {msg: no}")))
    recap = counts(log(failing))
    assert (recap["x1"]["rescued"], recap["x1"]["failed"], recap["x1"]["changed"]) == (1, 1, 1)
    assert failing.code == 2


def test_handlers_run_once_at_the_end_for_changed_hosts() -> None:
    playbook = tasks(
        """
- file: {path: /x}
  notify: [restart it, tell]
  when: inventory_hostname == 'x2'
- copy: {content: y, dest: /y}
  notify: restart it
- debug: {msg: last}
"""
    )
    playbook += "  handlers:\n    - name: restart it\n      service: {name: s}\n    - name: other\n      ping:\n"
    playbook += "    - name: heard\n      ping:\n      listen: tell\n"
    lines = log(run(playbook, configured_hosts=frozenset({"x1"})))
    place = lines.index("RUNNING HANDLER [restart it] ***************************************************")
    assert lines[place + 1 : place + 3] == ["changed: [x2]", ""]
    assert place > lines.index('    "msg": "last"')
    assert "\n".join(lines).count("RUNNING HANDLER [heard]") == 1
    assert sum(line.startswith("RUNNING HANDLER [restart it]") for line in lines) == 1
    assert "RUNNING HANDLER [other]" not in "\n".join(lines)


def test_what_was_applied_before_changes_nothing() -> None:
    course = run(tasks("- file: {path: /x}\n- shell: touch /y"), configured_hosts=frozenset({"x1"}))
    assert [counts(log(course))[host]["changed"] for host in ("x1", "x2")] == [1, 2]


def test_loops() -> None:
    course = run(
        tasks(
            """
- name: each
  file: {path: "/{{ item }}"}
  loop: [a, b]
  when: item == 'b'
- name: breaks on one
  command: "{{ item }}"
  with_items: [/bin/true, /bin/false]
  register: all
- debug: {msg: never}
"""
        ),
        hosts=["x1"],
    )
    lines = log(course)
    assert "skipping: [x1] => (item=a) " in lines
    assert "changed: [x1] => (item=b)" in lines
    failed = [line for line in lines if line.startswith("failed: ")]
    assert failed[0].startswith('failed: [x1] (item=/bin/false) => {"changed": true, "cmd": ["/bin/false"], ')
    assert not any(line.startswith("fatal: ") for line in lines)
    assert counts(lines)["x1"] == {
        "ok": 1, "changed": 1, "unreachable": 0, "failed": 1, "skipped": 0, "rescued": 0, "ignored": 0
    }  # fmt: skip


def test_tries_again_in_vain() -> None:
    playbook = tasks(
        "- name: wait\n  command: /bin/false\n  register: r\n  until: r.rc == 0\n  retries: 2\n  delay: 50\n"
    )
    course = run(playbook, hosts=["x1"])
    assert "FAILED - RETRYING: wait (2 retries left)." in log(course)
    assert "FAILED - RETRYING: wait (1 retries left)." in log(course)
    assert '"attempts": 2' in text(course)
    assert course.timeline.now > 100
    met = run(playbook.replace("/bin/false", "/bin/true"), hosts=["x1"])
    assert "RETRYING" not in text(met)
    assert met.code == 0


def test_registered_results_decide() -> None:
    course = run(
        tasks(
            """
- shell: echo wanted
  register: said
- name: as said
  file: {path: /x}
  when: said.stdout == 'wanted'
- name: otherwise
  file: {path: /x}
  when: said.stdout != 'wanted'
- command: /usr/bin/thing
  register: thing
  failed_when: thing.rc == 0
  ignore_errors: true
- command: /usr/bin/thing
  changed_when: false
"""
        ),
        hosts=["x1"],
    )
    assert counts(log(course))["x1"] == {
        "ok": 4, "changed": 3, "unreachable": 0, "failed": 0, "skipped": 1, "rescued": 0, "ignored": 1
    }  # fmt: skip


def test_roles_with_defaults_vars_handlers_and_what_they_depend_on() -> None:
    more = {
        "roles/base/tasks/main.yml": "- name: base of {{ kind }}\n  file: {path: /b}\n  notify: again\n",
        "roles/base/defaults/main.yml": "kind: none\n",
        "roles/base/handlers/main.yml": "- name: again\n  service: {name: b}\n",
        "roles/top/meta/main.yml": "dependencies:\n  - role: base\n    vars: {kind: top}\n",
        "roles/top/tasks/main.yml": "- import_tasks: inner.yml\n  when: wanted\n",
        "roles/top/tasks/inner.yml": "- name: inner {{ size }}\n  template: {src: t.j2, dest: /t}\n",
        "roles/top/templates/t.j2": "x",
        "roles/top/vars/main.yml": "size: 7\n",
        "group_vars/all/a.yml": "wanted: true\n",
        "group_vars/Compute.yml": "wanted: '{{ inventory_hostname == \"x1\" }}'\n",
    }
    course = run("- hosts: Compute\n  gather_facts: false\n  roles: [base, top]\n", more)
    output = text(course)
    for title in ("TASK [base : base of none]", "TASK [base : base of top]", "TASK [top : inner 7]"):
        assert title in output
    assert "RUNNING HANDLER [base : again]" in output
    assert [counts(log(course))[host]["skipped"] for host in ("x1", "x2")] == [0, 1]


def test_includes_are_read_when_their_turn_comes() -> None:
    playbook = tasks(
        """
- include_tasks: "{{ inventory_hostname }}.yml"
- include_role: {name: late, tasks_from: other}
  when: inventory_hostname == 'x1'
- include_tasks: absent.yml
  when: inventory_hostname == 'x2'
"""
    )
    more = {"x1.yml": "- shell: echo one\n", "x2.yml": "- shell: echo two\n"}
    more["roles/late/tasks/other.yml"] = "- name: of a role\n  shell: echo three\n"
    course = run(playbook, more)
    lines = log(course)
    assert "included: /etc/ansible/layer0/x1.yml for x1" in lines
    assert "TASK [late : of a role] ********************************************************" in lines
    assert counts(lines)["x1"]["failed"] == 0
    assert counts(lines)["x2"]["failed"] == 1
    assert "Could not find or access '/etc/ansible/layer0/absent.yml' on the Ansible Controller." in text(course)


def test_circles_come_to_an_end() -> None:
    course = run(tasks("- include_tasks: me.yml"), {"me.yml": "- include_tasks: me.yml\n"})
    assert course.code == 2
    assert "recursive loop detected" in text(course)
    assert "recursive" in error(tasks("- import_tasks: me.yml"), {"me.yml": "- import_tasks: me.yml\n"})
    assert "recursive" in error("- import_playbook: site.yml\n")


def test_too_much_is_killed() -> None:
    many = ", ".join(str(number) for number in range(1000))
    course = run(tasks(f"- ping:\n  loop: [{many}]\n" * 20), hosts=[f"x{number}" for number in range(25)])
    assert course.code == 137
    assert not course.recap_counts


@pytest.mark.parametrize(
    ("playbook", "message"),
    [
        ("- hosts: all\n  tasks:\n    - nonsense: {a: 1}\n", "couldn't resolve module/action 'nonsense'."),
        ("- hosts: all\n  roles: [absent]\n", "the role 'absent' was not found in /etc/ansible/layer0/roles:"),
        ("- hosts: all\n  tasks:\n    - name: nothing\n", "no module/action detected in task."),
        ("- hosts: all\n  tasks:\n    - shell: a\n      copy: b\n", "conflicting action statements: shell, copy"),
        ("- hosts: all\n  tasks:\n    - shell: a\n      shrll: b\n", "'shrll' is not a valid attribute for a Task"),
        ("- tasks: []\n", "the field 'hosts' is required but was not set"),
        ("hosts: all\n", "A playbook must be a list of plays, got a"),
        ("- just text\n", "playbook entries must be either a valid play or an include statement"),
        ("- hosts: all\n  tasks: [text]\n", "A malformed block was encountered"),
        ("- hosts: all\n  tasks:\n    - import_tasks: absent.yml\n", "Could not find or access"),
        ("- import_playbook: absent.yml\n", "the playbook: /etc/ansible/layer0/absent.yml could not be found"),
        ("- hosts: all\n  vars_files: [absent.yml]\n", "vars file absent.yml was not found"),
        ("- hosts: all\n  tasks:\n    - ansible.builtin.nonsense:\n", "couldn't resolve module/action"),
        ("- " + "[" * 300_000, "maximum recursion depth exceeded"),
        ("- " * 300_000, "maximum recursion depth exceeded"),
        ("".join(f"{' ' * place}- a:\n" for place in range(1500)), "maximum recursion depth exceeded"),
        (
            "- &a0 [x]\n" + "".join(f"- &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(9)),
            "excessive aliasing",
        ),
        ("- &a [*a]\n", "excessive aliasing"),
        ("a: \x07", "Syntax Error while loading YAML."),
    ],
)
def test_what_ansible_refuses_before_it_begins(playbook: str, message: str) -> None:
    assert error(playbook).startswith("ERROR! ")
    assert message in error(playbook)


def test_a_syntax_error_shows_where() -> None:
    assert error("- hosts: all\n  tasks:\n    - name: a: b\n").split("\n") == [
        "ERROR! We were unable to read either as JSON nor YAML, these are the errors we got from each:",
        "JSON: Expecting value: line 1 column 1 (char 0)",
        "",
        "Syntax Error while loading YAML.",
        "  mapping values are not allowed in this context",
        "",
        "The error appears to be in '/etc/ansible/layer0/site.yml': line 3, column 14, but may",
        "be elsewhere in the file depending on the exact syntax problem.",
        "",
        "The offending line appears to be:",
        "",
        "  tasks:",
        "    - name: a: b",
        "             ^ here",
        "",
    ]


def test_a_module_of_the_repository_is_known() -> None:
    course = run(tasks("- our_own: {a: 1}"), {"library/our_own.py": ""})
    assert course.code == 0


def test_a_file_that_is_not_there() -> None:
    course = run(tasks("- copy: {src: absent.conf, dest: /x}"), hosts=["x1"])
    assert "Could not find or access 'absent.conf'" in text(course)
    assert course.code == 2


@pytest.mark.parametrize(
    ("pattern", "hosts"),
    [
        ("all", "abcd"),
        ("*", "abcd"),
        ("Compute", "abc"),
        ("Compute:&gpu", "b"),
        ("Compute:!gpu", "ac"),
        ("all:!Compute", "d"),
        ("a,d", "ad"),
        ("gpu:a", "abd"),
        ("!Compute", "d"),
        ("[ab]", "ab"),
        ("absent", ""),
        ("Comp*:&g?u", "b"),
    ],
)
def test_patterns(pattern: str, hosts: str) -> None:
    inventory = Inventory({"Compute": ["a", "b", "c"], "gpu": ["b", "d"]})
    assert "".join(match_hosts(inventory, pattern)[0]) == hosts


def test_a_play_without_hosts_is_skipped() -> None:
    course = run(tasks("- ping:", "hosts: Application") + tasks("- ping:"))
    lines = log(course)
    assert "[WARNING]: Could not match supplied host pattern, ignoring: Application" in lines
    assert lines[lines.index("skipping: no hosts matched") + 2].startswith("PLAY [all]")
    assert course.code == 0


def test_the_limit() -> None:
    assert set(counts(log(run(tasks("- ping:"), options=PlaybookOptions(limit="x2,x7"))))) == {"x2"}
    result = run(tasks("- ping:"), options=PlaybookOptions(limit="x7"))
    assert log(result)[-1] == "ERROR! Specified hosts and/or --limit does not match any hosts"
    assert result.code == 1


def run_tagged(**options: frozenset[str]) -> str:
    playbook = tasks("- name: A\n  ping:\n  tags: a\n- name: B\n  ping:\n  tags: [b, never]\n- name: C\n  ping:\n")
    lines = log(run(playbook, options=PlaybookOptions(**options), hosts=["x1"]))  # type: ignore[arg-type]
    return "".join(line[6] for line in lines if line.startswith("TASK ["))


def test_tags() -> None:
    assert run_tagged() == "AC"
    assert run_tagged(tags=frozenset("a")) == "A"
    assert run_tagged(tags=frozenset("b")) == "B"
    assert run_tagged(skip_tags=frozenset("a")) == "C"


def test_facts_and_groups_are_known() -> None:
    playbook = tasks(
        """
- name: right
  ping:
  when: ansible_architecture == 'x86_64' and ansible_facts['os_family'] == 'Suse' and 'Compute' in group_names
- name: wrong
  ping:
  when: inventory_hostname in groups['Compute'] and groups.all | length == 99
""",
        "hosts: all",
    )
    assert [counts(log(run(playbook)))["x1"][key] for key in ("ok", "skipped")] == [2, 1]


def test_images_are_known_by_their_variable() -> None:
    playbook = tasks(
        "- name: image\n  ping:\n  when: cray_cfs_image\n- name: node\n  ping:\n  when: not cray_cfs_image"
    )
    inventory = Inventory({"Compute": ["image"]}, {"image": {"cray_cfs_image": True}})
    assert "skipping: [image]" in text(run(playbook, inventory=inventory)).split("TASK [node]")[1]
    assert "skipping: [x1]" in text(run(playbook)).split("TASK [node]")[0]


def test_verbosity_and_secrets() -> None:
    playbook = tasks("- command: /usr/bin/thing a\n- command: /usr/bin/secret\n  no_log: true")
    assert "thing" not in text(run(playbook))
    output = text(run(playbook, options=PlaybookOptions(verbosity=2)))
    assert '"cmd": ["/usr/bin/thing", "a"]' in output
    assert "task path: /etc/ansible/layer0/site.yml:4" in output
    assert "secret" not in output
    assert "the output has been hidden due to the fact that 'no_log: true' was specified" in output
    assert '"cmd": ["/usr/bin/thing", "a"]' in text(run(playbook, show_commands=True))
    assert run(playbook).commands == ["/usr/bin/thing a", "/usr/bin/secret"]


def test_an_error_that_is_fatal_for_all() -> None:
    course = run(
        tasks("- fail: {msg: no}\n  when: inventory_hostname == 'x1'\n- ping:", "hosts: all\n  any_errors_fatal: true")
    )
    assert course.aborted
    assert course.code == 2 | 8
    assert "TASK [ping]" not in text(course)
    assert (course.recap_counts["x1"].failed, course.recap_counts["x2"].failed) == (1, 0)


def test_faults_strike_where_they_aim() -> None:
    playbook = tasks("- name: First\n  file: {path: /a}\n- name: Second\n  file: {path: /b}\n- name: Third\n  ping:")
    course = run(playbook, failing_tasks={"x1": "second", "x2": ""})
    first, second = text(course).split("TASK [Second]")
    assert "changed: [x1]" in first
    assert "fatal: [x2]: FAILED!" in first
    assert "fatal: [x1]: FAILED!" in second
    assert "MODULE FAILURE" in second


def falls(course: RunResult) -> int:
    return next(place for place, line in enumerate(log(course)) if "UNREACHABLE" in line)


def test_what_was_printed_before_a_node_fell_stays() -> None:
    playbook = tasks("\n".join(f"- name: T{number}\n  file: {{path: /{number}}}" for number in range(8)), "hosts: all")
    whole = run(playbook)
    for share in (0.1, 0.4, 0.8):
        moment = whole.timeline.now * share
        course = run(playbook, down_since={"x2": moment})
        entries_before = [entry for entry in whole.timeline.entries if entry[0] <= moment]
        assert course.timeline.entries[: len(entries_before)] == entries_before
        assert falls(course) >= sum(len(lines) for _, lines in entries_before)
        recap = counts(log(course))["x2"]
        assert recap["unreachable"] == 1
        assert recap["ok"] < 9
    local = run(tasks("- debug: {msg: a}\n- ping:"), down_since={"x1": -1.0})
    assert "ok: [x1] => {" in log(local)
    assert counts(log(local))["x1"]["unreachable"] == 1


@pytest.mark.parametrize(
    "value",
    [
        "'{{ (a | default([1, 2])) + (a | default([1, 2])) }}'",
        "'{{ (a | default(3)) * (a | default(3)) }}'",
        "['{{ a }}', '{{ a }}']",
    ],
)
def test_a_fact_that_doubles_itself_comes_to_an_end(value: str) -> None:
    """Thirty times a list, a number and a nested map."""
    course = run(tasks("\n".join([f"- set_fact: {{a: {value}}}"] * 30 + ["- debug: {var: a}"])), hosts=["x1"])
    assert counts(log(course))["x1"]["failed"] == 0
    assert sum(len(line) for line in log(course)) < 5_000_000
