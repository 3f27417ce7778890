"""Small whole files of every kind that is read; what is fuzzed begins as one of them."""

import gzip
import importlib.util
import io
import tarfile
from typing import Final

import numpy as np
import polars as pl

ITP: Final = "job_id,submission_time,duration,num_gpu\na,0,10,1\nb,1,20,2\nc,7,2.5,4\n"
CSV: Final = (
    "id,submit_s,service_s,gpus,weight,deadline_s,user,gpu_types,estimate_s,gpu_share,cpu\n"
    '1,0,10,1,1,100,ann,V100|T4,5,0.5,2\n2,1.5,20,2,2,,"b ""o""",,,1,0\n3,2,30,1,1,1e3,c,T4,7,,1\n'
)
STATE: Final = (
    '{"now_s": 1800, "cluster": {"servers": [{"count": 2, "gpus": 8}]}, "jobs": ['
    '{"id": "a", "submit_s": 0, "gpus": 8, "service_s": 3600, "start_s": 5, "cost_s": 1.5, '
    '"preemptions": 1, "held": [{"server": 1, "gpus": [0, 1, 2, 3, 4, 5, 6, 7]}]}, '
    '{"id": "b", "submit_s": 10, "gpus": 16, "service_s": 60, "gpu_types": ["gpu"]}, '
    '{"id": "c", "submit_s": 20, "gpus": 1, "service_s": 60, "gpu_share": 0.5, "user": "u"}]}'
)
WALL: Final = (
    "submit_time,duration,num_gpus,deadline_s\n2020-01-01 00:00:00,10,1,2020-01-02 00:00:00\n"
    "2020-01-01 00:00:05,20,2,2021-01-01 00:00:00\n"
)
PHILLY_CSV: Final = (
    "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
    "2017-10-09 07:02:55,6.0,2,12.0,6c71a0\n"
)
_JOB: Final = (
    '{"status": "Pass", "vc": "v", "jobid": "j%d", "user": "u", "attempts": [{"start_time": '
    '"2017-10-09 07:01:00", "end_time": "2017-10-09 07:01:30", "detail": [{"ip": "m", "gpus": '
    '["gpu0", "gpu1"]}]}], "submitted_time": "2017-10-09 07:00:00"}'
)
PHILLY_JSON: Final = f"[{_JOB % 1},\n{_JOB % 2}]\n"
HELIOS: Final = (
    "job_id,user,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue,vc\n"
    "1,u,1,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:10,2020-04-01 00:01:10,60,10,vcA\n"
    "2,v,8,4,1,FAILED,2020-04-01 00:10:00,2020-04-01 00:11:10,2020-04-01 01:01:10,3000,70,vcB\n"
)
SWF: Final = (
    "; UnixStartTime: 1000000000\n; MaxJobs: 2\n"
    "1 0 0 5 2 -1 -1 2 9 -1 1 1 1 1 1 1 -1 -1\n2 9 3 7 4 -1 -1 4 20 -1 0 2 1 1 1 1 -1 -1\n"
)
GAVEL: Final = (
    "LM (batch size 5)\tcmd\t--steps\t1\t1000\t0\t1\nResNet\tcmd\t--steps\t0\t500\t10\t2\n"
)
ORACLE: Final = (
    '{"v100": {"(\'LM (batch size 5)\', 1)": {"null": 12.5, "x": [1, 2]}, "(\'ResNet\', 2)": '
    '{"null": 3}, "ResNet-18 (batch size 16)": {"null": 4.0}}, '
    '"v100_unconsolidated": {"(\'ResNet\', 2)": {"null": 2.0}}}'
)
PODS: Final = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\np1,2000,1024,1,500,V100,LS,Succeeded,0,100,5\n"
    "p2,4000,2048,2,1000,,BE,Running,10,90,20\n"
)
SERVERS: Final = "sn,cpu_milli,memory_mib,gpu,model\ns1,64000,262144,8,V100\ns2,32000,131072,2,T4\n"
PAI: Final = "m1,V100,96,512,8\nm2,T4,64,256,2\nm3,T4,64,256,0\n"
OUTAGES: Final = "server,start_s,end_s,kind\n0,10,20.5,fail\n2,5,,drain\n1,0,7,\n"
OUTAGE_TABLES: Final = (
    '[[outages]]\nserver = 1\nstart_s = 5\nend_s = 7.5\nkind = "drain"\n'
    "[[outages]]\nserver = 0\nstart_s = 9\n"
)
SLURM_EVENTS: Final = (
    "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    "c|n[1-2]|2024-05-01T09:00:00|2024-05-01T10:00:00|DOWN*|gone|slurm(1)\n"
    "c|n2|2024-05-02T09:00:00|Unknown|DRAIN|disk|root(0)\n"
)
TOPOLOGY: Final = "ip,DSW,PSW,ASW\n1.1.1.1,D1,P1,A1\n1.1.1.2,D1,P1,A2\n1.1.1.3,D1,P2,A10\n"
CLUSTER: Final = (
    'name = "c"\n[[domains]]\nname = "root"\n[[domains]]\nname = "a"\nparent = "root"\n'
    "oversubscription = 2.0\n"
    '[[servers]]\ncount = 4\ngpus = 8\ngpu_type = "V100"\ncpu = 96\nmemory_gib = 512.5\n'
    'nic_gbps = 100\nintra_gbps = 1200\ndomain = "a"\n'
)
PROFILES: Final = (
    '[[profiles]]\nname = "m"\ngradient_bytes = 1e8\nbatch = 32\nforward_s = 0.001\n'
    'backward_s = 0.01\n[[profiles]]\nname = "n"\nglobal_batch = 64\n'
    "[profiles.throughput.V100]\n1 = 10.0\n2 = 18.0\n[profiles.samples_per_s]\nV100 = 100.0\n"
)
MEASURED: Final = PROFILES[PROFILES.rindex("[[profiles]]") :]
PROFILES_JSON: Final = (
    '{"profiles": [{"name": "m", "gradient_bytes": 1e8, "batch": 32, "forward_s": {"V100": 0.001},'
    ' "backward_s": 0.01}]}'
)
CURVES: Final = (
    "model,gpu_type,gpus,iterations_per_s,spread\nm,V100,1,10,\nm,V100,2,18,15\nn,T4,1,4,\n"
)
PLACEMENTS: Final = (
    "placement,local_bsz,step_time,sync_time\n1,4,0.5,0.1\n2,4,0.6,0.2\n11,4,0.7,0.2\n"
)
SCALABILITY: Final = (
    "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,1,4,0.5,0.1\n2,6,4,0.7,0.2\n"
)
SLURM_NODES = (
    '{"nodes": [{"name": "a", "gres": "gpu:a100:4(S:0-1)", "tres": "cpu=64", "cpus": 64, '
    '"real_memory": {"set": true, "infinite": false, "number": 512000}, "state": ["IDLE"]},\n'
    '{"name": "b", "gres": "", "cpus": 64, "real_memory": 512000, "state": "down"}]}'
)
SLURM_LINES = (
    '{"sinfo": [{"nodes": {"nodes": ["a", "b"]}, "node": {"state": ["MIXED"]}, "cpus": {"total": '
    '128}, "memory": {"minimum": 512000}, "gres": {"total": "gpu:a100:4"}}]}'
)


_JOBS: Final = {
    "submit_s": [0.0, 1.0, 2.0, 2.5] * 3,
    "service_s": [5, 6, 7, None] * 3,
    "gpus": [1, 2, 1, 4] * 3,
    "user": ["ann", "bob", None, "ann"] * 3,
    "gpu_types": [["V100"], [], None, ["T4", "A100"]] * 3,
    "flag": [True, False, None, True] * 3,
    "none": [None, None, None, 1.5] * 3,
}


def npz(*, packed: bool = False) -> bytes:
    """Return columns as NumPy saves them."""
    file = io.BytesIO()
    save = np.savez_compressed if packed else np.savez
    save(
        file, submit_s=np.arange(4.0), service_s=np.full(4, 9), gpus=np.ones(4, np.int32),
        user=np.array(["a", "b", "a", "c"]),
    )  # fmt: skip
    return file.getvalue()


def npy() -> bytes:
    """Return one structured array."""
    file = io.BytesIO()
    fields = [("submit_s", "f8"), ("service_s", "i4"), ("gpus", "i2")]
    np.save(file, np.array([(0, 5, 1), (1.5, 7, 2)], fields))
    return file.getvalue()


def parquet() -> bytes:
    """Return columns of which one misses a value."""
    file = io.BytesIO()
    columns = {
        "submit_s": [0.0, 1.0, 2.0],
        "service_s": [5, 6, 7],
        "gpus": [1, 2, 1],
        "user": ["a", "b", None],
    }
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def parquets() -> dict[str, bytes]:
    """Return the same jobs by name of what they are packed and encoded with."""
    made = {}
    for name in ("uncompressed", "snappy", "gzip", "lz4"):
        file = io.BytesIO()
        pl.DataFrame(_JOBS).write_parquet(file, compression=name, row_group_size=5)  # type: ignore[arg-type]
        made[name] = file.getvalue()
    if importlib.util.find_spec("pyarrow") is None:
        return made
    import pyarrow as pa
    from pyarrow import parquet as writer

    table = pa.table(_JOBS)
    plain = {"compression": "none", "use_dictionary": False}
    encodings = {
        "submit_s": "BYTE_STREAM_SPLIT",
        "service_s": "DELTA_BINARY_PACKED",
        "gpus": "DELTA_BINARY_PACKED",
        "user": "DELTA_LENGTH_BYTE_ARRAY",
    }
    for name, options in {
        "dictionary": {"compression": "none"},
        "pages of version 2": {"compression": "none", "data_page_version": "2.0"},
        "packed pages of version 2": {"compression": "snappy", "data_page_version": "2.0"},
        "plain": plain,
        "deltas": plain | {"column_encoding": encodings},
        "prefixes": plain | {"column_encoding": encodings | {"user": "DELTA_BYTE_ARRAY"}},
    }.items():
        file = io.BytesIO()
        writer.write_table(table, file, **options)
        made[name] = file.getvalue()
    return made


def gzipped(text: str) -> bytes:
    """Return text packed by gzip, the same bytes each time."""
    return gzip.compress(text.encode(), mtime=0)


def tar(text: str) -> bytes:
    """Return a packed archive of one file."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        member = tarfile.TarInfo("servers.csv")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
    return gzip.compress(file.getvalue(), mtime=0)
