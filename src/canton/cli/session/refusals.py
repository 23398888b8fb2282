"""Rewrites the server's refusals for the command line: they name the login command, the option and the value."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from canton.cli.output.formats import nearest
from canton.domain.errors import InvalidRequest, NotAuthenticated

if TYPE_CHECKING:
    from canton.cli.session.session import Session

LOGIN = re.compile(r"canton (login|logout)(?! --)")
PLACES = ("query", "body", "path", "header")
MAX_NAMED_MISTAKES = 5
"""At most this many mistakes of a request are named; the others are counted."""
REPLACEMENTS = (
    (re.compile(r"[.;] Correct it and send it again$"), ""),
    (re.compile(r"is bound at the provider: leave the tenant null"), "is for the provider: give --provider"),
    (re.compile(r"is bound at a tenant: name it"), "is for a tenant: give --tenant, without --provider"),
    (re.compile(r"GET /v1/roles lists them all"), "look with: canton role list -c name,permissions"),
)
"""Parts of the API's messages, and the same in terms of the command line."""
PERMISSION = re.compile(r'(there is no permission "([a-z-]+)\.([^"]+)"); did you mean "([a-z-]+)\.([^"]+)"\?')
PERMISSIONS = "look with: canton role list -c name,permissions"
CHOICES = re.compile(r"Input should be ('.*')")
NONE_GIVEN = "List should have at least 1 item after validation, not 0"


@contextmanager
def explain_refusals(session: Session) -> Iterator[None]:
    """Rewrite the message of errors raised inside, so that it names options and commands to copy."""
    try:
        yield
    except NotAuthenticated as error:
        _explain_login(session, error)
        raise
    except InvalidRequest as error:
        if _is_from_server(error):
            _explain_request(click.get_current_context(), error)
        raise


def _is_from_server(error: Exception) -> bool:
    from canton.client.errors import Problem  # noqa: PLC0415 (only failures pay)

    return isinstance(error, Problem)


def _explain_login(session: Session, error: NotAuthenticated) -> None:
    other_context = session.other_context
    is_in_context = session.is_in_context
    options = (
        f" --server {session.server}" if not is_in_context else f" --context {other_context}" if other_context else ""
    )
    if os.environ.get("CANTON_TOKEN", "").strip() and session.is_connected and _is_from_server(error):
        error.message = f"{error.message}; the token comes from CANTON_TOKEN"
    elif session.is_connected and error.code == NotAuthenticated.code and session.is_logged_out:
        to = f"context {session.context_name}" if is_in_context else session.server
        error.message = f"you are not logged in to {to}; run: canton login{options}"
    else:
        error.message = LOGIN.sub(rf"canton \1{options}", error.message)


def _explain_request(context: click.Context, error: InvalidRequest) -> None:
    mistakes: Any = error.details.get("errors")
    if isinstance(mistakes, list | tuple) and mistakes:
        texts = [_mistake(context, mistake) for mistake in mistakes[:MAX_NAMED_MISTAKES]]
        more = f"; and {len(mistakes) - MAX_NAMED_MISTAKES} more" if len(mistakes) > MAX_NAMED_MISTAKES else ""
        error.message = "; ".join(texts) + more
        return
    for pattern, words in REPLACEMENTS:
        error.message = pattern.sub(words, error.message)
    error.message = PERMISSION.sub(_permission, error.message)


def _permission(match: re.Match[str]) -> str:
    """The server's suggestion, if both its noun and its verb are similar to what was typed."""
    statement, noun, verb, near_noun, near_verb = match.groups()
    if nearest(noun, [near_noun]) and nearest(verb, [near_verb]):
        return match[0]
    return f"{statement}; {PERMISSIONS}"


def _mistake(context: click.Context, mistake: Mapping[str, object]) -> str:
    place, _, field_path = str(mistake.get("where")).partition(".")
    field = field_path if place in PLACES else str(mistake.get("where"))
    key = field.partition(".")[0]
    what = str(mistake.get("what"))
    choices = CHOICES.fullmatch(what)
    if choices:
        what = _not_among(re.findall(r"'([^']*)'", choices[1]), _value(context, key))
    elif what == NONE_GIVEN:
        what = f"give at least one; {PERMISSIONS}" if key == "permissions" else "give at least one"
    else:
        what = re.sub(r"^(Input|String|List|Value) should ", "must ", what).replace("Field required", "is missing")
    name = _option(context, key) or field
    return f"{name}: {what}" if name else what


def _not_among(choices: list[str], value: object) -> str:
    choice_list = ", ".join(choices)
    return (
        f'"{value}" is not one of {choice_list}{nearest(value, choices)}'
        if isinstance(value, str)
        else f"use {choice_list}"
    )


def _option(context: click.Context, key: str) -> str | None:
    """The option or argument of the command that a field of the request comes from."""
    if key in (context.params.get("selector") or ()):
        return f"--selector {key}"
    for param in context.command.params:
        if key in (param.name, f"{param.name}_id") or f"--{key.lower().replace('_', '-')}" in param.opts:
            return max(param.opts, key=len) if isinstance(param, click.Option) else param.make_metavar(context)
    return "--reason" if key.lower() == "canton-reason" else None


def _value(context: click.Context, key: str) -> object:
    return (context.params.get("selector") or context.params).get(key, context.params.get(key))
