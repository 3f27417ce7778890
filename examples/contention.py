"""What placement costs where rings share links: placements and networks, one trace.

Every job is a model from the zoo. A multi-server job passes its gradients around a ring,
over the network cards of its servers and, between racks, over the uplinks of the racks.
"""

import gpusched as gs

servers = gs.Cluster.uniform(servers=32, gpus=8, gpu_type="V100", nic_gbps=25, intra_gbps=1000)
networks = {
    "one switch": servers,
    "racks of 8, 4:1": servers.with_racks(8, oversubscription=4),
}
trace = gs.generate("philly", jobs=4_000, load=0.7, cluster=servers, seed=2)
trace = trace.with_profiles(gs.model.zoo(), seed=2)

print("network          policy, placement           mean JCT   slower  most    lost")
for network, cluster in networks.items():
    for policy, placement in [
        ("fifo-skip", "consolidated"),
        ("fifo-skip", "first-fit"),
        ("fifo-skip", "spread"),
        ("swf", "lwf"),
        ("ada-srsf", "lwf"),
    ]:
        result = gs.simulate(
            trace,
            cluster,
            policy=policy,
            placement=placement,
            contention="shared:degradation=0.1",  # the speed is then "ring"
            verify=True,  # recompute every rate after every event, to the last bit
        )
        summary = result.summary()
        print(
            f"{network:<16} {f'{policy}, {placement}':<26}"
            f" {summary['mean_jct_s'] / 3600:7.1f} h"
            f" {summary['mean_slowdown_contention']:7.3f}x"
            f" {summary['max_contention_level']:5}"
            f" {summary['lost_to_contention']:7.2%}"
        )

# Which links were crowded, and for how long.
links = result.contention.to_polars().sort("contended_s", descending=True).head(3)
for link, most, contended_s in links.select("link", "max_rings", "contended_s").iter_rows():
    print(f"{result.contention.name(link)}: up to {most} rings, shared for {contended_s:,.0f} s")
