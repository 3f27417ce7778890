"""Counter-based random numbers, determined by (seed, stream, job, counter)."""

from __future__ import annotations

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15
STREAMS = {"order": 1, "placement": 2, "servers": 3}


def mix(x: int) -> int:
    """Scramble a 64-bit word (the finaliser of splitmix64)."""
    x %= WORD
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 % WORD
    x ^= x >> 27
    x = x * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def draw(seed: int, stream: str, job: int, counter: int) -> int:
    """Return 64 random bits."""
    x = mix(seed + GOLDEN)
    for part in (STREAMS[stream], job, counter):
        x = mix(x + part * GOLDEN + GOLDEN)
    return x


def uniform(bits: int) -> float:
    """Map 64 random bits to [0, 1)."""
    return (bits >> 11) * 2.0**-53


def below(bits: int, n: int) -> int:
    """Map 64 random bits to 0 .. n - 1."""
    return (bits * n) >> 64
