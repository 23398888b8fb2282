from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from crash.scenario import Case, case
from databases import Databases

NewCase = Callable[..., AbstractContextManager[Case]]


@pytest.fixture
def new_case(fresh_databases: Databases, templates: dict[str, str], backend: str, tmp_path: Path) -> NewCase:
    """Creates cases, each with a database and a device of its own; callable from several threads."""
    template = templates[backend]
    folders = itertools.count(1)

    @contextmanager
    def make(*, faulty: bool = True, submitted: bool = True) -> Iterator[Case]:
        with (
            fresh_databases.copy(template) as url,
            case(url, tmp_path / str(next(folders)), faulty=faulty, submitted=submitted) as ready,
        ):
            yield ready

    return make
