"""A refusal of the server in the words of the command line: which login, which option, which value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from canton.cli.session import Session
from canton.domain.errors import CantonError, NotAuthenticated

LOGIN = re.compile(r"canton (login|logout)(?! --)")


@contextmanager
def explained(session: Session) -> Iterator[None]:
    """Raise what is raised inside, said so that the next command can be copied from it."""
    try:
        yield
    except NotAuthenticated as error:
        _explain_login(session, error)
        raise


def _explain_login(session: Session, error: CantonError) -> None:
    from canton.client.errors import Problem  # noqa: PLC0415 (only failures pay)

    other = session.other_context
    options = f" --context {other}" if other else "" if session.context_name else f" --server {session.server}"
    if isinstance(error, Problem) and error.code == NotAuthenticated.code and session.is_logged_out:
        to = f"context {session.context_name}" if session.context_name else session.server
        error.message = f"you are not logged in to {to}; run: canton login{options}"
    else:
        error.message = LOGIN.sub(rf"canton \1{options}", error.message)
