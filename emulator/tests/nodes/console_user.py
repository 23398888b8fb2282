"""A user at the console of a node of psi, the larger of the machines."""

from __future__ import annotations

from csm_emulator.seed_data.secrets import node_password
from csm_emulator.site import Site

GPU, OTHER = "x1100c0s4b0n0", "x1000c0s0b0n0"
"""Nodes of psi: the first is off and has four GH200, the second is up."""


class ConsoleUser:
    """A user at a console."""

    def __init__(self, site: Site, node: str) -> None:
        self.site, self.node = site, node
        self._position = site.context.consoles.end(node)
        site.context.terminals.join(node)

    def leave(self) -> None:
        self.site.context.terminals.leave(self.node)

    def type(self, text: str, seconds: float = 0.0) -> str:
        """Types the keys; the lines that appear then."""
        self.site.context.terminals.type(self.node, text)
        self.site.step(seconds)
        texts, self._position = self.site.context.consoles.read(self.node, self._position)
        return "".join(texts).replace("\r\n", "\n")

    def run(self, line: str, seconds: float = 0.0) -> str:
        """The output of the command, without the echo and the prompt."""
        output = self.type(f"{line}\r", seconds)
        return output.partition("\n")[2].rpartition("\n")[0]

    def log_in(self) -> ConsoleUser:
        self.type("root\r")
        assert self.type(f"{node_password(self.site.random)}\r").endswith("# ")
        return self


def boot(site: Site, node: str) -> None:
    body = {"hosts": [node], "kernel": "s3://boot-images/abc/kernel", "params": "console=ttyS0 root=live:x"}
    assert site.mesh.ask("bss", "PUT", "/boot/v1/bootparameters", body).ok
    site.machine.power.reset(node, "On", "test")
    site.step(900)
    assert site.machine.boot.stage(node) == "up"


def address(site: Site, node: str, network: str = "HSN") -> str:
    return next(nic.address for nic in site.machine.nics(node) if nic.network == network)
