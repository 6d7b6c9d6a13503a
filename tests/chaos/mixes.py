"""What chaos is made of: a site where everything fails at times, and others where what is seldom there is usual."""

from dataclasses import replace

from .plan import ON_THE_WAY, Harm, Kind, Mix, Pace

ENOUGH = 100  # strikes of each failpoint that a long run should have

USUAL = Mix(
    "usual",
    # Twice as many failpoints made no more strikes in a minute. With 30 s between two kills each node's daemon began
    # anew every 45 s, and took up to 33 s for it, since half of both processors was busy with that.
    Pace(faults=2.0, failpoints=8.0, silences=90.0, serves=90.0),
    kinds={
        Kind.SUCCESS: 24,
        Kind.FAILURE: 14,
        Kind.QUICK_END: 14,
        Kind.CANCEL: 18,
        Kind.REQUEUE: 6,
        Kind.TIME_LIMIT: 1,
        Kind.BAD_SPEC: 8,
        Kind.SLOW_PULL: 8,
        Kind.STUBBORN: 2,
        Kind.FOREIGN: 7,
    },
    sizes={1: 50, 2: 24, 3: 8, 4: 8, 5: 3, 6: 2, 7: 2, 8: 3},
    harms={
        Harm.DAEMON_KILLED: 22,
        Harm.DAEMON_FROZEN: 6,
        Harm.JOURNAL_LOST: 4,
        **dict.fromkeys(ON_THE_WAY, 9),
        Harm.APISERVER: 1,
        Harm.SLURMCTLD: 1,
        Harm.SLURMRESTD: 2,
        Harm.OPERATOR: 2,
        Harm.SCHEDULER: 2,
    },
    looks=0.2,
    patient=0.2,
    slow=(8.0, 25.0),
    stubborn=(75.0, 95.0),
    epilog_deadline=60.0,
    node_patience=30.0,
    given_back=0.0,
    administrator=2,
    holds=0,
    old=False,
    seeks=frozenset(),
    enough=ENOUGH,
)
# What the usual one comes to seldom, often: so that each failpoint is struck often enough.
_SEEKING = replace(USUAL, sizes={1: 80, 2: 14, 3: 3, 4: 3}, looks=1.0, administrator=1)
_SERVES = 10.0  # seconds of a daemon's life at least: at 45 between two kills most of a thousand lifecycles saw none
# Nodes without GPUs, or with a process that stays; drained, given back, and jobs that go to other nodes.
_NODES = replace(
    _SEEKING,
    name="nodes",
    # At once: what is told, counted, drained and given back comes one after the other, and would be passed otherwise.
    pace=Pace(faults=0.7, failpoints=0.0, serves=_SERVES),
    kinds={Kind.SUCCESS: 30, Kind.FAILURE: 10, Kind.CANCEL: 5, Kind.SLOW_PULL: 5, Kind.STUBBORN: 50},
    harms={Harm.GPUS_GONE: 24, Harm.DAEMON_KILLED: 1, **dict.fromkeys(ON_THE_WAY, 1)},
    stubborn=(44.0, 54.0),
    epilog_deadline=40.0,
    node_patience=3.0,
    given_back=50.0,  # at 30 s that was before the daemon did for near half of them, which seeks slurmrest.resume
    seeks=frozenset(
        {
            "hook.linger",
            "hook.node.scan",
            "kubelet.complaint",
            "kubernetes.create_event",
            "kubernetes.events_because",
            "kubernetes.node",
            "reply.scan",
            "slurmrest.drain",
            "slurmrest.node",
            "slurmrest.resume",
        }
    ),
)
# Daemons that know nothing of the runs that go on, or are asked for runs that never were; workloads whose pods nobody
# takes away; looks into outputs.
_MEMORY = replace(
    _SEEKING,
    name="memory",
    # A daemon that begins anew costs a second of a processor: at 0.15 thirty nodes had requests wait for seven.
    pace=Pace(faults=0.5, failpoints=0.0, serves=_SERVES),
    # Cancelled before the operator has made a pod: where none was seen, the proof asks for it by its name.
    patient=0.7,
    # A job without a spec is looked for behind no daemon's end, where another kill would be one too many.
    kinds={Kind.SUCCESS: 13, Kind.FAILURE: 20, Kind.CANCEL: 40, Kind.REQUEUE: 7, Kind.NO_SPEC: 20},
    # A pod is asked for by its name, and is there, behind a journal that is lost, or where a gate that was opened is
    # opened again.
    harms={
        Harm.JOURNAL_LOST: 6,
        Harm.COLLECTOR: 1,
        Harm.OPERATOR: 2,
        **dict.fromkeys(ON_THE_WAY, 1),
        Harm.LOST: 6,
        Harm.TWICE: 24,
    },
    seeks=frozenset(
        {
            "hook.daemon.tell",
            "hook.marker.read",
            "hook.marker.remove",
            "kubernetes.create_workload",
            "kubernetes.delete_pod",
            "kubernetes.delete_workload",
            "kubernetes.follow_log",
            "kubernetes.last_log",
            "kubernetes.list_workloads",
            "kubernetes.patch_pod",
            "kubernetes.pod",
            "kubernetes.watch_workload",
            "kubernetes.workload",
            "reply.attached",
            "reply.end",
            "reply.line",
        }
    ),
)
# Refused specs, slow starts after which a limit is lengthened, and daemons that forget.
_REFUSALS = replace(
    _SEEKING,
    name="refusals",
    pace=Pace(faults=4.0, failpoints=0.0, serves=_SERVES),
    kinds={Kind.FAILURE: 5, Kind.BAD_SPEC: 60, Kind.SLOW_PULL: 35},
    harms={Harm.DAEMON_KILLED: 1, **dict.fromkeys(ON_THE_WAY, 1)},
    slow=(32.0, 40.0),  # Slurm counts half a minute as a whole one
    holds=2,
    old=True,
    seeks=frozenset(
        {
            "hook.account.look_up",
            "hook.output.append",
            "hook.slurm.requeue",
            "hook.spec.read",
            "hook.timeline.leave",
            "hook.token.mint",
            "journal.forget",
            "kubernetes.events_of",
            "slurmrest.cancel",
            "slurmrest.job",
            "slurmrest.set_comment",
            "slurmrest.set_time_limit",
        }
    ),
)
# All that these three seek, at once: behind the first thousands each stood idle most of its time, since what it still
# had to strike is what few jobs come to.
_RARE = replace(
    _NODES,
    name="rare",
    # The collector is frozen for most of the time, else nobody deletes pods himself; the GPUs of eight nodes are gone.
    pace=Pace(faults=1.2, failpoints=0.0, serves=_SERVES),
    kinds={
        Kind.SUCCESS: 6,
        Kind.FAILURE: 14,
        Kind.CANCEL: 20,
        Kind.REQUEUE: 2,
        Kind.BAD_SPEC: 26,
        Kind.SLOW_PULL: 12,
        Kind.STUBBORN: 7,
        Kind.NO_SPEC: 13,
    },
    harms={
        Harm.GPUS_GONE: 22,
        Harm.OPERATOR: 3,
        Harm.COLLECTOR: 4,
        Harm.JOURNAL_LOST: 1,
        **dict.fromkeys(ON_THE_WAY, 1),
        Harm.TWICE: 3,
    },
    patient=_MEMORY.patient,
    slow=_REFUSALS.slow,
    holds=3,
    old=True,
    seeks=_NODES.seeks | _MEMORY.seeks | _REFUSALS.seeks,
)
# Daemons, and hooks beside them, that end or hang at what they do for every run, and daemons once more as they begin:
# the usual mix comes there often enough, but spares a daemon for most of its time. None of its jobs has a hook that
# gives a daemon up after 30 s, which is no more than one takes that hangs as it begins.
_DAEMONS = replace(
    _SEEKING,
    name="daemons",
    pace=Pace(faults=4.0, failpoints=0.0, serves=_SERVES),
    kinds={Kind.SUCCESS: 30, Kind.FAILURE: 25, Kind.QUICK_END: 8, Kind.CANCEL: 30, Kind.REQUEUE: 7},
    harms=dict.fromkeys(ON_THE_WAY, 1),
    seeks=frozenset(
        {
            "hook.daemon.ask",
            "hook.daemon.hear",
            "hook.marker.present",
            "hook.marker.write",
            "journal.append",
            "journal.set_note",
            "kubernetes.list_pods",
            "kubernetes.survey_workloads",
            "kubernetes.watch_pods",
            "reply.answer",
            "reply.hello",
        }
    ),
)
MIXES = {mix.name: mix for mix in (USUAL, _NODES, _MEMORY, _REFUSALS, _RARE, _DAEMONS)}
