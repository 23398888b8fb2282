"""The entry point of ``canton`` and of ``python -m canton``."""

import signal
import sys

# While modules are imported, Ctrl-C ends the process at once: Python would print a traceback of the import. Where
# Ctrl-C is ignored, as in the background of a script, it stays so.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from canton.cli.main import main as run


def main() -> int:
    """Run the command line; the answer is the exit code."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


if __name__ == "__main__":
    sys.exit(main())
