"""Read a file with its own column names and some bad rows, run it, and keep the result."""

from pathlib import Path

import gpusched as gs

Path("cluster.csv").write_text(
    """name,when,length,devices,owner
a,2024-05-01 09:00:00,3600,8,ann
b,2024-05-01 09:10:00,1800,16,bob
c,2024-05-01 09:20:00,-1,4,bob
d,2024-05-01 09:30:00,900,0,cem
e,2024-05-01 09:00:00,600,1,ann
"""
)
trace = gs.read_trace(
    "cluster.csv",
    columns={
        "id": "name",
        "submit_s": "when",
        "service_s": "length",
        "gpus": "devices",
        "user": "owner",
    },
)
print(trace)
print(f"tick 0 is {trace.epoch}; left out:")
print(trace.rejects)

Path("cluster.toml").write_text(
    """name = "two kinds of servers"

[[servers]]
count = 1
gpus = 8
gpu_type = "V100"

[[servers]]
count = 2
gpus = 4
gpu_type = "T4"
"""
)
cluster = gs.read_cluster("cluster.toml")
result = gs.simulate(trace, cluster, policy="sjf", placement="best-fit")
print(result.to_polars().select("id", "user", "submit_s", "start_s", "finish_s", "servers"))

result.save("result.npz")
assert gs.load_result("result.npz").digest == result.digest
print(result.spec.to_toml())
