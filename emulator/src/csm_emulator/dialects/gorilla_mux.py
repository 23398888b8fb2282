"""Routing as in gorilla/mux 1.8.1 with StrictSlash, which most services of HMS use.

The first route that fits path and method wins, so ``GET …/Components/BulkStateData`` reads a component of that name. A
path that exists with other methods is 405 only when no later route of any path has the method: every route whose
method fits makes mux forget the mismatch before it. (mux route.go, Match)
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from urllib.parse import quote, urlencode

from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Handler, Route, go_not_found, go_wrong_method

Shape = tuple[str | None, ...]
"""The segments of a path; None stands for a ``{name}``. A trailing slash is omitted: StrictSlash matches both."""
WrongMethod = Callable[[Call, Sequence[str]], Reply]


def settle(routes: Sequence[Route]) -> list[Route]:
    """The routes, with additional ones for paths that several patterns match, so that the first of them wins."""
    places = _places(tuple((route.method, route.path) for route in routes))
    return [_narrowed(routes[place], shape).through(_cleaning) for place, shape in places]


@cache
def _places(patterns: tuple[tuple[str, str], ...]) -> tuple[tuple[int, Shape], ...]:
    """For each path and method the place of the first matching pattern; cached, since routes never change."""
    shapes = [_shape(path) for _, path in patterns]
    places: dict[tuple[Shape, str], int] = {}
    for shape in _overlaps(dict.fromkeys(shapes)):
        for place, (method, _) in enumerate(patterns):
            if _covers(shapes[place], shape):
                places.setdefault((shape, method), place)
    return tuple((place, shape) for (shape, _), place in places.items())


class Mux:
    """The responses to unmatched requests; ``routes`` are in the order in which the real service registers them."""

    def __init__(self, routes: Sequence[Route], refuse: WrongMethod = go_wrong_method) -> None:
        self._routes = [(route.method, _shape(route.path), route.path) for route in routes]
        self._refuse = refuse

    def not_found(self, call: Call) -> Reply:
        cleaned = _cleaned(call.path)
        if cleaned != call.path:
            return _moved(call, cleaned)
        shape = _segments(call.path)
        for method, own, pattern in self._routes:
            if method == call.method and _covers(own, shape):
                bare = call.path.removesuffix("/")
                return _redirected(call, f"{bare}/" if pattern.endswith("/") else bare)
        return self.wrong_method(call, ())

    def wrong_method(self, call: Call, _: Sequence[str]) -> Reply:
        shape = _segments(call.path)
        fits = [place for place, (_, own, _) in enumerate(self._routes) if _covers(own, shape)]
        if not fits or any(method == call.method for method, _, _ in self._routes[fits[-1] :]):
            return go_not_found(call)
        return self._refuse(call, [self._routes[place][0] for place in fits])


def _shape(pattern: str) -> Shape:
    return tuple(None if segment.startswith("{") else segment for segment in _segments(pattern))


def _segments(path: str) -> tuple[str, ...]:
    return tuple(path.removesuffix("/").split("/")[1:])


def _covers(wide: Shape, narrow: Shape) -> bool:
    return len(wide) == len(narrow) and all(one in (None, two) for one, two in zip(wide, narrow, strict=True))


def _overlaps(shapes: dict[Shape, None]) -> list[Shape]:
    """The shapes, and those of the paths that two of them match."""
    overlaps = dict(shapes)
    for one, two in combinations(shapes, 2):
        if len(one) == len(two) and all(a == b or None in (a, b) for a, b in zip(one, two, strict=True)):
            overlaps[tuple(a or b for a, b in zip(one, two, strict=True))] = None
    return list(overlaps)


def _narrowed(route: Route, shape: Shape) -> Route:
    """The route for a shape in which some of its names have fixed values; the route itself if none has."""
    if _shape(route.path) == shape:
        return route
    segments = _segments(route.path)
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


def _cleaned(path: str) -> str:
    """The path without empty and dot segments; a trailing slash stays."""
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
