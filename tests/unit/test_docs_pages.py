"""Every page of the docs is in the index, every link leads somewhere, and nothing that is planned is claimed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import canton
from canton.cli.main import root

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "README.md"
EMULATOR_PAGES = [ROOT / "emulator" / "README.md", *sorted((ROOT / "emulator" / "docs").rglob("*.md"))]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *EMULATOR_PAGES]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def links(page: Path) -> Iterator[str]:
    yield from LINK.findall(CODE.sub("", page.read_text()))


def targets(page: Path) -> set[Path]:
    """The files that a page links to, in this repository."""
    return {(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link}


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub and GitLab write them."""
    headings = HEADING.findall(CODE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path, link: str) -> bool:
    if "://" in link:
        return False
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or (bool(anchor) and anchor not in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [link for link in links(page) if broken(page, link)] == []


def test_every_page_is_in_the_index() -> None:
    """A decision may be in the list of decisions instead."""
    listed = targets(INDEX) | targets(ROOT / "docs" / "decisions" / "README.md")
    generated = {page for page in PAGES if page.parent == ROOT / "docs" / "reference"}
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in listed | {INDEX}] == []
    assert generated <= targets(INDEX)


def test_the_readme_leads_to_the_index() -> None:
    assert INDEX in targets(ROOT / "README.md")


# What is planned. A word for it among what works today would be a claim.
PLANNED = re.compile(r"\b(boot|images?|network|proo[fv]|proved|slurm|nomad|vlan|storage|web console)", re.IGNORECASE)


def part(page: Path, heading: str) -> str:
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
    assert match is not None, f"{page.name} has no heading {heading}"
    return match[1]


def test_the_readme_has_one_table_of_what_works_and_one_list_of_what_is_planned() -> None:
    today, planned = (part(ROOT / "README.md", f"What {what}") for what in ("works today", "is planned"))
    # The head of the table and the line below it are two of these.
    assert today.count("\n| ") > 3 + 1
    assert planned.count("\n- ") > 3
    assert PLANNED.findall(today) == []
    assert {"boot", "slurm", "proof"} <= {word.lower() for word in PLANNED.findall(planned)}


@pytest.mark.parametrize(
    "text",
    [
        re.search(r'^description = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE),
        re.search(r"^[^\n]+$", str(canton.__doc__), re.MULTILINE),
        re.search(r"^[^\n]+$", str(root.help), re.MULTILINE),
    ],
    ids=["package", "module", "help"],
)
def test_one_line_about_canton_claims_nothing_that_is_planned(text: re.Match[str] | None) -> None:
    assert text is not None
    assert PLANNED.findall(text[0]) == []


def test_the_threat_model_names_tests_that_are_there() -> None:
    page = (ROOT / "docs" / "explanation" / "threat-model.md").read_text()
    named = re.findall(r"`(\w+/(?:test_\w+\.py)?)`", page)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []


ASKING = re.compile(
    r"canton (node (enroll|assign|release|maintenance|retire|delete|power off)|tenant (suspend|delete)|member remove"
    r"|(site|service-account) delete|operation (undo|abandon|cancel))\b"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_block_of_commands_can_be_pasted(page: Path) -> None:
    """On a terminal these commands ask, and would take the next line of the block for the answer."""
    commands = re.findall(r"^\$ (.+)$", page.read_text(), re.MULTILINE)
    asking = [command for command in commands if ASKING.search(command)]
    # What is refused before it asks needs no --yes.
    harmless = ("--yes", "--dry-run", "node enroll --selector site=annex,state=discovered --reason")
    assert [command for command in asking if not any(word in command for word in harmless)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_secrets_go_into_files_that_only_their_owner_reads(page: Path) -> None:
    commands = re.findall(r"^\$ (.+)$", page.read_text(), re.MULTILINE)
    writing = [command for command in commands if re.search(r"> \S*(token|secret|password)\S*$", command)]
    assert [command for command in writing if "umask 077" not in command] == []


# The changelog tells history, in which a path may be gone.
PAGES_WITH_PATHS = [page for page in PAGES if page.name != "CHANGELOG.md"]
# What pages call a path for short begins in one of these folders.
PATH_ROOTS = (
    ROOT,
    ROOT / "src" / "canton",
    ROOT / "tests",
    ROOT / "emulator",
    ROOT / "emulator" / "src" / "csm_emulator",
    ROOT / "emulator" / "tests",
)
FOLDERS = {path.name for root in PATH_ROOTS for path in root.iterdir() if path.is_dir()} - {"build", "dist"}
PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|svg|toml|md|json|csv)|(?:[\w.-]+/)+[\w.-]*)(?::\w+)?`")


def named_paths(page: Path) -> set[str]:
    """The paths in backquotes, outside of blocks of code, that begin in a folder of this repository or are a module."""
    paths = set(PATH.findall(CODE.sub("", page.read_text())))
    return {path for path in paths if path.split("/")[0] in FOLDERS or path.endswith(".py")}


def is_there(path: str) -> bool:
    """A module without its folder may be anywhere: some pages name it beside its folder."""
    if "/" not in path:
        return any(next(root.rglob(path), None) for root in (ROOT / "src", ROOT / "emulator" / "src", ROOT / "tests"))
    return any((root / path).exists() or (root / f"{path}.py").exists() for root in PATH_ROOTS)


@pytest.mark.parametrize("page", PAGES_WITH_PATHS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_is_there(page: Path) -> None:
    assert sorted(path for path in named_paths(page) if not is_there(path)) == []


def test_the_map_names_paths() -> None:
    assert len(named_paths(ROOT / "ARCHITECTURE.md")) > 50


GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
GLOSSARY_WORDS = re.findall(r"^- \*\*(.+?)\*\*: ", GLOSSARY.read_text(), re.MULTILINE)
# The reference of the command line has its help.
OTHER_PAGES = " ".join(page.read_text() for page in PAGES if page not in (GLOSSARY, ROOT / "CHANGELOG.md"))


def test_the_glossary_has_each_word_once() -> None:
    assert len(GLOSSARY_WORDS) > 50
    assert sorted(GLOSSARY_WORDS) == sorted(set(GLOSSARY_WORDS))


@pytest.mark.parametrize("word", GLOSSARY_WORDS)
def test_each_word_of_the_glossary_is_used_in_a_page_or_in_help(word: str) -> None:
    spelling = r"[-_\s]+".join(re.escape(part) for part in re.split(r"[- ]", word))
    assert re.search(rf"\b{spelling}", OTHER_PAGES, re.IGNORECASE)
