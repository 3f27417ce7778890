"""What the audit knows of single plug-ins: one file a rule, which registers itself."""
