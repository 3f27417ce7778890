"""A-SRPT (Luo et al., INFOCOM 2025)."""
