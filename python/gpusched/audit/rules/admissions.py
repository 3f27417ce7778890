"""What policies with admission say of the jobs that they take and turn down."""

from __future__ import annotations

from dataclasses import replace

from gpusched.audit.admissions import ADMISSION_RULES, AdmissionRule

ADMISSION_RULES.register("dancer")(
    AdmissionRule(
        admitted=frozenset({"admitted"}),
        turned_down=frozenset({"too dear", "no room", "impossible", "too long", "cannot run"}),
        is_priced=True,
        slot_s=300.0,
        names_window=frozenset({"too dear", "no room"}),
    )
)

_ON_SHARES = AdmissionRule(
    admitted=frozenset({"a share of its type meets the deadline and every promise stands"}),
    turned_down=frozenset(
        {
            "the deadline has passed",
            "another job of its slot cannot be met",
            "no single GPU type holds the gang",
            "the GPUs that admitted jobs leave do not suffice",
            "no plan of at most 32768 slots meets the deadline",
            "no width of any type meets the deadline",
        }
    ),
)
ADMISSION_RULES.register("chronus")(_ON_SHARES)
ADMISSION_RULES.register("elasticflow")(
    replace(_ON_SHARES, slot_s=300.0, slotted_by=("admission", "batch"))
)

ADMISSION_RULES.register("edf-greatest")(
    AdmissionRule(
        admitted=frozenset({"it and all others end in time"}),
        turned_down=frozenset({"it or another job would miss its deadline"}),
        slot_s=-1.0,
    )
)
