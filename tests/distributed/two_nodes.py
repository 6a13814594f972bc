"""A Ray cluster of two nodes with a CPU each, on 127.0.0.1, until stdin ends; says its address and the second raylet.

RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 keeps it, and what connects to it, to that address.
"""

from __future__ import annotations

import json
import sys

from ray.cluster_utils import Cluster

SMALL = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_log_monitor": False}

if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args=SMALL | {"include_dashboard": False})
    second = cluster.add_node(**SMALL)
    (raylet,) = second.all_processes["raylet"]
    print(json.dumps({"address": cluster.address, "second": raylet.process.pid}), flush=True)
    sys.stdin.read()
    cluster.shutdown()
