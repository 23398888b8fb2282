"""The xname grammar as data: one rule per component type, after HPE's hms-xname recognition table (v1.4.0).

Every prefix of an xname that ends at an ordinal is an xname too, so the type that a component lies under and the letter
that it adds determine its type. Three places differ from the HMS table on purpose: INVALID is an error and not a type;
the ``.`` of a partition is a dot (the HMS pattern forgets to escape it and takes any character); NodeFpga lies under
the NodeBMC that its name spells, as ``GetHMSCompParent`` returns, not under the NodeEnclosure of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# HSM stores identifiers of up to 63 characters; twice that leaves room for blanks and leading zeros.
LONGEST = 128
BLANKS = " \t\r\n"

# HMS sets no limit for most ordinals; no text of LONGEST characters reaches this one.
UNLIMITED = 10**LONGEST


class XnameType(StrEnum):
    """Component types, spelled as HSM and SLS spell them."""

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


@dataclass(frozen=True, slots=True)
class Rule:
    """A ``type`` is named as the component it lies ``under``, then ``letter``, then an ordinal low..high."""

    type: XnameType
    under: XnameType | None
    letter: str
    low: int = 0
    high: int = UNLIMITED


_T = XnameType

WORDS = {"all": _T.ALL, "all_svc": _T.ALL_SVC, "all_comp": _T.ALL_COMP}

RULES = (
    Rule(_T.SYSTEM, None, "s", 0, 0),
    Rule(_T.SMS_BOX, None, "sms"),
    Rule(_T.PARTITION, None, "p"),
    Rule(_T.CDU, _T.SYSTEM, "d"),
    Rule(_T.CDU_MGMT_SWITCH, _T.CDU, "w"),
    Rule(_T.CABINET, _T.SYSTEM, "x", 0, 9999),
    Rule(_T.CABINET_CDU, _T.CABINET, "d", 0, 1),
    Rule(_T.CABINET_PDU_CONTROLLER, _T.CABINET, "m", 0, 3),
    Rule(_T.CABINET_PDU, _T.CABINET_PDU_CONTROLLER, "p", 0, 7),
    Rule(_T.CABINET_PDU_NIC, _T.CABINET_PDU_CONTROLLER, "i", 0, 3),
    Rule(_T.CABINET_PDU_OUTLET, _T.CABINET_PDU, "j", 1),
    Rule(_T.CABINET_PDU_POWER_CONNECTOR, _T.CABINET_PDU, "v", 1),
    Rule(_T.CEC, _T.CABINET, "e", 0, 1),
    Rule(_T.CABINET_BMC, _T.CABINET, "b", 0, 0),
    Rule(_T.CHASSIS, _T.CABINET, "c", 0, 7),
    Rule(_T.CHASSIS_BMC, _T.CHASSIS, "b", 0, 0),
    Rule(_T.CHASSIS_BMC_NIC, _T.CHASSIS_BMC, "i", 0, 3),
    Rule(_T.CMM_FPGA, _T.CHASSIS, "f", 0, 0),
    Rule(_T.CMM_RECTIFIER, _T.CHASSIS, "t", 0, 9),
    Rule(_T.COMPUTE_MODULE, _T.CHASSIS, "s"),
    Rule(_T.NODE_BMC, _T.COMPUTE_MODULE, "b"),
    Rule(_T.NODE_BMC_NIC, _T.NODE_BMC, "i", 0, 3),
    Rule(_T.NODE_FPGA, _T.NODE_BMC, "f", 0, 0),
    Rule(_T.NODE_ENCLOSURE, _T.COMPUTE_MODULE, "e"),
    Rule(_T.NODE_ENCLOSURE_POWER_SUPPLY, _T.NODE_ENCLOSURE, "t"),
    Rule(_T.NODE_POWER_CONNECTOR, _T.COMPUTE_MODULE, "v", 1, 2),
    Rule(_T.NODE, _T.NODE_BMC, "n"),
    Rule(_T.VIRTUAL_NODE, _T.NODE, "v"),
    Rule(_T.NODE_NIC, _T.NODE, "i", 0, 3),
    Rule(_T.NODE_HSN_NIC, _T.NODE, "h", 0, 3),
    Rule(_T.NODE_ACCEL, _T.NODE, "a"),
    Rule(_T.NODE_ACCEL_RISER, _T.NODE, "r", 0, 7),
    Rule(_T.MEMORY, _T.NODE, "d"),
    Rule(_T.PROCESSOR, _T.NODE, "p", 0, 3),
    Rule(_T.STORAGE_GROUP, _T.NODE, "g"),
    Rule(_T.DRIVE, _T.STORAGE_GROUP, "k"),
    Rule(_T.ROUTER_MODULE, _T.CHASSIS, "r"),
    Rule(_T.ROUTER_FPGA, _T.ROUTER_MODULE, "f", 0, 1),
    Rule(_T.ROUTER_TOR, _T.ROUTER_MODULE, "t"),
    Rule(_T.ROUTER_TOR_FPGA, _T.ROUTER_TOR, "f", 0, 1),
    Rule(_T.ROUTER_BMC, _T.ROUTER_MODULE, "b"),
    Rule(_T.ROUTER_BMC_NIC, _T.ROUTER_BMC, "i", 0, 3),
    Rule(_T.ROUTER_POWER_CONNECTOR, _T.ROUTER_MODULE, "v", 1, 2),
    Rule(_T.HSN_BOARD, _T.ROUTER_MODULE, "e"),
    Rule(_T.HSN_ASIC, _T.ROUTER_MODULE, "a", 0, 3),
    Rule(_T.HSN_LINK, _T.HSN_ASIC, "l"),
    Rule(_T.HSN_CONNECTOR, _T.ROUTER_MODULE, "j", 1),
    Rule(_T.HSN_CONNECTOR_PORT, _T.HSN_CONNECTOR, "p", 0, 2),
    Rule(_T.MGMT_SWITCH, _T.CHASSIS, "w", 1),
    Rule(_T.MGMT_SWITCH_CONNECTOR, _T.MGMT_SWITCH, "j", 1),
    Rule(_T.MGMT_HL_SWITCH_ENCLOSURE, _T.CHASSIS, "h", 1),
    Rule(_T.MGMT_HL_SWITCH, _T.MGMT_HL_SWITCH_ENCLOSURE, "s", 1, 9),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """How the names of one type are spelled: a letter and a range per ordinal, and the types from it upwards."""

    letters: tuple[str, ...]
    bounds: tuple[tuple[int, int], ...]
    lineage: tuple[XnameType, ...]
    template: str

    @property
    def type(self) -> XnameType:
        return self.lineage[0]


def span(low: int, high: int) -> str:
    """A range of ordinals in words."""
    return f"{low}-{high}" if high < UNLIMITED else f"{low} and up"


def _shape(rule: Rule, under: Shape | None) -> Shape:
    # The names of components do not spell out System s0.
    spelled = under if under and under.type is not XnameType.SYSTEM else None
    return Shape(
        letters=(*(spelled.letters if spelled else ()), rule.letter),
        bounds=(*(spelled.bounds if spelled else ()), (rule.low, rule.high)),
        lineage=(rule.type, *(under.lineage if under else ())),
        template=f"{spelled.template if spelled else ''}{rule.letter}%d",
    )


def _shapes() -> tuple[Shape, ...]:
    by_type: dict[XnameType, Shape] = {}
    for rule in RULES:
        by_type[rule.type] = _shape(rule, by_type[rule.under] if rule.under else None)
    words = (Shape((word,), (), (kind,), word) for word, kind in WORDS.items())
    # A soft partition, p1.2, is a second spelling of its type; HMS gives neither spelling a parent.
    soft = Shape(("p", "."), ((0, UNLIMITED), (0, UNLIMITED)), (XnameType.PARTITION,), "p%d.%d")
    return (*by_type.values(), *words, soft)


SHAPES = _shapes()
BY_LETTERS = {shape.letters: shape for shape in SHAPES}
# HMS still reads the older letter j of a node power connector, and writes v.
BY_LETTERS["x", "c", "s", "j"] = BY_LETTERS["x", "c", "s", "v"]
