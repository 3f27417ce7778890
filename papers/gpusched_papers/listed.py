"""The papers here: of each a claims file, ``NAME.toml``, and a module, ``NAME.py``."""

from __future__ import annotations

from importlib import resources

import msgspec

from gpusched_papers.claims import claims_file
from gpusched_papers.registry import Paper, register_paper

for _path in sorted(resources.files("gpusched_papers").iterdir(), key=str):
    _stem, _, _ending = _path.name.partition(".")
    if _ending == "toml":
        _module = f"gpusched_papers.{_stem}"
        _about = {"name": _stem.replace("_", "-"), "module": _module, "published": _module}
        register_paper(msgspec.convert(_about | claims_file(_stem)["paper"], Paper))
