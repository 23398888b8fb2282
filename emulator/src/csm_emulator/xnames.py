"""Names of hardware components in an HPE Cray EX system, as HPE's library hms-xname 1.4 spells them.

``x1000c0s0b0n0`` is node 0 of BMC 0 in slot 0 of chassis 0 in cabinet 1000. ``parse`` accepts capitals, surrounding
blanks and leading zeros, as HMS does after its own normalisation, and returns the canonical name. Dialects that are
stricter or laxer than that (``dialects/hms/names.py``) read the same table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import total_ordering

from csm_emulator.errors import InvalidXname

LONGEST = 128
"""HSM stores 63 characters; twice that leaves room for blanks and leading zeros."""


class XnameType(StrEnum):
    """Component types, spelled as HSM and SLS spell them, in the order of HPE's table."""

    ALL = "All"
    ALL_SVC = "AllSvc"
    ALL_COMP = "AllComp"
    PARTITION = "Partition"
    SYSTEM = "System"
    SMS_BOX = "SMSBox"
    CDU = "CDU"
    CDU_MGMT_SWITCH = "CDUMgmtSwitch"
    CABINET = "Cabinet"
    CABINET_CDU = "CabinetCDU"
    CABINET_PDU_CONTROLLER = "CabinetPDUController"
    CABINET_PDU = "CabinetPDU"
    CABINET_PDU_NIC = "CabinetPDUNic"
    CABINET_PDU_OUTLET = "CabinetPDUOutlet"
    CABINET_PDU_POWER_CONNECTOR = "CabinetPDUPowerConnector"
    CEC = "CEC"
    CABINET_BMC = "CabinetBMC"
    CHASSIS = "Chassis"
    CHASSIS_BMC = "ChassisBMC"
    CHASSIS_BMC_NIC = "ChassisBMCNic"
    CMM_FPGA = "CMMFpga"
    CMM_RECTIFIER = "CMMRectifier"
    COMPUTE_MODULE = "ComputeModule"
    NODE_BMC = "NodeBMC"
    NODE_BMC_NIC = "NodeBMCNic"
    NODE_FPGA = "NodeFpga"
    NODE_ENCLOSURE = "NodeEnclosure"
    NODE_ENCLOSURE_POWER_SUPPLY = "NodeEnclosurePowerSupply"
    NODE_POWER_CONNECTOR = "NodePowerConnector"
    NODE = "Node"
    VIRTUAL_NODE = "VirtualNode"
    NODE_NIC = "NodeNic"
    NODE_HSN_NIC = "NodeHsnNic"
    NODE_ACCEL = "NodeAccel"
    NODE_ACCEL_RISER = "NodeAccelRiser"
    MEMORY = "Memory"
    PROCESSOR = "Processor"
    STORAGE_GROUP = "StorageGroup"
    DRIVE = "Drive"
    ROUTER_MODULE = "RouterModule"
    ROUTER_FPGA = "RouterFpga"
    ROUTER_TOR = "RouterTOR"
    ROUTER_TOR_FPGA = "RouterTORFpga"
    ROUTER_BMC = "RouterBMC"
    ROUTER_BMC_NIC = "RouterBMCNic"
    ROUTER_POWER_CONNECTOR = "RouterPowerConnector"
    HSN_BOARD = "HSNBoard"
    HSN_ASIC = "HSNAsic"
    HSN_LINK = "HSNLink"
    HSN_CONNECTOR = "HSNConnector"
    HSN_CONNECTOR_PORT = "HSNConnectorPort"
    MGMT_SWITCH = "MgmtSwitch"
    MGMT_SWITCH_CONNECTOR = "MgmtSwitchConnector"
    MGMT_HL_SWITCH_ENCLOSURE = "MgmtHLSwitchEnclosure"
    MGMT_HL_SWITCH = "MgmtHLSwitch"


_T = XnameType

# A type, its spelling (per level a letter and a range of ordinals; no range: 0 and up), and the type that contains it.
_TABLE: tuple[tuple[XnameType, str, XnameType | None], ...] = (
    (_T.SYSTEM, "s0-0", None),
    (_T.SMS_BOX, "sms", None),
    (_T.PARTITION, "p", None),
    (_T.CDU, "d", _T.SYSTEM),
    (_T.CDU_MGMT_SWITCH, "d w", _T.CDU),
    (_T.CABINET, "x0-9999", _T.SYSTEM),
    (_T.CABINET_CDU, "x0-9999 d0-1", _T.CABINET),
    (_T.CABINET_PDU_CONTROLLER, "x0-9999 m0-3", _T.CABINET),
    (_T.CABINET_PDU, "x0-9999 m0-3 p0-7", _T.CABINET_PDU_CONTROLLER),
    (_T.CABINET_PDU_NIC, "x0-9999 m0-3 i0-3", _T.CABINET_PDU_CONTROLLER),
    (_T.CABINET_PDU_OUTLET, "x0-9999 m0-3 p0-7 j1-", _T.CABINET_PDU),
    (_T.CABINET_PDU_POWER_CONNECTOR, "x0-9999 m0-3 p0-7 v1-", _T.CABINET_PDU),
    (_T.CEC, "x0-9999 e0-1", _T.CABINET),
    (_T.CABINET_BMC, "x0-9999 b0-0", _T.CABINET),
    (_T.CHASSIS, "x0-9999 c0-7", _T.CABINET),
    (_T.CHASSIS_BMC, "x0-9999 c0-7 b0-0", _T.CHASSIS),
    (_T.CHASSIS_BMC_NIC, "x0-9999 c0-7 b0-0 i0-3", _T.CHASSIS_BMC),
    (_T.CMM_FPGA, "x0-9999 c0-7 f0-0", _T.CHASSIS),
    (_T.CMM_RECTIFIER, "x0-9999 c0-7 t0-9", _T.CHASSIS),
    (_T.COMPUTE_MODULE, "x0-9999 c0-7 s", _T.CHASSIS),
    (_T.NODE_BMC, "x0-9999 c0-7 s b", _T.COMPUTE_MODULE),
    (_T.NODE_BMC_NIC, "x0-9999 c0-7 s b i0-3", _T.NODE_BMC),
    (_T.NODE_FPGA, "x0-9999 c0-7 s b f0-0", _T.NODE_BMC),
    (_T.NODE_ENCLOSURE, "x0-9999 c0-7 s e", _T.COMPUTE_MODULE),
    (_T.NODE_ENCLOSURE_POWER_SUPPLY, "x0-9999 c0-7 s e t", _T.NODE_ENCLOSURE),
    (_T.NODE_POWER_CONNECTOR, "x0-9999 c0-7 s v1-2", _T.COMPUTE_MODULE),
    (_T.NODE, "x0-9999 c0-7 s b n", _T.NODE_BMC),
    (_T.VIRTUAL_NODE, "x0-9999 c0-7 s b n v", _T.NODE),
    (_T.NODE_NIC, "x0-9999 c0-7 s b n i0-3", _T.NODE),
    (_T.NODE_HSN_NIC, "x0-9999 c0-7 s b n h0-3", _T.NODE),
    (_T.NODE_ACCEL, "x0-9999 c0-7 s b n a", _T.NODE),
    (_T.NODE_ACCEL_RISER, "x0-9999 c0-7 s b n r0-7", _T.NODE),
    (_T.MEMORY, "x0-9999 c0-7 s b n d", _T.NODE),
    (_T.PROCESSOR, "x0-9999 c0-7 s b n p0-3", _T.NODE),
    (_T.STORAGE_GROUP, "x0-9999 c0-7 s b n g", _T.NODE),
    (_T.DRIVE, "x0-9999 c0-7 s b n g k", _T.STORAGE_GROUP),
    (_T.ROUTER_MODULE, "x0-9999 c0-7 r", _T.CHASSIS),
    (_T.ROUTER_FPGA, "x0-9999 c0-7 r f0-1", _T.ROUTER_MODULE),
    (_T.ROUTER_TOR, "x0-9999 c0-7 r t", _T.ROUTER_MODULE),
    (_T.ROUTER_TOR_FPGA, "x0-9999 c0-7 r t f0-1", _T.ROUTER_TOR),
    (_T.ROUTER_BMC, "x0-9999 c0-7 r b", _T.ROUTER_MODULE),
    (_T.ROUTER_BMC_NIC, "x0-9999 c0-7 r b i0-3", _T.ROUTER_BMC),
    (_T.ROUTER_POWER_CONNECTOR, "x0-9999 c0-7 r v1-2", _T.ROUTER_MODULE),
    (_T.HSN_BOARD, "x0-9999 c0-7 r e", _T.ROUTER_MODULE),
    (_T.HSN_ASIC, "x0-9999 c0-7 r a0-3", _T.ROUTER_MODULE),
    (_T.HSN_LINK, "x0-9999 c0-7 r a0-3 l", _T.HSN_ASIC),
    (_T.HSN_CONNECTOR, "x0-9999 c0-7 r j1-", _T.ROUTER_MODULE),
    (_T.HSN_CONNECTOR_PORT, "x0-9999 c0-7 r j1- p0-2", _T.HSN_CONNECTOR),
    (_T.MGMT_SWITCH, "x0-9999 c0-7 w1-", _T.CHASSIS),
    (_T.MGMT_SWITCH_CONNECTOR, "x0-9999 c0-7 w1- j1-", _T.MGMT_SWITCH),
    (_T.MGMT_HL_SWITCH_ENCLOSURE, "x0-9999 c0-7 h1-", _T.CHASSIS),
    (_T.MGMT_HL_SWITCH, "x0-9999 c0-7 h1- s1-9", _T.MGMT_HL_SWITCH_ENCLOSURE),
    # A second spelling of partitions (p1.2), and the words that stand for sets of components.
    (_T.PARTITION, "p .", None),
    (_T.ALL, "all", None),
    (_T.ALL_SVC, "all_svc", None),
    (_T.ALL_COMP, "all_comp", None),
)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the names of a type are written: per level a letter and the lowest and highest ordinal (None: no limit)."""

    type: XnameType
    letters: tuple[str, ...]
    bounds: tuple[tuple[int, int | None], ...]
    parent: XnameType | None

    def write(self, ordinals: tuple[int, ...]) -> str:
        if not self.bounds:
            return self.letters[0]
        return "".join(f"{letter}{ordinal}" for letter, ordinal in zip(self.letters, ordinals, strict=True))

    def allows(self, ordinals: tuple[int, ...]) -> bool:
        return all(
            low <= ordinal and (high is None or ordinal <= high)
            for ordinal, (low, high) in zip(ordinals, self.bounds, strict=True)
        )


def _spelling(kind: XnameType, text: str, parent: XnameType | None) -> Spelling:
    if text.startswith("all"):
        return Spelling(kind, (text,), (), parent)
    levels = [re.fullmatch(r"([a-z]+|\.)(?:(\d+)-(\d*))?", level) for level in text.split()]
    letters = tuple(level[1] for level in levels if level)
    bounds = tuple((int(level[2] or 0), int(level[3]) if level[3] else None) for level in levels if level)
    return Spelling(kind, letters, bounds, parent)


_SPELLINGS = [_spelling(*row) for row in _TABLE]
_BY_TYPE = {(spelling.type, len(spelling.bounds)): spelling for spelling in _SPELLINGS}
BY_LETTERS = {spelling.letters: spelling for spelling in _SPELLINGS}
"""The spelling that a sequence of letters selects. HMS still reads the older letter j of a power connector."""
BY_LETTERS["x", "c", "s", "j"] = BY_LETTERS["x", "c", "s", "v"]

_ORDINALS = re.compile("([0-9]+)")


@total_ordering
@dataclass(frozen=True, slots=True)
class Xname:
    """A component. Sorts in natural order: s9 before s10, and a chassis before what it contains."""

    type: XnameType
    ordinals: tuple[int, ...]

    def __str__(self) -> str:
        return self._spelling.write(self.ordinals)

    def __lt__(self, other: Xname) -> bool:
        return self._levels < other._levels

    @property
    def _spelling(self) -> Spelling:
        return _BY_TYPE[self.type, len(self.ordinals)]

    @property
    def _levels(self) -> list[tuple[str, int]]:
        return list(zip(self._spelling.letters, self.ordinals, strict=False))

    @property
    def parent(self) -> Xname | None:
        """The component that contains this one: system s0 for cabinets and CDUs, None at the top."""
        kind = self._spelling.parent
        return Xname(kind, self.ordinals[:-1] or (0,)) if kind else None

    @property
    def ancestry(self) -> tuple[Xname, ...]:
        """The parent, its parent, and so on to the system."""
        parent = self.parent
        return (parent, *parent.ancestry) if parent else ()

    def enclosing(self, kind: XnameType) -> Xname | None:
        """This component, or the one of that type that contains it; None if there is none."""
        return next((xname for xname in (self, *self.ancestry) if xname.type is kind), None)

    @property
    def cabinet(self) -> Xname | None:
        return self.enclosing(XnameType.CABINET)

    @property
    def chassis(self) -> Xname | None:
        return self.enclosing(XnameType.CHASSIS)


def parse(text: str) -> Xname:
    """The xname that the text means; raises ``InvalidXname``."""
    if len(text) <= LONGEST and text.isascii():
        pieces = _ORDINALS.split(text.strip(" \t\r\n").lower())
        spelling = BY_LETTERS.get(tuple(pieces[0:-1:2]) or (pieces[0],))
        ordinals = tuple(map(int, pieces[1::2]))
        complete = spelling is not None and len(ordinals) == len(spelling.bounds) and not (ordinals and pieces[-1])
        if spelling and complete and spelling.allows(ordinals):
            return Xname(spelling.type, ordinals)
    raise InvalidXname(f"{text[:LONGEST]!a} is not an xname such as x1000c0s0b0n0")


def is_xname(text: str) -> bool:
    try:
        parse(text)
    except InvalidXname:
        return False
    return True
