"""A placement written in Python: jobs stay within one rack."""

import gpusched as gs


@gs.register_placement("one-rack")
class OneRack(gs.Placement):
    """The rack with the fewest free GPUs that fits the job; in it, the emptiest servers first."""

    source = "An example; racks are blocks of consecutive servers."

    def __init__(self, servers_per_rack: int = 4):
        super().__init__()
        self.servers_per_rack = servers_per_rack

    def place(self, free, request):
        """Return [(server, mask of GPUs), ...] in the order of the servers, or None: not yet."""
        free_gpus = {
            server: count
            for server, count in enumerate(free.free_gpus.tolist())
            if count and request.types >> int(free.server_type[server]) & 1
        }
        racks = {}
        for server in free_gpus:
            racks.setdefault(server // self.servers_per_rack, []).append(server)
        room = {rack: sum(free_gpus[server] for server in racks[rack]) for rack in racks}
        fitting = [rack for rack in racks if room[rack] >= request.gpus]
        if not fitting:
            return None
        servers = racks[min(fitting, key=lambda rack: (room[rack], rack))]
        pieces, missing = [], request.gpus
        for server in sorted(servers, key=lambda server: (-free_gpus[server], server)):
            taken = min(missing, free_gpus[server])
            if taken:
                pieces.append((server, free.lowest_free(server, taken)))
            missing -= taken
        return sorted(pieces)


cluster = gs.Cluster.uniform(servers=16, gpus=8)
trace = gs.generate("itp", jobs=1_000, load=0.9, cluster=cluster, seed=5)

for placement in ("count", "first-fit", "one-rack", "one-rack:servers_per_rack=2", "consolidated"):
    result = gs.simulate(trace, cluster, policy="fifo-skip", placement=placement)
    result.audit().raise_if_bad()
    summary = result.summary()
    print(
        f"{placement:<28} mean wait {summary['mean_wait_s'] / 60:6.1f} min,"
        f" {summary['mean_servers']:.2f} servers a job, {summary['num_rejected']} never fit"
    )
