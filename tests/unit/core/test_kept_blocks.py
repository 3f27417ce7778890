"""Large blocks of memory go from one run to the next, within limits."""

import subprocess
import sys

from gpusched._core import _testing

MIB = 1 << 20
# No run of another test in this process has records or a log of these sizes.
SIZE = 38 * MIB + 1
ROUNDED = 40 * MIB
HALF_OF_ALL = 512 * MIB
UNDER_A_LIMIT = f"""
import resource
from gpusched._core import _testing

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {100 * MIB}, resource.RLIM_INFINITY))
for _ in range(20):
    _testing.keep_bytes(_testing.allocate_kept_bytes({SIZE}), {SIZE})
    _testing.keep_bytes(_testing.allocate_kept_bytes({SIZE + ROUNDED}), {SIZE + ROUNDED})
"""


def given_back(size: int) -> int:
    """Return where a block of that size was."""
    block = _testing.allocate_kept_bytes(size)
    address: int = _testing.address(block)
    _testing.keep_bytes(block, size)
    return address


def test_a_block_that_was_given_back_is_the_next_of_its_size():
    address = given_back(SIZE)
    assert given_back(ROUNDED) == address
    assert given_back(ROUNDED + 1) != address
    assert given_back(SIZE) == address


def test_a_block_is_handed_out_once():
    given_back(SIZE)
    blocks = [_testing.allocate_kept_bytes(SIZE) for _ in range(3)]
    assert len({_testing.address(block) for block in blocks}) == 3
    for block in blocks:
        _testing.keep_bytes(block, SIZE)
    assert given_back(SIZE) == _testing.address(blocks[-1])


def test_the_oldest_blocks_go_when_more_than_a_gibibyte_is_kept():
    blocks = [_testing.allocate_kept_bytes(HALF_OF_ALL) for _ in range(3)]
    addresses = [_testing.address(block) for block in blocks]
    for block in blocks:
        _testing.keep_bytes(block, HALF_OF_ALL)
    kept = [_testing.allocate_kept_bytes(HALF_OF_ALL) for _ in range(2)]
    assert [_testing.address(block) for block in kept] == addresses[:0:-1]
    for block in kept:
        _testing.keep_bytes(block, HALF_OF_ALL)


def test_a_block_that_is_larger_than_all_that_may_be_kept_is_not_kept():
    address = given_back(SIZE)
    given_back(2 * HALF_OF_ALL + 1)
    assert given_back(SIZE) == address


def test_nothing_is_kept_under_a_limit_of_the_address_space():
    # There is room for either of the two sizes, and not for one beside the other.
    subprocess.run([sys.executable, "-c", UNDER_A_LIMIT], check=True)
