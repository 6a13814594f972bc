"""``python -m tqnet.cli``."""

import sys

from tqnet.cli import main

if __name__ == "__main__":  # Ray and multiprocessing import it
    sys.exit(main())
