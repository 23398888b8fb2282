"""One request to the machine's services: METHOD PATH [JSON]. What comes before this line says where it is."""

import json
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

REALM = "/keycloak/realms/shasta/protocol/openid-connect/token"


def send(method: str, path: str, body: str | None, headers: dict[str, str]) -> str:
    machine: dict[str, str] = globals()["KNOWN"]
    request = urllib.request.Request(machine["url"] + path, body.encode() if body else None, headers, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=machine["ca"])) as answer:  # noqa: S310
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code} {error.read().decode()}")


def main() -> None:
    secret = Path(globals()["KNOWN"]["secret"]).read_text()
    form = {"grant_type": "client_credentials", "client_id": "admin-client", "client_secret": secret}
    token = json.loads(send("POST", REALM, urllib.parse.urlencode(form), {}))["access_token"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    print(send(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None, headers), end="")


if __name__ == "__main__":
    main()
