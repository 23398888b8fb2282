"""Durations in seconds of virtual time: shortest and longest.

The boot stages add up to HPE's figures for one node, 3 to 8 minutes from power to heartbeat; a graceful shutdown of a
dozen nodes was observed to take more than a minute and a half.
"""

from __future__ import annotations

POWER_ON = (2.0, 8.0)
FORCE_OFF = (1.0, 3.0)
SHUTDOWN = (20.0, 90.0)
POST = (60.0, 150.0)
PXE = (5.0, 15.0)
KERNEL = (60.0, 150.0)
SYSTEMD = (40.0, 120.0)
BMC_RESTART = (60.0, 90.0)
BLADE_SETTLES = (30.0, 60.0)
"""From power on a slot until its BMCs answer."""
TFTP_AGAIN = 60.0
"""Firmware that gets no iPXE from TFTP waits for its time-outs, and then retries its first boot option."""
PXE_AGAIN = 30.0
"""A node without a kernel waits and retries, as BSS's script says."""
