"""Single decisions without a run: assign, transport, place, plan, fill."""
