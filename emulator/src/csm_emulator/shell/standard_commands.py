"""The commands of every emulated shell."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.shell.builtins import BUILTINS
from csm_emulator.shell.file_tools import FILE_TOOLS
from csm_emulator.shell.process import Program
from csm_emulator.shell.stream_editors import EDITORS
from csm_emulator.shell.text_tools import TEXT_TOOLS

STANDARD: Mapping[str, Program] = {**BUILTINS, **FILE_TOOLS, **TEXT_TOOLS, **EDITORS}
