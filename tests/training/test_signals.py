"""A signal is remembered; a second one ends the run at once."""

from __future__ import annotations

import signal

import pytest

from tqnet.training.processes import Interrupted, Signals


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_twice_a_run_ends_at_once(number: signal.Signals, code: int) -> None:
    before = signal.getsignal(number)
    with Signals() as signals:
        signal.raise_signal(number)
        assert signals.number == number
        assert signals.exit_code == code
        with pytest.raises(Interrupted) as caught:
            signal.raise_signal(number)
    assert caught.value.code == code
    assert signal.getsignal(number) == before
