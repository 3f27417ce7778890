"""File formats, one file each; those of traces end by registering themselves."""
