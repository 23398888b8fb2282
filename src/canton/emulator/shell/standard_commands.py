"""The commands that every shell here has."""

from __future__ import annotations

from collections.abc import Mapping

from canton.emulator.shell.builtins import BUILTINS
from canton.emulator.shell.file_tools import FILE_TOOLS
from canton.emulator.shell.process import Program
from canton.emulator.shell.stream_editors import EDITORS
from canton.emulator.shell.text_tools import TEXT_TOOLS

STANDARD: Mapping[str, Program] = {**BUILTINS, **FILE_TOOLS, **TEXT_TOOLS, **EDITORS}
