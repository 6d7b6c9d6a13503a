"""What `bridgectl doctor` finds: each with what becomes of it, and what to do."""

from bridge.messages import Message

NOTHING_KNOWN = "nothing is known of this: it may be good or not"
_WAITS = "prologs on this node wait and their jobs go back into the queue; epilogs wait"
_TAKEN_OVER = "who can change it is root on this node at the next job"

# -- what could not be looked at

UNLOOKED = Message(
    "unlooked", "{check} could not be looked at: {why}", NOTHING_KNOWN, "mend that, and run doctor again as root"
)
CRASHED = Message(
    "check-crashed",
    "the check {check} stopped by a fault of its own ({kind}: {why})",
    NOTHING_KNOWN + "; the other checks are as good as ever",
    "report it with these words",
)
COMMAND_MISSING = Message(
    "command-missing", "{command} is not in PATH", NOTHING_KNOWN, "install it, or run doctor with a PATH that has it"
)
COMMAND_FAILED = Message("command-failed", "`{command}` said: {said}", NOTHING_KNOWN, "run it by hand, and see why")
SLURM_UNASKED = Message(
    "slurm-unasked", "Slurm's side is not known: {why}", NOTHING_KNOWN, "see `scontrol ping`, then run doctor again"
)
SLURM_NODE_UNKNOWN = Message(
    "slurm-node-unknown",
    "Slurm shows no node {host}",
    "no job comes here; what Slurm would give of this node is not known",
    "run doctor on a compute node, or see NodeName in slurm.conf: the bridge takes the short host name for it",
)
NO_KUBELET_PROCESS = "no process called kubelet runs here"
NO_DRIVER_TOLD = "their configurations do not say it"
NO_DATE = "a server's answer had no date"
NO_TEST_IMAGE = "bridge.toml names no kubernetes.test_image, and --image none"
NO_PULLER = "neither crictl nor ctr is in PATH"

# -- what is installed here

PYTHON_UNUSABLE = Message(
    "python-unusable",
    "{path} does not run with what it needs: {why}",
    "that of the venv: bridged does not start; that of the hooks: every bridge job drains the node",
    "install the package again (without one, make the venv); for the hooks install the system's python3",
)
PYTHON_OLD = Message(
    "python-old",
    "{path} is Python {version}, and {oldest} is the oldest that does",
    "bridged does not start, or hooks fail",
    "install a newer one at that place",
)
CONFIG_BAD = Message(
    "config-bad",
    "bridge.toml cannot be used: {fault}",
    "bridged does not start; hooks wait, or, where it never did, bridge jobs end at once",
    "mend it; `bridged --check-config` says when it is good",
)
CONFIG_OPEN = Message(
    "config-open",
    "{path} can be changed by others than root ({shown})",
    "who changes it decides whose API server and whose slurmrestd this node believes",
    "chown root:root, chmod 0644",
)
SOCKET_MISSING = Message(
    "socket-missing",
    "{path} is no {kind}, or not there",
    "hooks reach nobody and drain the node; bridgectl neither",
    "systemctl restart slurm-k8s-bridge-hook.socket slurm-k8s-bridge-user.socket",
)
SOCKET_OPEN = Message(
    "socket-open",
    "{path} has owner {owner} and mode {mode} instead of root and {due}",
    "users may speak as slurmd would, or cannot ask for their jobs",
    "restart its .socket unit, and see what changed it: the unit sets both",
)
UNITS_UNKNOWN = Message("units-unknown", "systemd does not say how {unit} is", NOTHING_KNOWN, "systemctl show {unit}")
UNIT_NOT_ENABLED = Message(
    "unit-not-enabled",
    "{unit} does not start at boot ({state})",
    "after the next boot prologs reach nobody, and drain the node",
    "systemctl enable --now {unit}; where systemd knows it not, install the package again",
)
UNIT_AFTER_SLURMD = Message(
    "unit-after-slurmd",
    "{unit} is not ordered before slurmd.service",
    "after a boot slurmd may start jobs before bridged knows which runs are unfinished",
    "see that nothing replaces its Before= (systemctl cat {unit}), and that slurmd's unit is called slurmd.service",
)
DAEMON_SILENT = Message(
    "doctor-daemon-silent",
    "bridged does not answer: {why}",
    "prologs and epilogs of bridge jobs wait for it to their deadlines",
    "see `systemctl status slurm-k8s-bridge` and `journalctl -u slurm-k8s-bridge`",
)
VERSIONS_DIFFER = Message(
    "versions-differ",
    "bridged is {daemon}, and what is installed is {own}",
    "the old one goes on until it is started anew",
    "systemctl restart slurm-k8s-bridge: running jobs go on",
)
DAEMON_UNCONNECTED = Message(
    "daemon-unconnected",
    "bridged's last word from {server} was no answer: {fault}",
    _WAITS,
    "see the other findings; where there is none, `bridgectl status` in a minute",
)
NODE_GAVE_UP = Message(
    "node-gave-up",
    "this node failed job {job}, and no pod has started here since: {sentence}",
    "Slurm has drained it, or starts the next job on a node that may fail it, too",
    "mend that, then scontrol update nodename=NODE state=resume",
)
HOOK_MISSING = Message(
    "hook-missing",
    "{path} is not there",
    "bridge jobs start here without pods, or are given back unproven",
    "install the package again, or run packaging/install.sh",
)
HOOK_OPEN = Message("hook-open", "{path} has owner {owner} and mode {mode}", _TAKEN_OVER, "chown root:root, chmod go-w")
HOOK_NOT_RUN = Message(
    "hook-not-run", "{path} is not executable", "slurmd drains the node at the next job", "chmod 0755"
)
HOOK_UNCALLED = Message(
    "hook-uncalled",
    "{setting} of slurm.conf does not name {path}",
    "bridge jobs start without pods, or are never proven gone",
    "set {setting} to that folder's /* in slurm.conf, then `scontrol reconfigure`",
)

# -- both sides

GPUS_DIFFER = Message(
    "gpus-differ",
    "Slurm has {slurm} GPUs on this node, and Kubernetes {kubernetes} {resource}",
    "more in Slurm: jobs are given what is not there, and the node is drained; more in Kubernetes: jobs get none",
    "see gres.conf, `kubectl describe node` and the device plugin; MIG slices need gpu.types",
)
CPUS_TOO_MANY = Message(
    "cpus-too-many",
    "{section}.max_cpus is {most:g}, and the Node can give {free:g}",
    "the pod of a job that takes the whole node never starts",
    "lower it to allocatable less the DaemonSets (bridgectl doctor --cluster)",
)
MEMORY_TOO_MUCH = Message(
    "memory-too-much",
    "{section}.max_memory is {most} MiB, and the Node can give {free}",
    "the pod of a job that takes the whole node never starts",
    "lower it to allocatable less the DaemonSets (bridgectl doctor --cluster)",
)
BOUNDS_LOW = Message(
    "bounds-low",
    "the largest pod of bridge.toml has {bounds}, less than half of what Slurm gives of this node ({given})",
    "jobs get less than they were given, and nobody uses the rest",
    "raise pod.max_cpus and pod.max_memory, or see CPUs and RealMemory in slurm.conf",
)
ALLOCATABLE_UNREAD = Message(
    "allocatable-unread", "what the Node can give, or what a pod asks for, is no quantity: {why}", NOTHING_KNOWN,
    "see `kubectl describe node`",
)  # fmt: skip
CLOCK_OFF = Message(
    "doctor-clock-off",
    "this node's clock is {difference} that of {who}",
    "certificates, tokens and munge judge by it: before long nobody takes this node's word",
    "set it, and see why it was not set by itself: timedatectl, chronyc tracking",
)
CLOCK_UNKNOWN = Message(
    "clock-unknown", "a server's clock is not known: {why}", NOTHING_KNOWN, "mend that, and run doctor again"
)
IMAGE_UNTRIED = Message(
    "image-untried",
    "no image was pulled: {why}",
    NOTHING_KNOWN,
    "name a small image of the site's registry in kubernetes.test_image or by --image; crictl is in cri-tools",
)
IMAGE_NOT_PULLED = Message(
    "image-not-pulled",
    "the container runtime of this node does not get {image}: {why}",
    "jobs whose image is not there yet wait to their deadline here",
    "see name, registry, mirrors, proxy and authorities of containerd (/etc/containerd/certs.d)",
)
MARKER_LEFT = Message(
    "marker-left",
    "job {job} has begun here, Slurm has it here no more, and nobody has proven it gone",
    "the next bridge job here waits until it is proven; GPUs may still be in its hands",
    "`bridgectl show {job}` says what is missing; the next prolog proves it, too, and once the job's time is long over "
    "the daemon ends the run by itself (log: run_over_without_epilog). Remove no marker by hand",
)
WORKLOAD_LEFT = Message(
    "workload-left", "{workload} is {state}: {why}", "it may hold pods on Slurm's nodes", "bridgectl gc --dry-run"
)
POD_LEFT = Message(
    "pod-left", "{pod} is of a run that was released", "it may hold GPUs that Slurm gives to others", "bridgectl gc"
)
LEFTOVERS_UNKNOWN = Message(
    "leftovers-unknown", "what is left of runs is not known: {why}", NOTHING_KNOWN, "mend that; run doctor as root"
)


# -- how it is called

CLUSTER_ELSEWHERE = Message(
    "cluster-elsewhere",
    "--kubeconfig is an admin's, and an admin looks at the cluster",
    "nothing is looked at",
    "add --cluster, or leave it out",
)
DOCTOR_NOT_ROOT = Message(
    "doctor-not-root",
    "only root sees all of a node: sockets, kubeconfig, kubelet, images",
    "nothing is looked at",
    "run it as root; `bridgectl doctor --cluster` needs an admin's kubeconfig only",
)
