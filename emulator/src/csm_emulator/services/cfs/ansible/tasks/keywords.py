"""Keywords of tasks, and Ansible's messages about wrong ones."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.services.cfs.ansible.playbooks.plays import NO_LOOP
from csm_emulator.services.cfs.ansible.values import Value

_TASK_WORDS = """
    action any_errors_fatal args async become become_exe become_flags become_method become_user changed_when
    check_mode collections connection debugger delay delegate_facts delegate_to diff environment failed_when
    ignore_errors ignore_unreachable listen local_action loop loop_control module_defaults name no_log notify poll port
    register remote_user retries run_once tags throttle timeout until vars when"""
TASK_KEYWORDS = frozenset(_TASK_WORDS.split())


def unresolved(name: str) -> str:
    return (
        f"couldn't resolve module/action '{name}'. This often indicates a misspelling, missing collection, "
        "or incorrect module path."
    )


def missing_file(path: str) -> str:
    return (
        f"Unable to retrieve file contents\nCould not find or access '{path}' on the Ansible Controller.\n"
        "If you are using a module and expect the file to exist on the remote, see the remote_src option"
    )


def role_name(role_entry: Value) -> str:
    return (
        str(role_entry.get("role") or role_entry.get("name") or "") if isinstance(role_entry, dict) else str(role_entry)
    )


def role_params(role_entry: Value) -> dict[str, Value]:
    variables = role_entry.get("vars") if isinstance(role_entry, dict) else None
    return dict(variables) if isinstance(variables, dict) else {}


def tasks_from(args: Value) -> str:
    """The name of the file of a role's tasks, without its ending."""
    name = str(args.get("tasks_from", "main")) if isinstance(args, dict) else "main"
    return name.removesuffix(".yml").removesuffix(".yaml")


def file_of(args: Value) -> str:
    return str(args.get("file", "")) if isinstance(args, dict) else str(args).split(" ")[0]


def with_args(args: Value, more: Value) -> Value:
    if not isinstance(more, dict):
        return args
    return {**args, **more} if isinstance(args, dict) else {"_raw_params": args, **more}


def loop_of(entry: Mapping[str, Value]) -> Value:
    if "loop" in entry:
        return entry["loop"]
    old = next((key for key in entry if str(key).startswith("with_")), None)
    return NO_LOOP if old is None else _legacy_loop(str(old), entry[old])


def _legacy_loop(word: str, value: Value) -> Value:
    if word == "with_dict" and isinstance(value, dict):
        return [{"key": key, "value": item} for key, item in value.items()]
    return [value] if word in ("with_items", "with_list") and not isinstance(value, list | str) else value
