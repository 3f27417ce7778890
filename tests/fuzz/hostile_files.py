"""Files made from nothing to be refused, and how often each kind of them is drawn."""

import random
from collections.abc import Callable
from typing import Final

from tests.fuzz.hostile_archives import (
    npy_header,
    parquet_bomb,
    parquet_of_types,
    tar_archive,
    zip_bomb,
    zip_of_members,
)
from tests.fuzz.hostile_text import bare, cells, gzip_bomb, huge_integer, nested, odd_json, wide

HOSTILE: Final[tuple[tuple[int, Callable[[random.Random], bytes]], ...]] = (
    (6, nested), (20, huge_integer), (40, bare), (2, wide), (150, cells), (1, gzip_bomb),
    (120, npy_header), (120, zip_of_members), (1, zip_bomb), (120, parquet_of_types),
    (1, parquet_bomb), (40, tar_archive), (80, odd_json),
)  # fmt: skip
"""How often each is drawn, relative to the others."""

# A reader of one kind of files is mostly given hostile ones of that kind.
_FITTING: Final[dict[str, tuple[Callable[[random.Random], bytes], ...]]] = {
    ".npz": (zip_of_members, zip_of_members, zip_of_members, npy_header, zip_bomb),
    ".npy": (npy_header,),
    ".parquet": (parquet_of_types,) * 20 + (parquet_bomb,),
    ".json": (odd_json,) * 10 + (huge_integer, nested),
    ".toml": (huge_integer, huge_integer, nested),
    ".csv": (cells,) * 20 + (huge_integer, wide),
}


def hostile(name: str, draw: random.Random) -> tuple[str, bytes]:
    """Return a hostile file in the place of the file ``name``, and what it is."""
    fitting = _FITTING.get(name[name.rfind(".") :], ())
    if fitting and draw.random() < 0.5:
        made = draw.choice(fitting)
    else:
        weights, every = zip(*HOSTILE, strict=True)
        made = draw.choices(every, weights)[0]
    return made.__name__, made(draw)
