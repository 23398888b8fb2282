from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from crash.scenario import Case, case
from databases import Databases

NewCase = Callable[..., AbstractContextManager[Case]]


@pytest.fixture
def new_case(fresh_databases: Databases, templates: dict[str, str], backend: str, tmp_path: Path) -> NewCase:
    """Makes cases, each with a database and a device of its own."""
    made = 0

    @contextmanager
    def make(*, faulty: bool = True, submitted: bool = True) -> Iterator[Case]:
        nonlocal made
        made += 1
        folder = tmp_path / str(made)
        with (
            fresh_databases.copy(templates[backend]) as url,
            case(url, folder, faulty=faulty, submitted=submitted) as ready,
        ):
            yield ready

    return make
