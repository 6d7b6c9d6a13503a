"""Rows of a container that cannot be made or started, or that ended; `pods` finds them."""

from bridge.job.faults.row import RUNNING, Fault, Subject, Verdict

_SETUP_PATIENCE = 10.0  # seconds: the kubelet tries again all the same

CONTAINER_CONFIG = Fault(
    "container-config",
    Subject.CONTAINER,
    Verdict.JOB,
    "the container of rank {rank} cannot be set up: {message}",
    "create the Secret, ConfigMap or key that it names, or take it out of the spec",
    "kubelet CreateContainerConfigError",
    _SETUP_PATIENCE,
)
CONTAINER_CONFIG_LATE = Fault(
    "container-config-late",
    Subject.CONTAINER,
    Verdict.SHARED,
    "the kubelet of {node} does not get what the container of rank {rank} needs from the API server: {message}",
    "the site looks at kubelet and API server",
    "kubelet CreateContainerConfigError; 'failed to sync secret cache: timed out waiting for the condition'",
    None,
)
CONTAINER_CREATE = Fault(
    "container-create",
    Subject.CONTAINER,
    Verdict.JOB,
    "the container of rank {rank} on {node} cannot be made: {message}",
    "correct the spec (command, mounts, workingDir)",
    "kubelet CreateContainerError, RunContainerError, PostStartHookError",
    _SETUP_PATIENCE,
)
BAD_COMMAND = Fault(
    "bad-command",
    Subject.CONTAINER,
    Verdict.JOB,
    "the command of rank {rank} cannot be started: {message}",
    "correct command, args or workingDir",
    "containerd: terminated with reason StartError, exit code 128; CRI-O: CreateContainerError 'executable file … not "
    "found'",
)
CONTAINER_TOO_SMALL = Fault(
    "container-too-small",
    Subject.CONTAINER,
    Verdict.JOB,
    "the memory of rank {rank} does not even hold the start of its container: {message}",
    "ask for more with --mem",
    "runc: 'container init was OOM-killed (memory limit too low?)' in a StartError, a RunContainerError or the event "
    "FailedCreatePodSandBox",
)
IMAGE_NEEDS_DRIVER = Fault(
    "image-needs-driver",
    Subject.CONTAINER,
    Verdict.JOB,
    "image {image} wants another GPU driver or device than {node} has (rank {rank}): {message}",
    "use an image for the CUDA that the site's driver supports, and leave NVIDIA_* variables to the site",
    "nvidia-container-cli 'requirement error: unsatisfied condition', 'device error: … unknown device'",
)
GPU_RUNTIME = Fault(
    "gpu-runtime",
    Subject.CONTAINER,
    Verdict.NODE,
    "{node} cannot give its GPUs to the container of rank {rank}: {message}",
    "look at the GPU driver there (nvidia-smi), then resume the node",
    "nvidia-container-cli 'initialization error: nvml error: driver not loaded', '… driver/library version mismatch' "
    "in a StartError or RunContainerError, outside all quotations",
    _SETUP_PATIENCE,
)
RUNTIME_SLOW = Fault(
    "runtime-slow",
    Subject.CONTAINER,
    Verdict.SHARED,
    "the container runtime of {node} does not get the container of rank {rank} made: {message}",
    "the site looks at the load, the disk and containerd of that node",
    "kubelet CreateContainerError 'context deadline exceeded', 'name … is reserved for'",
    None,
)
RUNTIME_NO_SPACE = Fault(
    "runtime-no-space",
    Subject.CONTAINER,
    Verdict.SHARED,
    "no space is left on {node} for the container of rank {rank}: {message}",
    "the site frees space on that node",
    "runtime: an error that ends in 'no space left on device'",
    None,
)
CRASH_LOOP = Fault(
    "crash-loop",
    Subject.CONTAINER,
    Verdict.JOB,
    "a container beside the training of rank {rank} ends again and again: {message}",
    "correct the init container with restartPolicy: Always",
    "kubelet CrashLoopBackOff of a restartable init container",
    30.0,
)
INIT_FAILED = Fault(
    "init-failed",
    Subject.CONTAINER,
    Verdict.JOB,
    "the init container {container} of rank {rank} on {node} {message}",
    "correct it, or take it out of the spec",
    "an init container terminated with another exit code than 0: the pod never starts",
)
OUT_OF_MEMORY = Fault(
    "out-of-memory",
    Subject.CONTAINER,
    Verdict.JOB,
    "rank {rank} on {node} ran out of memory and was killed",
    "ask for more with --mem",
    "kubelet: terminated with reason OOMKilled",
    phases=RUNNING,
)
CONTAINER_LOST = Fault(
    "container-lost",
    Subject.CONTAINER,
    Verdict.SHARED,
    "the container of rank {rank} on {node} is gone, and nobody knows how it ended: {message}",
    "submit again",
    "kubelet: terminated with reason ContainerStatusUnknown, after a reboot or a loss of the runtime's state",
    phases=RUNNING,
)
RANK_FAILED = Fault(
    "rank-failed",
    Subject.CONTAINER,
    Verdict.JOB,
    "rank {rank} on {node} {message}",
    "",
    "kubelet: the training container terminated with another exit code than 0",
    phases=RUNNING,
    advice="see the rank's last lines in the job's output file",
)

ROWS = (
    CONTAINER_CONFIG,
    CONTAINER_CONFIG_LATE,
    CONTAINER_CREATE,
    BAD_COMMAND,
    CONTAINER_TOO_SMALL,
    IMAGE_NEEDS_DRIVER,
    GPU_RUNTIME,
    RUNTIME_SLOW,
    RUNTIME_NO_SPACE,
    CRASH_LOOP,
    INIT_FAILED,
    OUT_OF_MEMORY,
    CONTAINER_LOST,
    RANK_FAILED,
)
