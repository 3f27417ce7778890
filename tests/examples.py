"""How many examples a law is shown: few by default, many where what is long runs too."""

from typing import Any

from hypothesis import settings

_MANY = 100
_FEWEST = 5

# How long an example takes depends on what else the machine does.
settings.register_profile("few", deadline=None, max_examples=20)
settings.register_profile("many", deadline=None, max_examples=_MANY)
settings.register_profile("study", deadline=None, max_examples=20_000)


def number_of(examples: int) -> int:
    """So many where the profile is ``many``; under ``few`` a fifth, and five if there are five."""
    share = settings().max_examples / _MANY
    return min(examples, max(round(examples * share), _FEWEST))


def examples(number: int, **more: Any) -> settings:
    """Settings of a law for which the profile's examples are too many or too few.

    ``number`` is how many there are under ``many``: less than 100 where one takes long, more where
    it takes a moment and the space is large.
    """
    return settings(max_examples=number_of(number), **more)
