"""A gateway of CSM that gives one fixed answer."""

from __future__ import annotations

from typing import Any

from canton.drivers.csm.gateway import Access, Gateway, Response


class FixedAnswerGateway(Gateway):
    """Answers a request for a token with a token, and every other request with ``answer``."""

    def __init__(self, access: Access, answer: Response) -> None:
        super().__init__(access)
        self.answer = answer

    def _send(self, *request: Any) -> Response:
        return Response(200, {"access_token": "t", "expires_in": 60}) if "token" in request[1] else self.answer
