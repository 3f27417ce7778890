"""Mistakes that are mended in one way in Python and in another at the command line."""

from __future__ import annotations


class HintedError(ValueError):
    """What is wrong, and how it is put right in the words of either surface.

    Parameters
    ----------
    what
        What is wrong.
    in_python, at_command
        What to write, put behind it: ``" (columns={'gpus': ...})"``, ``" (--column gpus=...)"``.
    """

    def __init__(self, what: str, in_python: str, at_command: str) -> None:
        super().__init__(what, in_python, at_command)  # a pickle is made of these
        self.what, self.in_python, self.at_command = what, in_python, at_command

    def __str__(self) -> str:
        return f"{self.what}{self.in_python}"

    @property
    def command_text(self) -> str:
        """The message in the words of the command line."""
        return f"{self.what}{self.at_command}"

    def saying(self, what: str) -> HintedError:
        """Return the error with another text of what is wrong."""
        return HintedError(what, self.in_python, self.at_command)
