"""Commands that are about the shell itself: variables, folders, tests, leaving."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from getopt import getopt

from csm_emulator.shell.expansion import cut_field
from csm_emulator.shell.files import NO_FILE, NO_FOLDER
from csm_emulator.shell.interpreter import NOT_FOUND, SHELLS, Exit, LoopExit, ScriptAborted
from csm_emulator.shell.options import NAMES, change_options
from csm_emulator.shell.process import MISUSED, Process, Program, UsageProblem

_MOST_TEST_WORDS = 100
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_ESCAPED = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_SHELL_ONLY = frozenset(
    {":", "cd", "export", "unset", "set", "exit", "break", "continue", "shift", "read", "type", "command"}
)
_BUILT_IN = _SHELL_ONLY | {"echo", "printf", "pwd", "true", "false", "test", "["}
_SPACES = " \t\n"
_DATE = re.compile(r"\+((?:[^%]|%[aAbBcdDeFHIjklmMnprRsStTuUVwWxXyYZ%])*)", re.DOTALL)
_LONGEST_DATE = 200


async def succeed(_: Process) -> int:
    return 0


async def fail(_: Process) -> int:
    return 1


async def echo(process: Process) -> int:
    words = process.argv[1:]
    newline, escapes = True, False
    while words and words[0][:1] == "-" and words[0][1:] and set(words[0][1:]) <= set("neE"):
        newline &= "n" not in words[0]
        escapes = "e" in words.pop(0)
    text = " ".join(words)
    await process.out.write((unescaped(text) if escapes else text) + ("\n" if newline else ""))
    return 0


def unescaped(text: str) -> str:
    """Raises ``UsageProblem`` for a byte that is not ASCII."""

    def value(match: re.Match[str]) -> str:
        if match[3]:
            return _ESCAPES.get(match[3], match[0])
        number = int(match[1], 16) if match[1] else int(match[2], 8)
        if number > 127:
            raise UsageProblem(f"{match[0]}: this shell has escapes of ASCII only")
        return chr(number)

    return _ESCAPED.sub(value, text)


async def printf(process: Process) -> int:
    """``%s``, ``%b``, ``%d`` and ``%%``; the format is used again as long as there are arguments."""
    words = process.argv[2:] if process.argv[1:2] == ["--"] else process.argv[1:]
    if not words:
        return await process.complain("usage: printf format [arguments]", MISUSED)
    form, arguments = unescaped(words[0]), words[1:]
    while True:
        text, arguments, used = _formatted(form, arguments)
        await process.out.write(process.budget.handle(text))
        if not arguments or not used:
            return 0


def _formatted(form: str, arguments: list[str]) -> tuple[str, list[str], bool]:
    head, *parts = form.split("%")
    result, used = [head], False
    remaining = list(arguments)
    place = iter(range(len(parts)))
    for number in place:
        part = parts[number]
        if not part and number + 1 < len(parts):
            result.append("%" + parts[next(place)])
        elif part[:1] in ("s", "d", "i", "b"):
            used = True
            value = remaining.pop(0) if remaining else ""
            result.append(_conversion(part[0], value) + part[1:])
        else:
            raise UsageProblem(f"`%{part[:1]}': this shell's printf has %s, %d and %%")
    return "".join(result), remaining, used


def _conversion(letter: str, value: str) -> str:
    if letter in "sb":
        return value if letter == "s" else unescaped(value)
    if not re.fullmatch("[-+]?(0|[1-9][0-9]{0,17})", value or "0"):
        raise UsageProblem(f"{value}: this shell's printf takes decimal numbers for %d")
    return str(int(value or "0"))


async def change_folder(process: Process) -> int:
    variables = process.variables
    target = process.argv[1] if len(process.argv) > 1 else variables.get("HOME") or "/"
    path = variables.path(variables.get("OLDPWD") or "/" if target == "-" else target)
    if not process.files.is_folder(path):
        why = NO_FOLDER if process.files.is_file(path) else NO_FILE
        return await process.complain(f"{target}: {why}")
    variables.values["OLDPWD"], variables.folder = variables.folder, path
    variables.values["PWD"] = path
    if target == "-":
        await process.out.write(f"{path}\n")
    return 0


async def print_folder(process: Process) -> int:
    await process.out.write(f"{process.variables.folder}\n")
    return 0


async def export(process: Process) -> int:
    """Every variable is one of the environment here."""
    words = process.argv[1:]
    if words in ([], ["-p"]):
        values = process.variables.values.items()
        await process.out.write("".join(f"export {name}={shlex.quote(value)}\n" for name, value in values))
        return 0
    if words[0].startswith("-"):
        raise UsageProblem(f"{words[0]}: this shell's export has -p")
    for word in words:
        name, mark, value = word.partition("=")
        if mark:
            process.variables.values[name] = value
    return 0


async def unset(process: Process) -> int:
    for name in process.argv[1:]:
        process.variables.values.pop(name, None)
    return 0


async def environment(process: Process) -> int:
    """``env``, ``printenv`` and ``set`` without words; ``printenv NAME`` prints one."""
    values = process.variables.values
    names = process.argv[1:]
    if process.name == "env" and names:
        raise UsageProblem("this shell's env lists variables, and runs nothing")
    lines = [values[name] for name in names if name in values]
    if not names:
        lines = [f"{name}={value}" for name, value in values.items()]
    await process.out.write("".join(f"{line}\n" for line in lines))
    return int(any(name not in values for name in names))


async def set_options(process: Process) -> int:
    """``set -e``, ``set -o pipefail``, ``set -- ARGUMENT…``; alone it lists variables, and -o alone options."""
    words, variables = process.argv[1:], process.variables
    if not words:
        return await environment(process)
    if words in (["-o"], ["+o"]):
        states = {name: name in variables.options for name in NAMES}
        form = "{:<15}\t{}\n" if words == ["-o"] else "set {1}o {0}\n"
        state_texts = ("off", "on") if words == ["-o"] else ("+", "-")
        await process.out.write("".join(form.format(name, state_texts[state]) for name, state in states.items()))
        return 0
    variables.options, _, arguments = change_options(variables.options, words)
    if arguments[:1] in (["-"], ["+"]):
        raise UsageProblem(f"{arguments[0]}: invalid option")
    if arguments or "--" in words:
        variables.arguments = arguments
    return 0


async def leave(process: Process) -> int:
    raise Exit(_code(process))


def _code(process: Process) -> int:
    if len(process.argv) < 2:
        return process.variables.code
    text = process.argv[1]
    return int(text) % 256 if text.removeprefix("-").isdecimal() and len(text) < 10 else MISUSED


async def leave_loop(process: Process) -> int:
    if _number(process) > 1:
        await process.complain("this shell leaves one loop, not several", MISUSED)
        raise ScriptAborted(MISUSED)
    raise LoopExit(goes_on=process.name == "continue")


async def shift(process: Process) -> int:
    number = _number(process)
    if number > len(process.variables.arguments):
        raise UsageProblem("can't shift that many")
    del process.variables.arguments[:number]
    return 0


def _number(process: Process) -> int:
    text = process.argv[1] if len(process.argv) > 1 else "1"
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise UsageProblem(f"Illegal number: {text}")
    return int(text)


async def read(process: Process) -> int:
    """A line into variables, the last of which takes what is left."""
    options, names = getopt(process.argv[1:], "r")
    line = await process.stdin.line()
    if "\\" in line and not options:
        raise UsageProblem("a backslash is more than this shell's read can do without -r")
    separators = process.variables.separators
    remaining = line.removesuffix("\n").strip("".join(sign for sign in _SPACES if sign in separators))
    for name in names[:-1]:
        process.variables.values[name], remaining = cut_field(remaining, separators)
    # A separator at the end belongs to the last field when there is no other.
    last, remainder = cut_field(remaining, separators)
    process.variables.values[names[-1] if names else "REPLY"] = remaining if remainder else last
    return int(not line.endswith("\n"))


async def find_command(process: Process) -> int:
    """``which``, ``type`` and ``command -v``."""
    names = [word for word in process.argv[1:] if not word.startswith("-")]
    locations = [(name, _place(process, name)) for name in names if name in process.commands or name in SHELLS]
    if process.name == "type":
        lines = [f"{name} is {'a shell builtin' if place == name else place}" for name, place in locations]
    else:
        lines = [place for name, place in locations if place]
    await process.out.write("".join(f"{line}\n" for line in lines))
    for name in names if process.name == "type" else ():
        if name not in dict(locations):
            await process.complain(f"{name}: not found")
    return int(len(lines) < len(names)) * (1 if process.name == "which" else NOT_FOUND)


def _place(process: Process, name: str) -> str:
    """Its path; of a builtin its name, and nothing for ``which``, which knows files only."""
    if process.name == "which":
        return "" if name in _SHELL_ONLY else f"/usr/bin/{name}"
    return name if name in _BUILT_IN else f"/usr/bin/{name}"


_FILE_TESTS: dict[str, Callable[[Process, str], bool]] = {
    "-e": lambda process, path: process.files.exists(path),
    "-f": lambda process, path: process.files.is_file(path),
    "-d": lambda process, path: process.files.is_folder(path),
    "-r": lambda process, path: process.files.exists(path),
    "-s": lambda process, path: process.files.is_file(path) and process.files.size(path) > 0,
}
_NUMBER_TESTS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda one, other: one == other,
    "-ne": lambda one, other: one != other,
    "-lt": lambda one, other: one < other,
    "-le": lambda one, other: one <= other,
    "-gt": lambda one, other: one > other,
    "-ge": lambda one, other: one >= other,
}


async def test(process: Process) -> int:
    words = process.argv[1:]
    if process.name == "[":
        if words[-1:] != ["]"]:
            return await process.complain("missing `]'", MISUSED)
        words.pop()
    if len(words) > _MOST_TEST_WORDS:
        raise UsageProblem("too many arguments")
    return int(not _holds(process, words))


def _holds(process: Process, words: list[str]) -> bool:
    if words[:1] == ["!"] and len(words) > 1:
        return not _holds(process, words[1:])
    if len(words) <= 1:
        return bool(words and words[0])
    if len(words) == 2:
        return _holds_of_one(process, *words)
    if len(words) == 3:
        return _holds_of_two(*words)
    for word in ("-o", "-a"):
        if word in words:
            place = words.index(word)
            sides = _holds(process, words[:place]), _holds(process, words[place + 1 :])
            return any(sides) if word == "-o" else all(sides)
    raise UsageProblem("too many arguments")


def _holds_of_one(process: Process, word: str, value: str) -> bool:
    if word in ("-n", "-z"):
        return bool(value) == (word == "-n")
    if word not in _FILE_TESTS:
        raise UsageProblem(f"{word}: unary operator expected")
    return _FILE_TESTS[word](process, process.variables.path(value))


def _holds_of_two(first: str, word: str, second: str) -> bool:
    if word in ("=", "==", "!="):
        return (first == second) == (word != "!=")
    if word not in _NUMBER_TESTS:
        raise UsageProblem(f"{word}: binary operator expected")
    for text in (first, second):
        if not text.removeprefix("-").isdecimal() or len(text) > 20:
            raise UsageProblem(f"{text}: integer expression expected")
    return _NUMBER_TESTS[word](int(first), int(second))


def date_text(now: float, words: Sequence[str]) -> str:
    """What ``date`` prints; raises ``UsageProblem``."""
    form = "%a %b %e %H:%M:%S UTC %Y"
    for word in words:
        match = _DATE.fullmatch(word) if len(word) <= _LONGEST_DATE else None
        if match is None and word not in ("-u", "--utc"):
            raise UsageProblem(f"{word[:40]}: this shell's date takes -u and +FORMAT")
        form = match[1] if match else form
    parts = form.split("%%")
    seconds = str(int(now))
    return datetime.fromtimestamp(now, UTC).strftime("%%".join(part.replace("%s", seconds) for part in parts))


async def name_of(process: Process) -> int:
    if len(process.argv) < 2:
        return await process.complain("missing operand")
    path = process.argv[1].rstrip("/") or "/"
    if process.name == "dirname":
        text = posixpath.dirname(path) or "."
    else:
        text = (posixpath.basename(path) or "/").removesuffix(process.argv[2] if len(process.argv) > 2 else "")
    await process.out.write(f"{text}\n")
    return 0


BUILTINS: dict[str, Program] = {
    ":": succeed,
    "true": succeed,
    "false": fail,
    "sleep": succeed,
    "echo": echo,
    "printf": printf,
    "cd": change_folder,
    "pwd": print_folder,
    "export": export,
    "unset": unset,
    "env": environment,
    "printenv": environment,
    "set": set_options,
    "exit": leave,
    "break": leave_loop,
    "continue": leave_loop,
    "shift": shift,
    "read": read,
    "which": find_command,
    "type": find_command,
    "command": find_command,
    "test": test,
    "[": test,
    "basename": name_of,
    "dirname": name_of,
}
