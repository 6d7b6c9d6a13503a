"""What works in which tier: the page of the documentation that is made of the code. A test measures it."""

from dataclasses import dataclass

from bridge.cli.table import cell

TIERS = ("none", "owner", "service", "administrator")


@dataclass(frozen=True)
class Ability:
    """``since`` is the first of `TIERS` that has it; ``otherwise`` is what happens in those before."""

    name: str
    what: str
    since: str
    otherwise: str = ""

    def works_in(self, tier: str) -> bool:
        """Whether this tier has it."""
        return TIERS.index(tier) >= TIERS.index(self.since)


ABILITIES = (
    Ability(
        "output", "the output file says why a job failed, and the script ends with the training's exit code", "none"
    ),
    Ability("comment", "the job's comment says how it goes and how it ended", "owner", "it stays as it was submitted"),
    Ability(
        "cancel",
        "a job that its owner must mend is cancelled before its script starts (or held, `on_job_fault`)",
        "owner",
        "its script starts, and `attach` ends it with 1",
    ),
    Ability(
        "requeue",
        "a job that met a fault which all nodes share goes back into the queue",
        "owner",
        "its script starts, and `attach` ends it with 75",
    ),
    Ability(
        "hold",
        "the third time it is held, with the reason in its comment, until somebody releases it",
        "owner",
        "as above: nothing counts its tries",
    ),
    Ability(
        "notice",
        "scancel, requeue, time limit and preemption are noticed while the prolog waits, within `timing.poll_period`",
        "owner",
        "the prolog waits until its deadline, and the job's nodes with it",
    ),
    Ability(
        "restart",
        "after a restart of the daemon the comment is told at once, whether or not an `attach` is there",
        "service",
        "it is told where the job's `attach` brings another token; not where nobody attaches, nor where "
        "`disable_token_creation` lets users make none",
    ),
    Ability(
        "orphans",
        "slurmctld is asked what became of a job whose workload nobody here knows, or whose epilog has not told",
        "service",
        "`bridgectl gc` says *unconfirmed*, and a person decides; a run without epilog stays while it has pods",
    ),
    Ability(
        "extend",
        "a job gets back the minutes that its prolog took (`extend_time_limit`)",
        "service",
        "they count against its limit",
    ),
    Ability(
        "drain",
        "a node that the bridge gives up is drained with the bridge's reason",
        "administrator",
        "Slurm's own reason stands there: Prolog error, Epilog error",
    ),
    Ability(
        "resume",
        "a node that was drained only because a release was not proven in time is resumed when it is",
        "administrator",
        "an admin resumes it",
    ),
)

_HEAD = """# What works in which tier

Made from the code by `make docs`; a test on a real Slurm measures every cell. `bridgectl status` says which tier a node
has, and where it has another one than `slurmrest.tier` says, why. README has
[how a site chooses](../../README.md#what-the-bridge-may-do-in-slurm).

| ability | what works | none | owner | service | administrator | where it does not |
|---|---|---|---|---|---|---|"""
_FOOT = """
## Tokens of the jobs' owners

In tier owner the batch node's prolog hook has slurmctld make a token of the job's owner (`scontrol token`, as root) and
hands it to the daemon, which has it in its memory alone. It lives until a quarter of an hour after the job's end, half
an hour at least and a day at most. Ten minutes before its end the daemon asks `bridgectl attach` for the next one, so
the end of a job of thirty days is told, too, while its script attaches. Where the prolog came by none, the job is
told of with the token of `bridgectl attach`, as soon as that begins. The epilog needs none: Slurm takes no word of a
job that is over.

- `AuthAltParameters=disable_token_creation` forbids users to make tokens, and not root (Slurm 24.11): hooks go on
  bringing them, and `attach` brings none. So a restart of the daemon costs the jobs that run their last comment, and so
  does a second day. Choose tier service where that matters.
- `AuthAltParameters=max_token_lifespan` holds for users, too; `attach` then takes tokens of Slurm's usual half hour.
- Where the hook gets no token (`bridgectl status` shows tier none, with Slurm's own words), a service token takes its
  place.
"""


def as_page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *map(_line, ABILITIES), _FOOT])


def _line(ability: Ability) -> str:
    cells = ["yes" if ability.works_in(tier) else "no" for tier in TIERS]
    return f"| {' | '.join([ability.name, cell(ability.what), *cells, cell(ability.otherwise)])} |"
