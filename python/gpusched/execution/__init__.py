"""Where the parts of a study run: threads, processes, any executor, Dask and Ray."""
