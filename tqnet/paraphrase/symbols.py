"""ParaQD's operators by symbol, for those who need no more than their names."""

#: The operators by symbol: those that ParaQD is trained with (Section 3), by what their results are taken for, and
#: those of its test sets (Section 4.2).
POSITIVE, NEGATIVE = ("f1", "f2", "f3", "f4"), ("f5", "f6", "f7", "f8", "f9", "f10")
TEST = ("f_a", "f_b", "f_c", "f_d", "f_e")
#: Of the latter, by label, the rules: what a training may have besides.
POSITIVE_RULES, NEGATIVE_RULES = ("f_a",), ("f_c", "f_d")
