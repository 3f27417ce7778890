"""Policies written in Python; each file registers one.

A file defines a subclass of :class:`gpusched.Scheduler` with the attributes described in
:func:`gpusched.register_scheduler`, decorated with its name by
:func:`gpusched.plugins.registry.built_in`, and imports nothing heavier than NumPy before a run
needs it. The registry lists them with the core's.
"""
