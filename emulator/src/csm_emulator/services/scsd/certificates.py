"""TLS certificates of controllers: made for a whole domain, kept in the vault, then put on them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import BOOL, STRING, STRINGS, GoType, struct
from csm_emulator.dialects.hms.names import normal, verified
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.records import Json
from csm_emulator.services.scsd.problems import Failed, answering
from csm_emulator.services.scsd.redfish import CHASSIS, CRAY, HPE, Redfish
from csm_emulator.services.scsd.targets import HsmTrouble, verify
from csm_emulator.state.random import SeededRandom
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

SEPARATORS = {"cabinet": "c", "chassis": "s", "blade": "b", "bmc": ""}
"""A domain's name is what stands before this letter in the xname."""
REPLACE = "/redfish/v1/CertificateService/Actions/CertificateService.ReplaceCertificate"
IMPORT = "/redfish/v1/Managers/1/SecurityService/HttpsCert/Actions/HpeHttpsCert.ImportCertificate"
_MANAGE = struct("main.bmcManageCertPost", {"Domain": STRING, "DomainIDs": STRINGS, "FQDN": STRING})
_SET = struct("main.rfCertPost", {"Force": BOOL, "CertDomain": STRING, "Targets": STRINGS})


class NotInDomain(Exception):
    """Why a name lies in no domain."""


@dataclass(frozen=True, slots=True)
class _Certificate:
    """What the vault has for a domain; all empty where it has nothing, which it does not call an error."""

    certificate: str = ""
    fqdn: str = ""


class Certificates:
    def __init__(self, context: Context, redfish: Redfish) -> None:
        self._context = context
        self._redfish = redfish
        self._vault = context.tables.open("scsd.certs")
        self._installed = context.tables.open("scsd.certs.installed")

    def routes(self) -> list[Route]:
        return [
            Route("POST", "/v1/bmc/createcerts", answering(self.create)),
            Route("POST", "/v1/bmc/deletecerts", answering(self.delete)),
            Route("POST", "/v1/bmc/fetchcerts", answering(self.fetch)),
            Route("POST", "/v1/bmc/setcerts", answering(self.set_many)),
            Route("POST", "/v1/bmc/setcert/{xname}", answering(self.set_one)),
        ]

    def create(self, call: Call) -> Reply:
        said, separator = _managing(call.body, "request")
        return _told([self._create(name, separator, said) for name in said["DomainIDs"] or ()])

    def _create(self, name: str, separator: str, said: Json) -> Json:
        try:
            domain = domain_of(name, separator)
        except NotInDomain as error:
            return _refused(name, error)
        if said["Domain"].lower() == "chassis" and "c" not in domain:
            reason = f"Invalid chassis name: '{domain}' (missing 'c')"
            message = f"Error creating cert for '{name}', domain '{said['Domain']}': {reason}"
            return {"ID": name, "StatusCode": 500, "StatusMsg": message}
        made = self._vault.get(domain, {"number": 0})["number"] + 1
        pem = _pem(self._context.random, domain, made)
        self._vault[domain] = {"certificate": pem, "fqdn": said["FQDN"], "number": made}
        return _ok(name)

    def delete(self, call: Call) -> Reply:
        said, separator = _managing(call.body, "request")
        told = []
        for name in said["DomainIDs"] or ():
            try:
                self._vault.pop(domain_of(name, separator), None)
                told.append(_ok(name))
            except NotInDomain as error:
                told.append(_refused(name, error))
        return _told(told)

    def fetch(self, call: Call) -> Reply:
        said, separator = _managing(call.body, "response")
        told = []
        for name in said["DomainIDs"] or ():
            try:
                found = self._kept(domain_of(name, separator))
                data = found.certificate.strip("\n").replace("\n", "\\n")
                told.append({**_ok(name), "Cert": {"CertType": "PEM", "CertData": data, "FQDN": found.fqdn}})
            except NotInDomain as error:
                told.append(_refused(name, error))
        return _told(told)

    def set_many(self, call: Call) -> Reply:
        said = _read(call.body, _SET, "request")
        names = said["Targets"] or []
        try:
            verify(self._context, names, force=said["Force"], groups=False)
        except HsmTrouble as trouble:
            detail = f"ERROR: Problem verifying target/states: {trouble}."
            raise Failed(500, "Indeterminate target/state", detail) from trouble
        separator = _separator(said["CertDomain"])
        told, bad = _outside(names, separator, said["CertDomain"])
        left = [name for name, is_bad in zip(names, bad, strict=True) if not is_bad]
        # The real one looks for the marks of the bad ones in the list that has lost them: some good ones go unserved.
        served = [name for place, name in enumerate(left) if not bad[place]]
        return marshalled({"Targets": (told + self._install(served, separator)) or None})

    def set_one(self, call: Call) -> Reply:
        target = normal(call.args["xname"])
        asked = call.first("Domain") if call.has("Domain") else call.first("domain", "cabinet")
        try:
            force = call.has("Force") or call.has("force")
            verify(self._context, [target], force=force, groups=False)
        except HsmTrouble as trouble:
            detail = f"ERROR: Invalid xname: '{call.args['xname']}'."
            raise Failed(400, "Bad target name", detail) from trouble
        separator = SEPARATORS.get(asked.lower())
        if separator is None:
            raise Failed(400, "Bad cert domain", f"ERROR: Invalid cert domain: '{asked}'.")
        try:
            domain_of(target, separator)
        except NotInDomain as error:
            detail = f"Cert target {target} not found in domain {asked}"
            raise Failed(400, "Bad cert domain", detail) from error
        done = self._install([target], separator)[0]
        return marshalled(done, done["StatusCode"])

    def _kept(self, domain: str) -> _Certificate:
        found = self._vault.get(domain)
        return _Certificate(found["certificate"], found["fqdn"]) if found else _Certificate()

    def _install(self, names: Sequence[str], separator: str) -> list[Json]:
        """Those that do not answer, then Cray's, HPE's, and those that take no certificate."""
        told: dict[str, list[Json]] = {"silent": [], CRAY: [], HPE: [], "": []}
        for name in names:
            if not self._redfish.answers(name):
                told["silent"].append(_status(name, 500, f"Internal Server Error, URL: {CHASSIS}"))
                continue
            vendor = self._redfish.vendor(name)
            where = {CRAY: REPLACE, HPE: IMPORT}.get(vendor)
            if where is None:
                told[""].append(_status(name, 501, "Unsupported vendor"))
            else:
                told[vendor].append(self._put(name, domain_of(name, separator), where))
        return [each for group in told.values() for each in group]

    def _put(self, name: str, domain: str, where: str) -> Json:
        certificate = self._kept(domain).certificate
        if not certificate:
            return _status(name, 400, f"Bad Request, URL: {where}")
        self._installed[name] = {"domain": domain, "certificate": certificate}
        return _status(name, 200, "OK")


def domain_of(name: str, separator: str) -> str:
    host = name.partition(":")[0]
    if not verified(host.partition("-")[0]):
        raise NotInDomain(f"ERROR, endpoint not a valid XName: {host} ({name})")
    return host.partition(separator)[0] if separator else host


def _outside(names: Sequence[str], separator: str, domain: str) -> tuple[list[Json], list[bool]]:
    told, bad = [], []
    for name in names:
        try:
            domain_of(name, separator)
            bad.append(False)
        except NotInDomain:
            told.append(_status(name, 400, f"Cert target {name} not found in domain {domain}"))
            bad.append(True)
    return told, bad


def _managing(body: bytes, what: str) -> tuple[Json, str]:
    said = _read(body, _MANAGE, what)
    return said, _separator(said["Domain"])


def _read(body: bytes, kind: GoType, what: str) -> Json:
    try:
        return decode(body, kind)
    except DecodeError as error:
        raise Failed(500, f"Bad {what} data", f"ERROR: Problem getting {what} data: {error}") from error


def _separator(domain: str) -> str:
    separator = SEPARATORS.get(domain.lower())
    if separator is None:
        # It prints the wrong one of two errors, which is none.
        raise Failed(400, "Bad request data", "<nil>")
    return separator


def _pem(random: SeededRandom, domain: str, number: int) -> str:
    """Looks like one; no X.509 is in it."""
    content = b"".join(bytes.fromhex(random.hex(64, "certificate", domain, number, line)) for line in range(24))
    text = base64.b64encode(content).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----"]) + "\n"


def _told(each: list[Json]) -> Reply:
    return marshalled({"DomainIDs": each})


def _ok(name: str) -> Json:
    return _status(name, 200, "OK")


def _refused(name: str, error: NotInDomain) -> Json:
    return _status(name, 400, f"ID '{name}' not in stated domain: {error}")


def _status(name: str, status: int, message: str) -> Json:
    return {"ID": name, "StatusCode": status, "StatusMsg": message}
