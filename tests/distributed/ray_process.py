"""A process of the tests of Ray.

python -m tests.distributed.ray_process        # two nodes with a CPU each, until stdin ends
python -m tests.distributed.ray_process index ...  # `tqnet` with shards of a few questions
"""

from __future__ import annotations

import json
import sys

import tqnet.search.build
from tqnet.cli import main

SMALL = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_log_monitor": False}


def serve_two_nodes() -> None:
    """Say the address of a cluster on 127.0.0.1 and the second raylet.

    RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 keeps it, and what connects to it, to that address.
    """
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=SMALL | {"include_dashboard": False})
    second = cluster.add_node(**SMALL)
    (raylet,) = second.all_processes["raylet"]
    print(json.dumps({"address": cluster.address, "second": raylet.process.pid}), flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        serve_two_nodes()
    else:
        tqnet.search.build.SHARD = 12
        sys.exit(main())
