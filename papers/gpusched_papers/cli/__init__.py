"""The command ``gpusched reproduce``."""
