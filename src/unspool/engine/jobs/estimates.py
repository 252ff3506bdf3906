"""Predicted run times in place of requested ones: made when a job joins the queue, learnt from when one ends."""

from __future__ import annotations

from unspool.engine.kernel.compiled import compiled
from unspool.engine.kernel.state import Core, Guess

__all__ = ["ELSEWHERE", "EXACT", "LAST_TWO", "LEAST_S", "learn", "predict"]

ELSEWHERE, EXACT, LAST_TWO = 0, 1, 2  # by Python; by knowing the future; by the user's last two jobs

LEAST_S = 1.0
"""No prediction is shorter: an estimate of nothing would promise the impossible."""


@compiled
def predict(core: Core, guess: Guess | None, job: int) -> bool:
    """Write the estimate of a job that joins the queue; False where Python must do so first."""
    if guess is None or guess.known[job] != 0:
        return True
    kind = guess.rule[0]["kind"]
    if kind == ELSEWHERE:
        return False
    guess.known[job] = 1
    if kind == EXACT:
        core.fate[job]["estimate"] = max(core.jobs[job]["run_time"], LEAST_S)
    else:
        user = guess.user[job]
        ended = guess.ended[user]
        estimate = core.fate[job]["estimate"]
        if ended > 0:
            mean = guess.last[user, 0] if ended == 1 else (guess.last[user, 0] + guess.last[user, 1]) / 2.0
            estimate = min(estimate, mean)
        core.fate[job]["estimate"] = max(estimate, LEAST_S)
    return True


@compiled
def learn(core: Core, guess: Guess | None, job: int) -> None:
    """A job ended: its user's last two are now this one and the one before."""
    if guess is None or guess.rule[0]["kind"] != LAST_TWO:
        return
    user = guess.user[job]
    attempt = core.fate[job]["attempt"]
    guess.last[user, 1] = guess.last[user, 0]
    guess.last[user, 0] = core.course[0]["now"] - core.attempts[attempt]["start"]
    guess.ended[user] = min(guess.ended[user] + 1, 2)
