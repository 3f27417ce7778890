"""Clusters: servers, their network, and the columns that the core reads of them."""
