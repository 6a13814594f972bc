"""One loss per file, on tensors."""

from tqnet.objectives.cross_modal import cross_modal_infonce
from tqnet.objectives.infonce import infonce
from tqnet.objectives.pair import draw_pairs, pair_logistic
from tqnet.objectives.supervised_contrastive import supervised_contrastive

__all__ = ["cross_modal_infonce", "draw_pairs", "infonce", "pair_logistic", "supervised_contrastive"]
