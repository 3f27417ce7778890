"""States of clusters as files tell them: a format each for our own, Slurm's and Kueue's."""
