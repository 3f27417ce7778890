"""The state of the field: all policies on the same workloads, and one page of how they rank."""
