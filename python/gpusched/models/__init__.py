"""What jobs compute and exchange: profiles, measured throughputs, graphs, zoos of models."""
