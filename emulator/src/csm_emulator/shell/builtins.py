"""Commands about the shell itself (variables, working directory, options, exit), echo, test, date and the like."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from getopt import getopt

from csm_emulator.shell.expansion import split_first_field
from csm_emulator.shell.files import NO_FILE, NOT_FOLDER
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
    await process.out.write((unescape(text) if escapes else text) + ("\n" if newline else ""))
    return 0


def unescape(text: str) -> str:
    """The text with its backslash escapes replaced; raises ``UsageProblem`` for a byte that is not ASCII."""

    def value(match: re.Match[str]) -> str:
        if match[3]:
            return _ESCAPES.get(match[3], match[0])
        number = int(match[1], 16) if match[1] else int(match[2], 8)
        if number > 127:
            raise UsageProblem(f"{match[0]}: this shell has escapes of ASCII only")
        return chr(number)

    return _ESCAPED.sub(value, text)


async def printf(process: Process) -> int:
    """``%s``, ``%b``, ``%d``, ``%i`` and ``%%``; the format is repeated until all arguments are used."""
    words = process.argv[2:] if process.argv[1:2] == ["--"] else process.argv[1:]
    if not words:
        return await process.complain("usage: printf format [arguments]", MISUSED)
    format_text, arguments = unescape(words[0]), words[1:]
    while True:
        text, arguments, used = _format_once(format_text, arguments)
        await process.out.write(process.budget.handle(text))
        if not arguments or not used:
            return 0


def _format_once(format_text: str, arguments: list[str]) -> tuple[str, list[str], bool]:
    """The text, the remaining arguments, and whether the format uses arguments."""
    head, *parts = format_text.split("%")
    result, used = [head], False
    remaining = list(arguments)
    indexes = iter(range(len(parts)))
    for index in indexes:
        part = parts[index]
        if not part and index + 1 < len(parts):
            result.append("%" + parts[next(indexes)])
        elif part[:1] in ("s", "d", "i", "b"):
            used = True
            value = remaining.pop(0) if remaining else ""
            result.append(_convert(part[0], value) + part[1:])
        else:
            raise UsageProblem(f"`%{part[:1]}': this shell's printf has %s, %d and %%")
    return "".join(result), remaining, used


def _convert(letter: str, value: str) -> str:
    if letter in "sb":
        return value if letter == "s" else unescape(value)
    if not re.fullmatch("[-+]?(0|[1-9][0-9]{0,17})", value or "0"):
        raise UsageProblem(f"{value}: this shell's printf takes decimal numbers for %d")
    return str(int(value or "0"))


async def change_folder(process: Process) -> int:
    variables = process.variables
    target = process.argv[1] if len(process.argv) > 1 else variables.get("HOME") or "/"
    path = variables.absolute_path(variables.get("OLDPWD") or "/" if target == "-" else target)
    if not process.files.is_folder(path):
        reason = NOT_FOLDER if process.files.is_file(path) else NO_FILE
        return await process.complain(f"{target}: {reason}")
    variables.values["OLDPWD"], variables.folder = variables.folder, path
    variables.values["PWD"] = path
    if target == "-":
        await process.out.write(f"{path}\n")
    return 0


async def print_folder(process: Process) -> int:
    await process.out.write(f"{process.variables.folder}\n")
    return 0


async def export(process: Process) -> int:
    """Assigns variables; this shell exports every variable."""
    words = process.argv[1:]
    if words in ([], ["-p"]):
        values = process.variables.values.items()
        await process.out.write("".join(f"export {name}={shlex.quote(value)}\n" for name, value in values))
        return 0
    if words[0].startswith("-"):
        raise UsageProblem(f"{words[0]}: this shell's export has -p")
    for word in words:
        name, equals_sign, value = word.partition("=")
        if equals_sign:
            process.variables.values[name] = value
    return 0


async def unset(process: Process) -> int:
    for name in process.argv[1:]:
        process.variables.values.pop(name, None)
    return 0


async def print_environment(process: Process) -> int:
    """``env``, ``printenv`` and ``set`` without arguments; ``printenv NAME`` prints one variable."""
    values = process.variables.values
    names = process.argv[1:]
    if process.name == "env" and names:
        raise UsageProblem("this shell's env lists variables and does not run commands")
    lines = [values[name] for name in names if name in values]
    if not names:
        lines = [f"{name}={value}" for name, value in values.items()]
    await process.out.write("".join(f"{line}\n" for line in lines))
    return int(any(name not in values for name in names))


async def set_options(process: Process) -> int:
    """``set -e``, ``set -o pipefail``, ``set -- ARGUMENT…``; ``set`` lists variables, and ``set -o`` lists options."""
    words, variables = process.argv[1:], process.variables
    if not words:
        return await print_environment(process)
    if words in (["-o"], ["+o"]):
        states = {name: name in variables.options for name in NAMES}
        format_text = "{:<15}\t{}\n" if words == ["-o"] else "set {1}o {0}\n"
        state_texts = ("off", "on") if words == ["-o"] else ("+", "-")
        await process.out.write("".join(format_text.format(name, state_texts[state]) for name, state in states.items()))
        return 0
    variables.options, _, arguments = change_options(variables.options, words)
    if arguments[:1] in (["-"], ["+"]):
        raise UsageProblem(f"{arguments[0]}: invalid option")
    if arguments or "--" in words:
        variables.arguments = arguments
    return 0


async def exit_shell(process: Process) -> int:
    raise Exit(_exit_code(process))


def _exit_code(process: Process) -> int:
    if len(process.argv) < 2:
        return process.variables.code
    text = process.argv[1]
    return int(text) % 256 if text.removeprefix("-").isdecimal() and len(text) < 10 else MISUSED


async def leave_loop(process: Process) -> int:
    if _number(process) > 1:
        await process.complain("leaving several loops is not supported by this shell", MISUSED)
        raise ScriptAborted(MISUSED)
    raise LoopExit(is_continue=process.name == "continue")


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
    """Reads a line into variables; the last one gets the rest of the line."""
    options, names = getopt(process.argv[1:], "r")
    line = await process.stdin.line()
    if "\\" in line and not options:
        raise UsageProblem("a backslash is not supported by this shell's read without -r")
    separators = process.variables.separators
    remaining = line.removesuffix("\n").strip("".join(char for char in _SPACES if char in separators))
    for name in names[:-1]:
        process.variables.values[name], remaining = split_first_field(remaining, separators)
    # A separator after the last field is removed only if the field contains no other separator.
    last, remainder = split_first_field(remaining, separators)
    process.variables.values[names[-1] if names else "REPLY"] = remaining if remainder else last
    return int(not line.endswith("\n"))


async def find_command(process: Process) -> int:
    """``which``, ``type`` and ``command -v``."""
    names = [word for word in process.argv[1:] if not word.startswith("-")]
    locations = [(name, _location(process, name)) for name in names if name in process.commands or name in SHELLS]
    if process.name == "type":
        lines = [f"{name} is {'a shell builtin' if location == name else location}" for name, location in locations]
    else:
        lines = [location for _, location in locations if location]
    await process.out.write("".join(f"{line}\n" for line in lines))
    for name in names if process.name == "type" else ():
        if name not in dict(locations):
            await process.complain(f"{name}: not found")
    return int(len(lines) < len(names)) * (1 if process.name == "which" else NOT_FOUND)


def _location(process: Process, name: str) -> str:
    """The path of a command or the name of a builtin; empty for a builtin in ``which``, which lists only files."""
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
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
}


async def test(process: Process) -> int:
    words = process.argv[1:]
    if process.name == "[":
        if words[-1:] != ["]"]:
            return await process.complain("missing `]'", MISUSED)
        words.pop()
    if len(words) > _MOST_TEST_WORDS:
        raise UsageProblem("too many arguments")
    return int(not _evaluate(process, words))


def _evaluate(process: Process, words: list[str]) -> bool:
    """The value of a ``test`` expression."""
    if words[:1] == ["!"] and len(words) > 1:
        return not _evaluate(process, words[1:])
    if len(words) <= 1:
        return bool(words and words[0])
    if len(words) == 2:
        return _evaluate_unary(process, *words)
    if len(words) == 3:
        return _evaluate_binary(*words)
    for word in ("-o", "-a"):
        if word in words:
            index = words.index(word)
            sides = _evaluate(process, words[:index]), _evaluate(process, words[index + 1 :])
            return any(sides) if word == "-o" else all(sides)
    raise UsageProblem("too many arguments")


def _evaluate_unary(process: Process, word: str, value: str) -> bool:
    if word in ("-n", "-z"):
        return bool(value) == (word == "-n")
    if word not in _FILE_TESTS:
        raise UsageProblem(f"{word}: unary operator expected")
    return _FILE_TESTS[word](process, process.variables.absolute_path(value))


def _evaluate_binary(first: str, word: str, second: str) -> bool:
    if word in ("=", "==", "!="):
        return (first == second) == (word != "!=")
    if word not in _NUMBER_TESTS:
        raise UsageProblem(f"{word}: binary operator expected")
    for text in (first, second):
        if not text.removeprefix("-").isdecimal() or len(text) > 20:
            raise UsageProblem(f"{text}: integer expression expected")
    return _NUMBER_TESTS[word](int(first), int(second))


def date_text(now: float, words: Sequence[str]) -> str:
    """The output of ``date``; raises ``UsageProblem`` for an unsupported argument."""
    format_text = "%a %b %e %H:%M:%S UTC %Y"
    for word in words:
        match = _DATE.fullmatch(word) if len(word) <= _LONGEST_DATE else None
        if match is None and word not in ("-u", "--utc"):
            raise UsageProblem(f"{word[:40]}: this shell's date takes -u and +FORMAT")
        format_text = match[1] if match else format_text
    parts = format_text.split("%%")
    seconds = str(int(now))
    return datetime.fromtimestamp(now, UTC).strftime("%%".join(part.replace("%s", seconds) for part in parts))


async def print_path_part(process: Process) -> int:
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
    "env": print_environment,
    "printenv": print_environment,
    "set": set_options,
    "exit": exit_shell,
    "break": leave_loop,
    "continue": leave_loop,
    "shift": shift,
    "read": read,
    "which": find_command,
    "type": find_command,
    "command": find_command,
    "test": test,
    "[": test,
    "basename": print_path_part,
    "dirname": print_path_part,
}
