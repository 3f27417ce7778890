"""How many servers keep the mean wait below ten minutes? The same jobs on many clusters."""

import gpusched as gs

TARGET_S = 600

trace = gs.generate("helios", jobs=10_000, load=1.0, cluster=gs.Cluster.uniform(64), seed=4)

for servers in range(64, 128, 8):
    cluster = gs.Cluster.uniform(servers, gpus=8)
    wait_s = gs.simulate(trace, cluster, policy="easy").summary()["mean_wait_s"]
    load = trace.offered_load(cluster.num_gpus)
    print(f"{servers:4} servers: load {load:.2f}, mean wait {wait_s / 60:8.1f} min")
    if wait_s < TARGET_S:
        break
