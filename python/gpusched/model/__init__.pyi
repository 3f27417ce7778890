from typing import Any

from gpusched.model.cluster import Cluster as Cluster
from gpusched.model.cluster import Domain as Domain
from gpusched.model.cluster import ServerGroup as ServerGroup
from gpusched.model.job_graphs import JobGraph as JobGraph
from gpusched.model.job_graphs import Stage as Stage
from gpusched.model.model_zoo import graph_for as graph_for
from gpusched.model.model_zoo import zoo as zoo
from gpusched.model.profiles import JobProfile as JobProfile
from gpusched.model.profiles import read_profiles as read_profiles
from gpusched.model.throughputs import Throughputs as Throughputs
from gpusched.model.throughputs import read_pollux as read_pollux
from gpusched.model.throughputs import read_throughputs as read_throughputs
from gpusched.model.topologies import read_topology as read_topology

__all__: list[str]

def __getattr__(name: str) -> Any: ...
