"""Saved results, predictors and runs that were changed: every change is refused, by name."""

import json

import numpy as np
import pytest

from gpusched.base import container
from tests import changed_files
from tests.campaigns import changed_stores
from tests.changed_files import Parts, check_refused, put_together, taken_apart
from tests.examples import number_of
from tests.fuzz.damage import leaves


def test_changes_of_all_kinds_are_refused_by_name():
    counts = changed_files.check(number_of(3_000), seed=0)
    kinds = {change.__name__ for change in (*changed_files.BYTES, *changed_files.MEMBERS)}
    assert kinds <= {what.partition(",")[0] for what in counts}
    assert sum(counts.values()) > 0.96 * number_of(3_000)


@pytest.mark.parametrize("store", changed_stores.STORES)
def test_changed_bytes_of_a_store_are_not_taken_for_whole(store):
    if store == "case":
        try:
            changed_stores.replay_tool()
        except FileNotFoundError as error:
            pytest.skip(str(error))
    assert changed_stores.check(store, 200, seed=0) == []


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return changed_files.saved_files(tmp_path_factory.mktemp("saved"))


@pytest.fixture(scope="module", params=[0, 1, 2], ids=["result", "predictor", "run"])
def saved(files, request):
    load, path = files[request.param]
    return load, path.with_name("changed.npz"), taken_apart(path)


def test_a_file_put_together_again_is_the_file(files):
    for _, path in files:
        assert put_together(taken_apart(path)) == path.read_bytes()


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("which", ["header", "manifest"])
def test_every_single_field_of_header_and_manifest_is_covered(saved, which, turn):
    """By a number and by a text, in turn."""
    load, path, parts = saved
    names = [name for name, _ in parts.members]
    encoded = parts.members[names.index("header")][1].tobytes()
    whole = json.loads(encoded) if which == "header" else parts.manifest
    fields = list(leaves(whole))
    assert len(fields) >= 20
    for number, field in enumerate(fields):
        value = (12345678, "changed")[(number + turn) % 2]
        record = json.loads(json.dumps(whole))
        inner = record
        for key in field[:-1]:
            inner = inner[key]
        assert inner[field[-1]] != value
        inner[field[-1]] = value
        if which == "manifest":
            altered = Parts(record, parts.members)
        else:
            text = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
            members = list(parts.members)
            members[names.index("header")] = ("header", np.frombuffer(text, np.uint8))
            altered = Parts(parts.manifest, tuple(members))
        check_refused(load, path, f"{field} = {value!r}", parts, put_together(altered))


def test_every_member_is_covered(saved):
    load, path, parts = saved
    for index, (name, array) in enumerate(parts.members):
        content = array.tobytes()
        for place in {0, len(content) // 2, len(content) - 1} if content else ():
            changed = bytearray(content)
            changed[place] ^= 1
            other = np.frombuffer(bytes(changed), array.dtype).reshape(array.shape)
            members = (*parts.members[:index], (name, other), *parts.members[index + 1 :])
            altered = put_together(Parts(parts.manifest, members))
            message = check_refused(load, path, name, parts, altered)
            assert f"{name}: does not have the stored SHA-256" in message


def test_what_a_manifest_claims_is_compared_with_the_file_before_space_is_taken(saved):
    load, path, parts = saved
    for shape in ([10**12], [2**62, 2**62], [-1], [0] * 9):
        manifest = json.loads(json.dumps(parts.manifest))
        member = manifest["members"][1]
        member["shape"] = shape
        member["num_bytes"] = int(np.prod([float(n) for n in shape])) * 8
        member["dtype"] = "<i8"
        signed = container._Manifest(
            manifest["format"],
            manifest["layout"],
            tuple(
                container.Member(**{**m, "shape": tuple(m["shape"])}) for m in manifest["members"]
            ),
            "",
        )
        resigned = json.loads(container._signed(signed))
        check_refused(load, path, str(shape), parts, put_together(Parts(resigned, parts.members)))
