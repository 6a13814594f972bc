"""An export from start to end: written aside, compared with PyTorch, and given its name if it is near enough."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path

import numpy as np

from tqnet.export.calibration import Calibration, beside, sample
from tqnet.export.check import Check, compare
from tqnet.export.encoder import ExportedEncoder
from tqnet.export.writing import write
from tqnet.files import atomic_folder
from tqnet.modeling.build import load_model
from tqnet.questions import QuestionBank

log = logging.getLogger(__name__)


class NotWrittenError(ValueError):
    """The vectors of an export are too far from PyTorch's."""


def export(
    source: Path,
    bank: QuestionBank,
    out: Path,
    format: str,
    precision: str,
    questions: int = 512,
    seed: int = 0,
    force: bool = False,
) -> Check:
    """Export the model in ``source`` to the folder ``out``, in place of an export that is there.

    Args:
        questions: Of the bank, on which vectors are compared. int8 is calibrated on others, as far as there are; the
            manifest tells of how many of those compared it was too.
        force: Write it whatever the comparison says; the manifest tells what it said, and ``auto`` passes it over.

    Raises:
        NotWrittenError: The vectors are too far from PyTorch's; ``out`` is as it was.
        ExportError: The format is of no use in this precision.
        ValueError: The bank is empty, or the model of a kind that is not exported.
    """
    if not len(bank):
        raise ValueError(f"{bank.path}: no question to compare vectors on")
    model = load_model(source)
    compared = sample(bank, questions, seed)
    fitted = beside(compared, len(bank), seed)
    with atomic_folder(out) as work:
        manifest = write(model, source, work, format, precision, Calibration(model, bank.select(fitted)))
        chosen = bank.select(compared)
        expected = model.encode(chosen, device="cpu", show_progress=True)
        check = compare(chosen, expected, ExportedEncoder(work, source).encode(chosen, show_progress=True))
        faults = check.faults(precision)
        if faults:
            if not force:
                raise NotWrittenError("; ".join([*faults, str(check)]))
            log.warning("%s: written all the same, for --backend %s alone: %s", out, format, "; ".join(faults))
        if model.config.reads_images and not check.figures:
            log.warning("%s: no question compared has a figure; the graphs of figures are not checked", out)
        if manifest.not_quantized:
            named = ", ".join(manifest.not_quantized)
            log.warning("%s: stays in fp32, no question that int8 is calibrated on has to do with it: %s", out, named)
        calibrated = {}
        if precision == "int8":
            calibrated = {"questions": len(fitted), "also_compared": len(np.intersect1d(fitted, compared))}
        dataclasses.replace(manifest, check=check.to_dict(), faults=faults, calibration=calibrated).save(work)
    return check
