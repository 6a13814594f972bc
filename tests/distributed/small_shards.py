"""``tqnet`` with shards of a few questions."""

from __future__ import annotations

import sys

import tqnet.search.build
from tqnet.cli import main

tqnet.search.build.SHARD = 12

if __name__ == "__main__":
    sys.exit(main())
