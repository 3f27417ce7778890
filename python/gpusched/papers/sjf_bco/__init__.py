"""SJF-BCO (Yu et al., MobiHoc 2022)."""
