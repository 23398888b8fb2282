"""SLS's names and types of hardware."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.xnames import XnameType

_T = XnameType

COMPTYPES: Mapping[str, str] = {
    _T.SYSTEM: "any",
    _T.SMS_BOX: "comptype_ncn_box",
    _T.CDU: "comptype_cdu",
    _T.CDU_MGMT_SWITCH: "comptype_cdu_mgmt_switch",
    _T.CABINET_CDU: "comptype_cab_cdu",
    _T.CABINET: "comptype_cabinet",
    _T.CABINET_PDU_CONTROLLER: "comptype_cab_pdu_controller",
    _T.CABINET_PDU: "comptype_cab_pdu",
    _T.CABINET_PDU_NIC: "comptype_cab_pdu_nic",
    _T.CABINET_PDU_OUTLET: "comptype_cab_pdu_outlet",
    _T.CABINET_PDU_POWER_CONNECTOR: "comptype_cab_pdu_pwr_connector",
    _T.CHASSIS: "comptype_chassis",
    _T.CHASSIS_BMC: "comptype_chassis_bmc",
    _T.CMM_RECTIFIER: "comptype_cmm_rectifier",
    _T.CMM_FPGA: "comptype_cmm_fpga",
    _T.CEC: "comptype_cec",
    _T.COMPUTE_MODULE: "comptype_compmod",
    _T.ROUTER_MODULE: "comptype_rtrmod",
    _T.NODE_BMC: "comptype_ncard",
    _T.NODE_BMC_NIC: "comptype_bmc_nic",
    _T.NODE_ENCLOSURE: "comptype_node_enclosure",
    _T.NODE_POWER_CONNECTOR: "comptype_compmod_power_connector",
    _T.NODE: "comptype_node",
    _T.VIRTUAL_NODE: "comptype_virtual_node",
    _T.PROCESSOR: "comptype_node_processor",
    _T.NODE_NIC: "comptype_node_nic",
    _T.NODE_HSN_NIC: "comptype_node_hsn_nic",
    _T.MEMORY: "comptype_dimm",
    _T.NODE_ACCEL: "comptype_node_accel",
    _T.NODE_FPGA: "comptype_node_fpga",
    _T.HSN_ASIC: "comptype_hsn_asic",
    _T.ROUTER_FPGA: "comptype_rtr_fpga",
    _T.ROUTER_TOR_FPGA: "comptype_rtr_tor_fpga",
    _T.ROUTER_BMC: "comptype_rtr_bmc",
    _T.ROUTER_BMC_NIC: "comptype_rtr_bmc_nic",
    _T.HSN_BOARD: "comptype_hsn_board",
    _T.HSN_LINK: "comptype_hsn_link",
    _T.HSN_CONNECTOR: "comptype_hsn_connector",
    _T.HSN_CONNECTOR_PORT: "comptype_hsn_connector_port",
    _T.MGMT_SWITCH: "comptype_mgmt_switch",
    _T.MGMT_SWITCH_CONNECTOR: "comptype_mgmt_switch_connector",
    _T.MGMT_HL_SWITCH: "comptype_hl_switch",
}
"""HMS type → SLS type of all hardware that SLS stores. HMS has a dozen types more, such as drives and cabinet BMCs."""
KNOWN_COMPTYPES = frozenset(COMPTYPES.values())
UNSTORABLE_COMPTYPES = frozenset(
    {"INVALID", "comptype_all", "comptype_all_comp", "comptype_all_svc", "comptype_partition"}
)
NOT_HARDWARE: frozenset[str] = frozenset({_T.PARTITION, _T.ALL, _T.ALL_COMP, _T.ALL_SVC})
CLASSES = ("River", "Mountain", "Hill")

_LAST_LETTERS = re.compile(r"[^\W\d_]*$")


@lru_cache(maxsize=1 << 16)
def parent(xname: str) -> str:
    """The xname without its last ordinal and letters; ``s0`` for cabinets and CDUs."""
    if hms_type(xname) in (XnameType.CABINET, XnameType.CDU):
        return "s0"
    return _LAST_LETTERS.sub("", xname.rstrip("0123456789"))
