"""Error responses of CFS, in addition to those of connexion."""

from __future__ import annotations

from csm_emulator.dialects.connexion import Refused, answering, internal_error, problem
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.transport.routes import Handler, catching

UNPARSABLE = "Error parsing the data provided."


def with_error_handling(handler: Handler) -> Handler:
    return catching(answering(handler), UncaughtError, lambda *_: internal_error())


def refuse(status: int, title: str, detail: str) -> Refused:
    return Refused(problem(status, title, detail))


def check_key(name: str) -> None:
    """Raises ``UncaughtError`` for a name with a lone surrogate, which the database does not accept."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise UncaughtError from error


def no_component(name: str) -> Refused:
    return refuse(404, "Component not found.", f"Component {name} could not be found")


def no_session(name: str) -> Refused:
    return refuse(404, "Session not found.", f"Session {name} could not be found")


def no_configuration(name: str) -> Refused:
    return refuse(404, "Configuration not found", f"Configuration {name} could not be found")
