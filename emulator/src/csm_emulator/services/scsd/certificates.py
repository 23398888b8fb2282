"""TLS certificates of controllers: created for a whole domain, stored in Vault, then installed on controllers."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import BOOL, STRING, STRINGS, GoType, struct
from csm_emulator.dialects.hms.names import normal, verified
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.records import Json, Record
from csm_emulator.services.scsd.problems import OperationError, with_error_replies
from csm_emulator.services.scsd.redfish import CHASSIS, CRAY, HPE, Redfish
from csm_emulator.services.scsd.targets import HsmError, verify
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

SEPARATORS = {"cabinet": "c", "chassis": "s", "blade": "b", "bmc": ""}
"""Kind of domain → letter of the xname before which the name of the domain ends."""
REPLACE = "/redfish/v1/CertificateService/Actions/CertificateService.ReplaceCertificate"
IMPORT = "/redfish/v1/Managers/1/SecurityService/HttpsCert/Actions/HpeHttpsCert.ImportCertificate"
_MANAGE = struct("main.bmcManageCertPost", {"Domain": STRING, "DomainIDs": STRINGS, "FQDN": STRING})
_SET = struct("main.rfCertPost", {"Force": BOOL, "CertDomain": STRING, "Targets": STRINGS})


class NotInDomain(Exception):
    """A name is in no domain; the text says why."""


@dataclass(frozen=True, slots=True)
class _Certificate:
    """The certificate of a domain in Vault; all fields are empty without one, which is no error."""

    certificate: str = ""
    fqdn: str = ""


class StoredCertificate(TypedDict):
    certificate: str
    fqdn: str
    number: int
    """How many certificates the domain has got."""


class InstalledCertificate(TypedDict):
    domain: str
    certificate: str


class Certificates:
    def __init__(self, context: Context, redfish: Redfish) -> None:
        self._context = context
        self._redfish = redfish
        self._vault: RecordTable[StoredCertificate] = context.tables.open("scsd.certs")
        self._installed: RecordTable[InstalledCertificate] = context.tables.open("scsd.certs.installed")

    def routes(self) -> list[Route]:
        return [
            Route("POST", "/v1/bmc/createcerts", with_error_replies(self.create)),
            Route("POST", "/v1/bmc/deletecerts", with_error_replies(self.delete)),
            Route("POST", "/v1/bmc/fetchcerts", with_error_replies(self.fetch)),
            Route("POST", "/v1/bmc/setcerts", with_error_replies(self.set_many)),
            Route("POST", "/v1/bmc/setcert/{xname}", with_error_replies(self.set_one)),
        ]

    def create(self, call: Call) -> Reply:
        request, separator = _read_domain_request(call.body, "request")
        return _results_reply([self._create(name, separator, request) for name in request["DomainIDs"] or ()])

    def _create(self, name: str, separator: str, request: Json) -> Json:
        try:
            domain = domain_of(name, separator)
        except NotInDomain as error:
            return _outside_domain(name, error)
        if request["Domain"].lower() == "chassis" and "c" not in domain:
            reason = f"Invalid chassis name: '{domain}' (missing 'c')"
            message = f"Error creating cert for '{name}', domain '{request['Domain']}': {reason}"
            return {"ID": name, "StatusCode": 500, "StatusMsg": message}
        previous = self._vault.get(domain)
        number = previous["number"] + 1 if previous else 1
        pem = _pem(self._context.random, domain, number)
        self._vault[domain] = {"certificate": pem, "fqdn": request["FQDN"], "number": number}
        return _ok(name)

    def delete(self, call: Call) -> Reply:
        request, separator = _read_domain_request(call.body, "request")
        results = []
        for name in request["DomainIDs"] or ():
            try:
                self._vault.pop(domain_of(name, separator), None)
                results.append(_ok(name))
            except NotInDomain as error:
                results.append(_outside_domain(name, error))
        return _results_reply(results)

    def fetch(self, call: Call) -> Reply:
        request, separator = _read_domain_request(call.body, "response")
        results = []
        for name in request["DomainIDs"] or ():
            try:
                certificate = self._stored(domain_of(name, separator))
                data = certificate.certificate.strip("\n").replace("\n", "\\n")
                results.append({**_ok(name), "Cert": {"CertType": "PEM", "CertData": data, "FQDN": certificate.fqdn}})
            except NotInDomain as error:
                results.append(_outside_domain(name, error))
        return _results_reply(results)

    def set_many(self, call: Call) -> Reply:
        request = _read(call.body, _SET, "request")
        names = request["Targets"] or []
        try:
            verify(self._context, names, force=request["Force"], groups=False)
        except HsmError as trouble:
            detail = f"ERROR: Problem verifying target/states: {trouble}."
            raise OperationError(500, "Indeterminate target/state", detail) from trouble
        separator = _separator(request["CertDomain"])
        errors, is_outside = _split_domain(names, separator, request["CertDomain"])
        inside = [name for name, outside in zip(names, is_outside, strict=True) if not outside]
        # The real SCSD applies the marks of the removed names to the shortened list, and so skips some valid ones.
        served = [name for index, name in enumerate(inside) if not is_outside[index]]
        return marshalled({"Targets": (errors + self._install(served, separator)) or None})

    def set_one(self, call: Call) -> Reply:
        target = normal(call.args["xname"])
        domain = call.first("Domain") if call.has("Domain") else call.first("domain", "cabinet")
        try:
            force = call.has("Force") or call.has("force")
            verify(self._context, [target], force=force, groups=False)
        except HsmError as trouble:
            detail = f"ERROR: Invalid xname: '{call.args['xname']}'."
            raise OperationError(400, "Bad target name", detail) from trouble
        separator = SEPARATORS.get(domain.lower())
        if separator is None:
            raise OperationError(400, "Bad cert domain", f"ERROR: Invalid cert domain: '{domain}'.")
        try:
            domain_of(target, separator)
        except NotInDomain as error:
            detail = f"Cert target {target} not found in domain {domain}"
            raise OperationError(400, "Bad cert domain", detail) from error
        result = self._install([target], separator)[0]
        return marshalled(result, result["StatusCode"])

    def _stored(self, domain: str) -> _Certificate:
        record = self._vault.get(domain)
        return _Certificate(record["certificate"], record["fqdn"]) if record else _Certificate()

    def _install(self, names: Sequence[str], separator: str) -> list[Json]:
        """The results: those of silent controllers, then of Cray's, of HPE's, and of unsupported ones."""
        results: dict[str, list[Json]] = {"silent": [], CRAY: [], HPE: [], "": []}
        for name in names:
            if not self._redfish.answers(name):
                results["silent"].append(_status(name, 500, f"Internal Server Error, URL: {CHASSIS}"))
                continue
            vendor = self._redfish.vendor(name)
            path = {CRAY: REPLACE, HPE: IMPORT}.get(vendor)
            if path is None:
                results[""].append(_status(name, 501, "Unsupported vendor"))
            else:
                results[vendor].append(self._put(name, domain_of(name, separator), path))
        return [result for group in results.values() for result in group]

    def _put(self, name: str, domain: str, path: str) -> Json:
        certificate = self._stored(domain).certificate
        if not certificate:
            return _status(name, 400, f"Bad Request, URL: {path}")
        self._installed[name] = {"domain": domain, "certificate": certificate}
        return _status(name, 200, "OK")


def domain_of(name: str, separator: str) -> str:
    host = name.partition(":")[0]
    if not verified(host.partition("-")[0]):
        raise NotInDomain(f"ERROR, endpoint not a valid XName: {host} ({name})")
    return host.partition(separator)[0] if separator else host


def _split_domain(names: Sequence[str], separator: str, domain: str) -> tuple[list[Json], list[bool]]:
    errors, is_outside = [], []
    for name in names:
        try:
            domain_of(name, separator)
            is_outside.append(False)
        except NotInDomain:
            errors.append(_status(name, 400, f"Cert target {name} not found in domain {domain}"))
            is_outside.append(True)
    return errors, is_outside


def _read_domain_request(body: bytes, word: str) -> tuple[Json, str]:
    request = _read(body, _MANAGE, word)
    return request, _separator(request["Domain"])


def _read(body: bytes, kind: GoType, word: str) -> Json:
    try:
        return decode(body, kind)
    except DecodeError as error:
        raise OperationError(500, f"Bad {word} data", f"ERROR: Problem getting {word} data: {error}") from error


def _separator(domain: str) -> str:
    separator = SEPARATORS.get(domain.lower())
    if separator is None:
        # SCSD prints the wrong one of two errors, which is nil.
        raise OperationError(400, "Bad request data", "<nil>")
    return separator


def _pem(random: SeededRandom, domain: str, number: int) -> str:
    """A text in PEM format with random bytes, not an X.509 certificate."""
    content = b"".join(bytes.fromhex(random.hex(64, "certificate", domain, number, line)) for line in range(24))
    text = base64.b64encode(content).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----"]) + "\n"


def _results_reply(results: list[Json]) -> Reply:
    return marshalled({"DomainIDs": results})


def _ok(name: str) -> Json:
    return _status(name, 200, "OK")


def _outside_domain(name: str, error: NotInDomain) -> Json:
    return _status(name, 400, f"ID '{name}' not in stated domain: {error}")


def _status(name: str, status: int, message: str) -> Json:
    return {"ID": name, "StatusCode": status, "StatusMsg": message}
