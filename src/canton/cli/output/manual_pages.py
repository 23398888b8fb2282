"""Manual pages, generated from the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from canton.cli.output.command_pages import Page, pages_of

EXIT_CODES = (
    ("0", "ok"),
    ("1", "failed"),
    ("2", "usage"),
    ("3", "not found"),
    ("4", "not logged in, or forbidden"),
    ("5", "conflict"),
    ("6", "time-out while waiting; the work goes on"),
    ("7", "partial: some nodes failed; they are listed on standard error"),
    ("8", "unreachable"),
    ("130", "interrupted"),
    ("141", "the reader of the output closed the pipe"),
)
ENVIRONMENT = (
    ("CANTON_CONTEXT", "the context to use"),
    ("CANTON_SERVER", "the address of the server"),
    ("CANTON_TENANT", "the tenant to use where a command names none"),
    ("CANTON_TOKEN", "a token to use instead of the stored login"),
    ("CANTON_CA", "a file with the certificates to trust"),
    ("CANTON_DEBUG", "print the traceback of an error"),
    ("NO_COLOR, CLICOLOR_FORCE", "never, or always, write colour"),
)


def manual(path: tuple[str, ...]) -> str:
    """The manual page of a top-level command with all its verbs, or of canton itself."""
    first, *inside = list(pages_of(path))
    title = "-".join(("canton", *path))
    lines = [
        f'.TH "{title.upper()}" "1" "" "Canton" "Canton"',
        ".SH NAME",
        f"{title} \\- {_escaped(_line(first.text))}",
    ]
    lines += [".SH SYNOPSIS", *([_synopsis(first)] if not path or not inside else map(_synopsis, _leaves(inside)))]
    lines += [".SH DESCRIPTION", *_text(first.text)]
    if path:
        lines += [line for page in (first, *inside) if not page.commands for line in _verb(page)]
    else:
        lines += [".SH COMMANDS", *_terms((f"canton {name}", text) for name, text in first.commands)]
        lines += [".SH OPTIONS", *_terms(first.options), ".SH ENVIRONMENT", *_terms(ENVIRONMENT)]
    lines += [
        ".SH EXAMPLES",
        ".nf",
        *(_escaped(line) for page in (first, *inside[: 0 if not path else None]) for line in page.examples),
        ".fi",
    ]
    lines += [".SH EXIT STATUS", *_terms(EXIT_CODES)]
    return "\n".join(lines) + "\n"


def _leaves(pages: Sequence[Page]) -> list[Page]:
    return [page for page in pages if not page.commands]


def _synopsis(page: Page) -> str:
    return f".B {_escaped(page.name)}\n{_escaped(page.usage.removeprefix(page.name).strip())}\n.br"


def _verb(page: Page) -> Iterator[str]:
    yield f'.SH "{_escaped(page.name.upper())}"'
    yield from _text(page.text)
    yield from _terms(page.options)


def _terms(pairs: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> Iterator[str]:
    for term, text in pairs:
        yield from (".TP", f".B {_escaped(term)}", _escaped(" ".join(text.split())))


def _text(text: str) -> Iterator[str]:
    """Paragraphs as roff; one that begins with Click's ``\\b`` keeps its lines."""
    for paragraph in text.split("\n\n"):
        preformatted = paragraph.startswith("\b")
        lines = paragraph.removeprefix("\b").strip("\n").split("\n")
        yield ".PP"
        if preformatted:
            yield from (".nf", *map(_escaped, lines), ".fi")
        else:
            yield _escaped(" ".join(" ".join(lines).split()))


def _line(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split()).rstrip(".")


def _escaped(text: str) -> str:
    """Text escaped for roff; hyphens stay ASCII hyphens, so that options can be copied."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", plain)
