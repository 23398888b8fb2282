"""Routes: which function handles which method and path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from csm_emulator.transport.admission import TOO_LARGE
from csm_emulator.transport.call import Call, Reply, text_reply

Handler = Callable[[Call], Reply]
Raised = TypeVar("Raised", bound=Exception)


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    """A path in which ``{name}`` matches any segment, and ``{name...}`` at the end all remaining ones."""
    handler: Handler

    def through(self, wrap: Callable[[Handler], Handler]) -> Route:
        """The same route with its handler wrapped."""
        return replace(self, handler=wrap(self.handler))


def catching(handler: Handler, kind: type[Raised], answer: Callable[[Call, Raised], Reply]) -> Handler:
    """A handler that turns exceptions of this kind into replies."""

    def handle(call: Call) -> Reply:
        try:
            return handler(call)
        except kind as raised:
            return answer(call, raised)

    return handle


_UNSUPPORTED = "csm_emulator_unsupported"


def unsupported(reason: str, answer: Callable[[str], Reply]) -> Handler:
    """The handler of an unsupported operation: status 501, with the reason in the service's error format."""

    def refuse(_: Call) -> Reply:
        return answer(reason)

    setattr(refuse, _UNSUPPORTED, reason)
    return refuse


def reason_unsupported(handler: Handler) -> str:
    """Why the operation is not supported; empty if it is."""
    return str(getattr(handler, _UNSUPPORTED, ""))


NO_SNIFF = (("X-Content-Type-Options", "nosniff"),)
"""The header that Go's ``http.Error`` adds."""


def go_not_found(_: Call) -> Reply:
    """The 404 of Go's HTTP server."""
    return replace(text_reply("404 page not found\n", 404), headers=NO_SNIFF)


def go_wrong_method(_: Call, allowed: Sequence[str]) -> Reply:  # noqa: ARG001 (the shape of every such function)
    """The 405 of gorilla/mux, without a body."""
    return Reply(405)


@dataclass(frozen=True, slots=True)
class EmulatedService:
    """One service: its routes, and its place behind the gateway."""

    name: str
    mounts: Sequence[tuple[str, str]]
    """(prefix on the gateway, prefix at the service): ``("/apis/smd", "")``."""
    routes: Sequence[Route]
    not_found: Handler = go_not_found
    wrong_method: Callable[[Call, Sequence[str]], Reply] = go_wrong_method
    body_limit: int = 5 << 20
    """Bytes: enough for every component of a machine of 10,000 nodes, and mostly less than a second's work."""
    open_paths: Sequence[str] = ()
    """Prefixes on the gateway that need no token."""
    has_own_listener: bool = False
    """Whether it has a listener of its own instead of being behind the gateway."""
    too_large: Reply = TOO_LARGE
    """The response to a body above ``body_limit``."""
    restarted: Callable[[], None] | None = None
    """Called after a restart of the service: it discards what it kept in memory only."""
    stopped: Callable[[], None] | None = None
    """Called when the last pod of the service has ended: what its process does on SIGTERM."""


@dataclass(slots=True)
class _Branch:
    fixed: dict[str, _Branch] = field(default_factory=dict)
    any: _Branch | None = None
    catch_all: dict[str, tuple[Handler, tuple[str, ...]]] = field(default_factory=dict)
    handlers: dict[str, tuple[Handler, tuple[str, ...]]] = field(default_factory=dict)


class Router:
    """Finds handlers: fixed segments take precedence over ``{name}``, and ``{name}`` over ``{name...}``."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Branch()
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        branch, names = self._root, []
        for segment in route.path.split("/")[1:]:
            if segment.endswith("...}"):
                names.append(segment[1:-4])
                branch.catch_all[route.method] = (route.handler, tuple(names))
                return
            if segment.startswith("{"):
                names.append(segment[1:-1])
                branch.any = branch.any or _Branch()
                branch = branch.any
            else:
                branch = branch.fixed.setdefault(segment, _Branch())
        if route.method in branch.handlers:
            raise ValueError(f"two routes for {route.method} {route.path}")
        branch.handlers[route.method] = (route.handler, tuple(names))

    def find(self, path: str) -> tuple[Mapping[str, tuple[Handler, tuple[str, ...]]], tuple[str, ...]]:
        """The handlers of the best match, by method, and the values of its names; empty without a match."""
        return _find_handlers(self._root, path.split("/")[1:], ())

    def answer(self, call: Call, service: EmulatedService) -> Reply:
        methods, values = self.find(call.path)
        if not methods:
            return service.not_found(call)
        entry = methods.get(call.method)
        if entry is None:
            return service.wrong_method(call, sorted(methods))
        handler, names = entry
        return handler(call.at(dict(zip(names, values, strict=True))))


def _find_handlers(
    branch: _Branch, segments: list[str], values: tuple[str, ...]
) -> tuple[Mapping[str, tuple[Handler, tuple[str, ...]]], tuple[str, ...]]:
    if not segments:
        return branch.handlers, values
    head, tail = segments[0], segments[1:]
    if head in branch.fixed:
        match = _find_handlers(branch.fixed[head], tail, values)
        if match[0]:
            return match
    if branch.any is not None and head:
        match = _find_handlers(branch.any, tail, (*values, head))
        if match[0]:
            return match
    return (branch.catch_all, (*values, "/".join(segments))) if branch.catch_all else ({}, ())
