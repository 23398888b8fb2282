"""ls, cat, find, touch, mkdir, rm, tee."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase
from getopt import gnu_getopt

from csm_emulator.shell.files import NO_FILE, FileProblem
from csm_emulator.shell.patterns import LONGEST_PATTERN
from csm_emulator.shell.process import TICKS_PER_FILE, Process, Program, UsageProblem, lines_of


async def concatenate(process: Process) -> int:
    options, paths = gnu_getopt(process.argv[1:], "nu")
    code, number = 0, 0
    for path in paths or ["-"]:
        try:
            source = process.source(path)
            while piece := process.budget.handle(await source.read()):
                if ("-n", "") in options:
                    lines = lines_of(piece)
                    piece = "".join(f"{line_number:>6}\t{line}\n" for line_number, line in enumerate(lines, number + 1))
                    number += len(lines)
                await process.out.write(piece)
        except FileProblem as problem:
            code = await process.complain(f"{path}: {problem}")
    return code


async def list_files(process: Process) -> int:
    """``ls``: one name per line, even without ``-1``, since the output has no terminal width."""
    options, paths = gnu_getopt(process.argv[1:], "la1dhtr")
    flags = {name[1] for name, _ in options}
    code = 0
    files: list[str] = []
    listings: list[tuple[str, list[str]]] = []
    for path in sorted(paths or ["."]):
        process.budget.spend(TICKS_PER_FILE)
        absolute_path = process.variables.absolute_path(path)
        if process.files.is_folder(absolute_path) and "d" not in flags:
            listings.append((path, _names(process, absolute_path, flags)))
            if "l" in flags:
                listings[-1][1].insert(0, f"total {4 * len(listings[-1][1])}")
        elif process.files.exists(absolute_path):
            files.append(_describe(process, absolute_path, path, flags))
        else:
            code = await process.complain(f"cannot access '{path}': {NO_FILE}", 2)
    if files:
        listings.insert(0, ("", files))
    for number, (path, lines) in enumerate(listings):
        if path and len(paths) > 1:
            await process.out.write(("\n" if number else "") + f"{path}:\n")
        await process.out.write("".join(f"{line}\n" for line in lines))
    return code


def _names(process: Process, folder: str, flags: set[str]) -> list[str]:
    names = [name for name in process.files.entries(folder) if "a" in flags or not name.startswith(".")]
    names = [".", "..", *names] if "a" in flags else names
    if "r" in flags:
        names.reverse()
    return [_describe(process, posixpath.join(folder, name), name, flags) for name in names]


def _describe(process: Process, path: str, name: str, flags: set[str]) -> str:
    if "l" not in flags:
        return name
    folder = process.files.is_folder(posixpath.normpath(path))
    size = 4096 if folder else process.files.size(path)
    return f"{'drwxr-xr-x' if folder else '-rw-r--r--'} 1 root root {size:>8} Jan  1 00:00 {name}"


async def touch(process: Process) -> int:
    code = 0
    for path in _operands(process):
        process.budget.spend(TICKS_PER_FILE)
        absolute_path = process.variables.absolute_path(path)
        try:
            if not process.files.is_folder(absolute_path):
                process.files.write(absolute_path, "", append=True)
        except FileProblem as problem:
            code = await process.complain(f"cannot touch '{path}': {problem}")
    return code


async def make_folder(process: Process) -> int:
    options, paths = gnu_getopt(process.argv[1:], "p")
    code = 0
    for path in paths:
        absolute_path = process.variables.absolute_path(path)
        parts = absolute_path.split("/")
        steps = ("/".join(parts[: number + 1]) for number in range(1, len(parts))) if options else (absolute_path,)
        try:
            for step in steps:
                process.budget.spend(TICKS_PER_FILE)
                if not (options and process.files.is_folder(step)):
                    process.files.make_folder(step)
        except FileProblem as problem:
            code = await process.complain(f"cannot create directory '{path}': {problem}")
    return code


async def remove(process: Process) -> int:
    options, paths = gnu_getopt(process.argv[1:], "frR")
    flags = {name for name, _ in options}
    force = "-f" in flags
    code = 0
    for path in paths:
        process.budget.spend(TICKS_PER_FILE)
        absolute_path = process.variables.absolute_path(path)
        try:
            if {"-r", "-R"} & flags and process.files.is_folder(absolute_path):
                process.files.remove_folder(absolute_path)
            else:
                process.files.remove(absolute_path)
        except FileProblem as problem:
            if not (force and str(problem) == NO_FILE):
                code = await process.complain(f"cannot remove '{path}': {problem}")
    return code


async def find(process: Process) -> int:
    """``find PATH… [-maxdepth N] [-type d|f] [-name PATTERN] [-empty]``."""
    words = process.argv[1:]
    paths: list[str] = []
    while words and not words[0].startswith("-"):
        paths.append(words.pop(0))
    tests = _find_tests(words)
    code = 0
    for path in paths or ["."]:
        absolute_path = process.variables.absolute_path(path)
        if not process.files.exists(absolute_path):
            code = await process.complain(f"'{path}': {NO_FILE}")
            continue
        for inner_path, display_path, depth in _walk(process, absolute_path, path.rstrip("/") or "/"):
            process.budget.spend(TICKS_PER_FILE)
            if depth <= int(tests.get("-maxdepth", "99")) and _matches_tests(process, inner_path, tests):
                await process.out.write(f"{display_path}\n")
    return code


def _find_tests(words: list[str]) -> dict[str, str]:
    tests: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if word not in ("-maxdepth", "-type", "-name", "-empty") or (word != "-empty" and not words):
            raise UsageProblem("this shell's find has -maxdepth, -type, -name and -empty")
        if word in tests:
            raise UsageProblem(f"this shell's find has {word} once")
        tests[word] = "" if word == "-empty" else words.pop(0)
    if not tests.get("-maxdepth", "0").isdecimal() or tests.get("-type", "f") not in ("f", "d"):
        raise UsageProblem("this shell's find has -maxdepth NUMBER and -type d or f")
    if len(tests.get("-name", "")) > LONGEST_PATTERN:
        raise UsageProblem(f"a pattern of more than {LONGEST_PATTERN} characters is not supported by this shell")
    return tests


def _walk(process: Process, path: str, display_path: str, depth: int = 0) -> Iterator[tuple[str, str, int]]:
    yield path, display_path, depth
    if process.files.is_folder(path):
        for name in process.files.entries(path):
            yield from _walk(process, posixpath.join(path, name), posixpath.join(display_path, name), depth + 1)


def _matches_tests(process: Process, path: str, tests: dict[str, str]) -> bool:
    folder = process.files.is_folder(path)
    if "-type" in tests and folder != (tests["-type"] == "d"):
        return False
    if "-name" in tests and not fnmatchcase(posixpath.basename(path), tests["-name"]):
        return False
    return "-empty" not in tests or not (process.files.entries(path) if folder else process.files.size(path))


async def tee(process: Process) -> int:
    options, paths = gnu_getopt(process.argv[1:], "a")
    text = await process.stdin.read_all(process.budget)
    for path in paths:
        process.budget.handle(text)
        process.files.write(process.variables.absolute_path(path), text, append=bool(options))
    await process.out.write(text)
    return 0


def _operands(process: Process) -> list[str]:
    _, paths = gnu_getopt(process.argv[1:], "")
    if not paths:
        raise UsageProblem("missing file operand")
    return paths


FILE_TOOLS: dict[str, Program] = {
    "cat": concatenate,
    "ls": list_files,
    "touch": touch,
    "mkdir": make_folder,
    "rm": remove,
    "tee": tee,
    "find": find,
}
