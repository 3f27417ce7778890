"""Tuning: the options of policies searched on a part of a study, and judged on the rest."""
