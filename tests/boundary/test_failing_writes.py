"""Calls that fail while a file is written: it stays what it was, and the error names it."""

import shutil

import pytest

from tests.campaigns import failing_writes

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="needs a C compiler"
    ),
]


@pytest.mark.parametrize("writer", ["result.npz", "jobs.parquet", "study"])
def test_each_call_may_fail_and_the_old_file_or_the_new_one_is_there(writer):
    done = failing_writes.check(writer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.splitlines()[-1].split()[0]) >= 15
