"""Paths as gorilla/mux 1.8.1 with StrictSlash takes them, whose habits SMD's clients see.

The first route that fits path and method wins, so ``GET …/Components/BulkStateData`` reads a component of that name. A
path that exists with other methods is 405 only when no later route of any path has the method: every route whose
method fits makes mux forget the mismatch before it. (mux route.go, Match)
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from itertools import combinations
from urllib.parse import quote, urlencode

from canton.emulator.faces.smd.problems import problem
from canton.emulator.wire.call import Call, Reply
from canton.emulator.wire.routes import Handler, Route

Shape = tuple[str, ...]
"""The segments of a path; empty where there is a name."""
_COLLECTION = "/hsm/v2/Subscriptions/SCN"


def settle(routes: Sequence[Route]) -> list[Route]:
    """With a route of its own for each path that several patterns fit, for every method that one of them has."""
    shapes = [_shape(route.path) for route in routes]
    settled: dict[tuple[Shape, str], Route] = {}
    for shape in _overlaps(dict.fromkeys(shapes)):
        for route, own in zip(routes, shapes, strict=True):
            if _covers(own, shape):
                settled.setdefault((shape, route.method), route if own == shape else _narrowed(route, shape))
    return [route.through(_cleaning) for route in settled.values()]


def _shape(path: str) -> Shape:
    return tuple("" if segment.startswith("{") else segment for segment in path.split("/")[1:])


def _covers(wide: Shape, narrow: Shape) -> bool:
    return len(wide) == len(narrow) and all(one in ("", two) for one, two in zip(wide, narrow, strict=True))


def _overlaps(shapes: dict[Shape, None]) -> list[Shape]:
    """The shapes, and where two of them fit the same path."""
    found = dict(shapes)
    for one, two in combinations(shapes, 2):
        if len(one) == len(two) and all(a == b or not (a and b) for a, b in zip(one, two, strict=True)):
            found[tuple(a or b for a, b in zip(one, two, strict=True))] = None
    return list(found)


def _narrowed(route: Route, shape: Shape) -> Route:
    """The route for a path in which some of its names are fixed."""
    segments = route.path.split("/")[1:]
    fixed = {
        segment[1:-1]: word for segment, word in zip(segments, shape, strict=True) if segment.startswith("{") and word
    }
    path = "/" + "/".join(word or segment for segment, word in zip(segments, shape, strict=True))
    return Route(route.method, path, lambda call: route.handler(call.at({**fixed, **call.args})))


def _cleaning(handler: Handler) -> Handler:
    def handle(call: Call) -> Reply:
        if "/." in call.path and _cleaned(call.path) != call.path:
            return _moved(call, _cleaned(call.path))
        return handler(call)

    return handle


class Mux:
    """What is said where no route fits."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = [(route.method, _shape(route.path)) for route in routes]

    def not_found(self, call: Call) -> Reply:
        cleaned = _cleaned(call.path)
        if cleaned != call.path:
            return _moved(call, cleaned)
        bare = call.path.removesuffix("/")
        if bare != call.path and (call.method in self._methods(bare)):
            return _redirected(call, bare)
        return self._refuse(call, bare)

    def wrong_method(self, call: Call, _: Sequence[str]) -> Reply:
        return self._refuse(call, call.path)

    def _refuse(self, call: Call, path: str) -> Reply:
        fits = [place for place, (_, shape) in enumerate(self._routes) if _covers(shape, _shape(path))]
        if not fits or any(method == call.method for method, _ in self._routes[fits[-1] :]):
            return Reply(
                404, b"404 page not found\n", "text/plain; charset=utf-8", [("X-Content-Type-Options", "nosniff")]
            )
        methods = ",".join(self._methods(path))
        return problem(405, f"allow {methods}", [("Allow", methods)])

    def _methods(self, path: str) -> list[str]:
        methods = [method for method, shape in self._routes if _covers(shape, _shape(path))]
        # SMD gave two routes the name doGetSCNSubscriptionV2, and finds the second by it where it means the first.
        if path == _COLLECTION:
            return [method for method in methods if method != "GET"]
        return ["GET", *methods] if path.startswith(f"{_COLLECTION}/") and methods else methods


def _cleaned(path: str) -> str:
    """Without empty and dotted segments; a slash at the end stays."""
    if not path.startswith("/"):
        path = "/" + path
    cleaned = posixpath.normpath("/" + path.lstrip("/"))
    return cleaned + "/" if path.endswith("/") and cleaned != "/" else cleaned


def _location(call: Call, path: str) -> str:
    query = urlencode(call.query)
    return quote(path, safe="/!$&'()*+,;=:@~") + (f"?{query}" if query else "")


def _moved(call: Call, path: str) -> Reply:
    return Reply(301, b"", "", [("Location", _location(call, path))])


def _redirected(call: Call, path: str) -> Reply:
    where = _location(call, path)
    if call.method not in ("GET", "HEAD"):
        return _moved(call, path)
    link = where.replace("&", "&amp;").replace("'", "&#39;")
    body = f'<a href="{link}">Moved Permanently</a>.\n\n'
    return Reply(301, body.encode(), "text/html; charset=utf-8", [("Location", where)])
