"""Damages files of every kind that is read; each reader must give a result or an error by name.

    python -m tests.damaged_files --cases 50000 --seed 1

A reader may return, or raise ValueError or OSError that names the file, or TypeError that names the
file: a typed column, or an option of another format. Anything else (another exception, a crash, a
hang) is a fault. What the readers took of memory is printed at the end.
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import resource
import tarfile
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import gpusched as gs
from gpusched.traces.format_registry import trace_formats
from tests import changed_files

ITP = "job_id,submission_time,duration,num_gpu\na,0,10,1\nb,1,20,2\nc,7,2.5,4\n"
CSV = (
    "id,submit_s,service_s,gpus,weight,deadline_s,user,gpu_types,estimate_s,gpu_share,cpu\n"
    '1,0,10,1,1,100,ann,V100|T4,5,0.5,2\n2,1.5,20,2,2,,"b ""o""",,,1,0\n3,2,30,1,1,1e3,c,T4,7,,1\n'
)
WALL = (
    "submit_time,duration,num_gpus,deadline_s\n2020-01-01 00:00:00,10,1,2020-01-02 00:00:00\n"
    "2020-01-01 00:00:05,20,2,2021-01-01 00:00:00\n"
)
PHILLY_CSV = (
    "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
    "2017-10-09 07:02:55,6.0,2,12.0,6c71a0\n"
)
JOB = (
    '{"status": "Pass", "vc": "v", "jobid": "j%d", "user": "u", "attempts": [{"start_time": '
    '"2017-10-09 07:01:00", "end_time": "2017-10-09 07:01:30", "detail": [{"ip": "m", "gpus": '
    '["gpu0", "gpu1"]}]}], "submitted_time": "2017-10-09 07:00:00"}'
)
HELIOS = (
    "job_id,user,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue,vc\n"
    "1,u,1,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:10,2020-04-01 00:01:10,60,10,vcA\n"
    "2,v,8,4,1,FAILED,2020-04-01 00:10:00,2020-04-01 00:11:10,2020-04-01 01:01:10,3000,70,vcB\n"
)
SWF = (
    "; UnixStartTime: 1000000000\n; MaxJobs: 2\n"
    "1 0 0 5 2 -1 -1 2 9 -1 1 1 1 1 1 1 -1 -1\n2 9 3 7 4 -1 -1 4 20 -1 0 2 1 1 1 1 -1 -1\n"
)
GAVEL = "LM (batch size 5)\tcmd\t--steps\t1\t1000\t0\t1\nResNet\tcmd\t--steps\t0\t500\t10\t2\n"
ORACLE = (
    '{"v100": {"(\'LM (batch size 5)\', 1)": {"null": 12.5, "x": [1, 2]}, "(\'ResNet\', 2)": '
    '{"null": 3}}, "v100_unconsolidated": {"(\'ResNet\', 2)": {"null": 2.0}}}'
)
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\np1,2000,1024,1,500,V100,LS,Succeeded,0,100,5\n"
    "p2,4000,2048,2,1000,,BE,Running,10,90,20\n"
)
SERVERS = "sn,cpu_milli,memory_mib,gpu,model\ns1,64000,262144,8,V100\ns2,32000,131072,2,T4\n"
PAI = "m1,V100,96,512,8\nm2,T4,64,256,2\nm3,T4,64,256,0\n"
TOPOLOGY = "ip,DSW,PSW,ASW\n1.1.1.1,D1,P1,A1\n1.1.1.2,D1,P1,A2\n1.1.1.3,D1,P2,A10\n"
CLUSTER = (
    'name = "c"\n[[domains]]\nname = "root"\n[[domains]]\nname = "a"\nparent = "root"\n'
    "oversubscription = 2.0\n"
    '[[servers]]\ncount = 4\ngpus = 8\ngpu_type = "V100"\ncpu = 96\nmemory_gib = 512.5\n'
    'nic_gbps = 100\nintra_gbps = 1200\ndomain = "a"\n'
)
PROFILES = (
    '[[profiles]]\nname = "m"\ngradient_bytes = 1e8\nbatch = 32\nforward_s = 0.001\n'
    'backward_s = 0.01\n[[profiles]]\nname = "n"\nglobal_batch = 64\n'
    "[profiles.throughput.V100]\n1 = 10.0\n2 = 18.0\n[profiles.samples_per_s]\nV100 = 100.0\n"
)
PROFILES_JSON = (
    '{"profiles": [{"name": "m", "gradient_bytes": 1e8, "batch": 32, "forward_s": {"V100": 0.001},'
    ' "backward_s": 0.01}]}'
)
CURVES = "model,gpu_type,gpus,iterations_per_s,spread\nm,V100,1,10,\nm,V100,2,18,15\nn,T4,1,4,\n"
PLACEMENTS = "placement,local_bsz,step_time,sync_time\n1,4,0.5,0.1\n2,4,0.6,0.2\n11,4,0.7,0.2\n"
SCALABILITY = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,1,4,0.5,0.1\n2,6,4,0.7,0.2\n"

NODES = (
    '{"nodes": [{"name": "a", "gres": "gpu:a100:4(S:0-1)", "tres": "cpu=64", "cpus": 64, '
    '"real_memory": {"set": true, "infinite": false, "number": 512000}, "state": ["IDLE"]},\n'
    '{"name": "b", "gres": "", "cpus": 64, "real_memory": 512000, "state": "down"}]}'
)
LINES = (
    '{"sinfo": [{"nodes": {"nodes": ["a", "b"]}, "node": {"state": ["MIXED"]}, "cpus": {"total": '
    '128}, "memory": {"minimum": 512000}, "gres": {"total": "gpu:a100:4"}}]}'
)


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name on disk, whole contents, and who reads it."""

    name: str
    data: bytes
    read: Callable[[Path], Any]


def excerpt(name: str, read: Callable[[Path], Any]) -> Kind:
    """Return the first file of what a format shows of itself."""
    file, data = next(iter(trace_formats()[name].excerpt().items()))
    return Kind(file, data, read)


def of_text(name: str, text: str, read: Callable[[Path], Any]) -> Kind:
    return Kind(name, text.encode(), read)


def npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, submit_s=np.arange(4.0), service_s=np.full(4, 9), gpus=np.ones(4, np.int32),
             user=np.array(["a", "b", "a", "c"]))  # fmt: skip
    return file.getvalue()


def packed_npz() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(
        file, submit_s=np.arange(4), service_s=np.full(4, 9.5), gpus=np.ones(4, "i8")
    )
    return file.getvalue()


def npy() -> bytes:
    file = io.BytesIO()
    fields = [("submit_s", "f8"), ("service_s", "i4"), ("gpus", "i2")]
    np.save(file, np.array([(0, 5, 1), (1.5, 7, 2)], fields))
    return file.getvalue()


def parquet() -> bytes:
    file = io.BytesIO()
    pl.DataFrame(
        {
            "submit_s": [0.0, 1.0, 2.0],
            "service_s": [5, 6, 7],
            "gpus": [1, 2, 1],
            "user": ["a", "b", None],
        }
    ).write_parquet(file)
    return file.getvalue()


def tar(text: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        member = tarfile.TarInfo("servers.csv")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
    return file.getvalue()


def kinds(folder: Path) -> list[Kind]:
    """Write what readers need beside, and return every kind of file."""
    read, cluster, throughputs = gs.read_trace, gs.read_cluster, gs.models.read_throughputs
    (folder / "oracle.json").write_text(ORACLE)
    (folder / "whole.tsv").write_text(GAVEL)
    tasks = trace_formats()["pai-2020"].excerpt()["pai_task_table.csv"]
    (folder / "tasks.csv").write_bytes(tasks)
    pollux = folder / "pollux" / "bert"
    pollux.mkdir(parents=True)
    saved = changed_files.saved_files(folder)
    trace = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
    spec = gs.simulate(trace, gs.Cluster.uniform(2, 4), policy="srtf:cost_s=3").spec
    philly = f"[{JOB % 1},\n{JOB % 2}]\n"

    def of_pollux(path: Path) -> Any:
        (pollux / "placements.csv").write_text(PLACEMENTS)
        (pollux / "scalability.csv").write_text(SCALABILITY)
        path.replace(pollux / path.name)
        return gs.models.read_pollux(pollux.parent)

    return [
        of_text("itp.csv", ITP, read),
        of_text("any.csv", CSV, read),
        of_text("wall.csv", WALL, read),
        of_text("any.tsv", CSV.replace(",", "\t"), read),
        Kind("any.csv.gz", gzip.compress(CSV.encode(), mtime=0), read),
        of_text("philly.csv", PHILLY_CSV, read),
        of_text("philly.json", philly, read),
        Kind("philly.json.gz", gzip.compress(philly.encode(), mtime=0), read),
        of_text("helios.csv", HELIOS, read),
        of_text("log.swf", SWF, read),
        of_text("gavel.trace", GAVEL, lambda p: read(p, throughputs=folder / "oracle.json")),
        of_text("o.json", ORACLE, lambda p: read(folder / "whole.tsv", "gavel", throughputs=p)),
        *(excerpt(name, read) for name in ("acme", "batsim", "elasticflow", "sacct", "squeue")),
        excerpt("pai-2020", lambda p: read(p, tasks=folder / "tasks.csv")),
        of_text("nodes.json", NODES, cluster),
        of_text("sinfo.json", LINES, cluster),
        of_text("pods.csv", PODS, read),
        of_text("pods.csv", PODS, gs.traces.read_requests),
        Kind("columns.npz", npz(), read),
        Kind("packed.npz", packed_npz(), read),
        Kind("columns.npy", npy(), read),
        Kind("columns.parquet", parquet(), read),
        of_text("servers.csv", SERVERS, cluster),
        of_text("pai.csv", PAI, cluster),
        Kind("servers.tar.gz", tar(SERVERS), cluster),
        of_text("topology.csv", TOPOLOGY, cluster),
        of_text("topology.csv", TOPOLOGY, gs.clusters.read_topology),
        of_text("cluster.toml", CLUSTER, cluster),
        of_text("cluster.toml", CLUSTER, gs.read_cluster),
        of_text("profiles.toml", PROFILES, gs.models.read_profiles),
        of_text("profiles.json", PROFILES_JSON, gs.models.read_profiles),
        of_text("curves.csv", CURVES, throughputs),
        of_text("oracle_throughputs.json", ORACLE, throughputs),
        of_text("curves.toml", PROFILES[PROFILES.rindex("[[profiles]]") :], throughputs),
        of_text("placements.csv", PLACEMENTS, of_pollux),
        of_text("scalability.csv", SCALABILITY, of_pollux),
        Kind("result.npz", saved[0][1].read_bytes(), gs.load_result),
        Kind("model.npz", saved[1][1].read_bytes(), gs.prediction.load_predictor),
        of_text("spec.json", spec.to_json(), lambda p: of_spec(gs.RunSpec.from_json, p)),
        of_text("spec.toml", spec.to_toml(), lambda p: of_spec(gs.RunSpec.from_toml, p)),
    ]


def of_spec(decode: Callable[..., Any], path: Path) -> Any:
    return decode(path.read_bytes(), str(path))


# Damage

ODD = (
    b"0", b"-1", b"1e400", b"-1e400", b"nan", b"inf", b"-inf", b"1e308", b"1e19",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809",
    b"18446744073709551616", b"1" + b"0" * 400,
    b"9" * 5000, b"0x10", b"1_0", b"1.5", b"-0.0", b"1e-320", b"4e9", b"2147483648", b"0.1e-5", b"",
    b" ", b"true", b"null", b"None", b"NaN", b"0000-01-01 00:00:00", b"-0001-01-01 00:00:00",
    b"9999-12-31 23:59:59", b"10000-01-01 00:00:00", b"2020-02-30 00:00:00", b"0001-01-01 00:00:00",
    b"2020-01-01 00:00:60", b"2020-01-01T00:00:00+14:00", b"262143-12-31 23:59:59",
    b"999999999999", b"[]", b"{}", b'""', b"[" * 100, b"x" * 300, "ünï".encode(), b"\xff", b"\0",
    b"\r", b"\xef\xbb\xbf", "\u202e".encode(), b"|", b'"', b"'", b",", b"\t", b"\n", b";", b"#",
)  # fmt: skip


def bytes_flipped(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def bits_flipped(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def left_out(data: bytes, draw: random.Random) -> bytes:
    begin = draw.randrange(len(data))
    return data[:begin] + data[begin + draw.choice((1, 2, 8, 40)) :]


def repeated(data: bytes, draw: random.Random) -> bytes:
    begin = draw.randrange(len(data))
    end = begin + draw.choice((1, 8, 40, 200))
    return data[:end] + data[begin:end] * draw.choice((1, 2, 50)) + data[end:]


def put_in(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data) + 1)
    return data[:place] + draw.choice(ODD) + data[place:]


def word_replaced(data: bytes, draw: random.Random) -> bytes:
    """Replace a run of letters, digits and points by something odd: a number, a name, a time."""
    words = list(words_of(data[:20_000]))
    if not words:
        return put_in(data, draw)
    for begin, end in sorted(draw.sample(words, min(len(words), draw.choice((1, 1, 2)))))[::-1]:
        data = data[:begin] + draw.choice(ODD) + data[end:]
    return data


def words_of(data: bytes) -> Iterator[tuple[int, int]]:
    begin = None
    for place, byte in enumerate(data + b" "):
        is_inside = (chr(byte).isalnum() and byte < 128) or byte in b".-:"
        if is_inside and begin is None:
            begin = place
        elif not is_inside and begin is not None:
            yield begin, place
            begin = None


def lines_moved(data: bytes, draw: random.Random) -> bytes:
    lines = data.split(b"\n")
    first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    if draw.random() < 0.3:
        del lines[draw.randrange(len(lines))]
    return b"\n".join(lines)


def word_moved(data: bytes, draw: random.Random) -> bytes:
    """Put one word of the file in the place of another: fields of other types."""
    words = list(words_of(data[:20_000]))
    if len(words) < 2:
        return bits_flipped(data, draw)
    (begin, end), (a, b) = draw.sample(words, 2)
    return data[:begin] + data[a:b] + data[end:]


def recoded(data: bytes, draw: random.Random) -> bytes:
    text = data.decode("latin-1")
    code = draw.choice(("utf-16", "utf-8-sig", "utf-32", "utf-16-le", "utf-7"))
    return text.encode(code)


def ends_changed(data: bytes, draw: random.Random) -> bytes:
    return data.replace(b"\n", draw.choice((b"\r\n", b"\r", b"\n\n", b"\n\r", b" \n", b"\x0b")))


def packed(data: bytes, draw: random.Random) -> bytes:
    form = draw.randrange(4)
    if form == 0:
        return gzip.compress(data, mtime=0)
    if form == 1:
        return gzip.compress(data, mtime=0)[: draw.randrange(1, 40)]
    if form == 2:
        return gzip.compress(gzip.compress(data, mtime=0), mtime=0)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(draw.choice(("a.npy", "a.csv", "header.npy")), data)
    return file.getvalue()


def number_in_binary(data: bytes, draw: random.Random) -> bytes:
    """Replace four or eight bytes by a number that a length or an offset may be taken for."""
    place = draw.randrange(len(data))
    width = draw.choice((2, 4, 8))
    value = draw.choice(
        (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, 255, 65535)
    )
    return (
        data[:place] + (value % 2 ** (8 * width)).to_bytes(width, "little") + data[place + width :]
    )


def replaced(data: bytes, draw: random.Random) -> bytes:
    return draw.choice(
        (b"", b"\0", b"\n", b"PK\x03\x04", b"PAR1PAR1", b"\x93NUMPY\x01\x00v\x00", b"[", b"{}",
         b"[]", b"\x1f\x8b", b"[" * 100_000, b'{"a":' * 100_000, b"a=" + b"[" * 100_000,
         b"," * 50_000,
         draw.randbytes(200), b"\x1f\x8b\x08\x00" + draw.randbytes(60),
         b"PAR1" + draw.randbytes(99) + b"PAR1")
    )  # fmt: skip


DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    bytes_flipped, bits_flipped, cut, left_out, repeated, put_in, put_in, word_replaced,
    word_replaced, word_replaced, word_replaced, lines_moved, word_moved, recoded, ends_changed,
    packed, number_in_binary, replaced,
)  # fmt: skip


def damaged(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """Damage a file once, or now and then twice; what is packed is often damaged inside."""
    names = []
    is_gzip = data.startswith(b"\x1f\x8b") and draw.random() < 0.6
    if is_gzip:
        data = gzip.decompress(data)
    for _ in range(draw.choice((1, 1, 1, 2))):
        change = draw.choice(DAMAGE)
        names.append(change.__name__)
        data = change(data, draw) if data else b"x"
    return " and ".join(names), gzip.compress(data, mtime=0) if is_gzip else data


# Judgement

LIMIT_S = 20.0
"""A reader that takes longer over a file of a few kilobytes hangs."""


def fault(kind: Kind, path: Path, data: bytes) -> str | None:
    """Return what is wrong with how a file was read; None if nothing is."""
    path.write_bytes(data)
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind.read(path)
    except (ValueError, OSError) as error:
        problem = None if path.name in str(error) else f"does not name the file: {error!r}"
    except TypeError as error:
        problem = None if path.name in str(error) else "".join(traceback.format_exception(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = "".join(traceback.format_exception(error))
    else:
        problem = None
    seconds = time.perf_counter() - begin
    return f"took {seconds:.1f} s" if problem is None and seconds > LIMIT_S else problem


def check(num_cases: int, seed: int, most_faults: int = 1) -> tuple[int, list[str]]:
    """Damage files and read them; return how many were read, and the first faults."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = kinds(folder)
        for case in range(num_cases):
            kind = every[case % len(every)]
            draw = random.Random(f"{seed}/{case}")
            what, data = damaged(kind.data, draw)
            problem = fault(kind, folder / kind.name, data)
            if problem is not None:
                faults.append(f"case {case}, {kind.name}, {what}: {problem}")
                if len(faults) >= most_faults:
                    return case + 1, faults
    return num_cases, faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=20, help="stop after so many")
    given = parser.parse_args()
    num_read, faults = check(given.cases, given.seed, given.faults)
    for text in faults:
        print(text)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{num_read:,} damaged files, {len(faults)} faults, at most {peak:.0f} MiB")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
