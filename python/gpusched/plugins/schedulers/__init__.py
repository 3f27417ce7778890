"""A file per policy that is written in Python; each registers one.

It defines a subclass of :class:`gpusched.Scheduler` with the attributes that
:func:`gpusched.register_scheduler` explains, decorated with its name by
:func:`gpusched.plugins.registry.built_in`, and imports nothing heavier than NumPy before a run
needs it. The registry lists them with the core's.
"""
