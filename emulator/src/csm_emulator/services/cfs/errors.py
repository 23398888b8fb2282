"""What all operations answer with, beside what connexion has for them."""

from __future__ import annotations

from csm_emulator.dialects.connexion import Refused, answering, internal_error, problem
from csm_emulator.services.cfs.components.changes import Stumble
from csm_emulator.transport.routes import Handler, catching

UNPARSABLE = "Error parsing the data provided."


def served(handler: Handler) -> Handler:
    return catching(answering(handler), Stumble, lambda *_: internal_error())


def refuse(status: int, title: str, detail: str) -> Refused:
    return Refused(problem(status, title, detail))


def check_key(name: str) -> None:
    """The database takes no name with half a pair of surrogates in it; raises ``Stumble``."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise Stumble from error


def no_component(name: str) -> Refused:
    return refuse(404, "Component not found.", f"Component {name} could not be found")


def no_session(name: str) -> Refused:
    return refuse(404, "Session not found.", f"Session {name} could not be found")


def no_configuration(name: str) -> Refused:
    return refuse(404, "Configuration not found", f"Configuration {name} could not be found")
