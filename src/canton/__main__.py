"""The entry point of ``canton`` and of ``python -m canton``."""

import sys

from canton.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
