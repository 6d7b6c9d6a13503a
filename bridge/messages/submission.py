"""What bridgectl says of a job before it is in the queue, and of its way through it: `submit` and `check`."""

from bridge.messages import Message

_UNSUBMITTED = "no job is submitted"

SBATCH_REFUSED = Message(
    "sbatch-refused",
    "sbatch said: {said}",
    _UNSUBMITTED + "; spec and script are written",
    "mend the option that it names, here or in {script}, which `sbatch` takes as it is",
)
SPEC_UNWRITTEN = Message(
    "spec-unwritten",
    "{path} cannot be written: {why}",
    _UNSUBMITTED,
    "go to a directory of yours that compute nodes see, too, or name one with --chdir",
)
NAMES_TAKEN = Message(
    "names-taken",
    "{directory} is full of files that are named {name}",
    _UNSUBMITTED,
    "give the job another name with --job-name",
)
OPTION_UNLIKE = Message(
    "option-unlike",
    "the option {option} has a quote, a backslash or a new line, which a batch script cannot hold",
    _UNSUBMITTED,
    "write it without",
)
COMMENT_TAKEN = Message(
    "comment-taken",
    "the --comment already has a word {token}, and `submit` writes its own",
    _UNSUBMITTED,
    "leave it out, or give the spec that it names to sbatch",
)
COMMAND_STRAY = Message(
    "command-stray",
    "the word {word} belongs to no option",
    _UNSUBMITTED,
    "write the command behind `--`: bridgectl submit --image IMAGE -N2 -- python3 train.py",
)
EXPORT_UNSET = Message(
    "export-unset",
    "--export names {name}, which is not set here",
    _UNSUBMITTED,
    "set it, or leave it out",
)
EXPORT_UNLIKE = Message(
    "export-unlike",
    "{given} is no list of variables",
    _UNSUBMITTED,
    "write their names alone, such as --export=HF_HOME,SEED; other values go into the spec",
)
OUTPUT_ELSEWHERE = Message(
    "output-elsewhere",
    "the job's output file {path} is not seen on this machine",
    "its output is not shown",
    "look at it on a node of the job, or give sbatch --output a file on a file system that all share",
)
SCANCEL_REFUSED = Message(
    "scancel-refused",
    "scancel said: {said}",
    "the job may go on",
    "see squeue --me, and try `scancel {job}` again",
)
SUBMITTED = "wrote {spec} and {script}; `sbatch {script}` submits them again"
JOB_STANDS = "job {job}: {state}{why}"
JOB_ENDED = "job {job} has ended: {state}, exit code {code}"
JOB_GOES_ON = "job {job} goes on; `bridgectl explain {job}` shows how it is, `scancel {job}` ends it"
CANCEL_IT = "\nCancel job {job}? [y/N] "

SPEC_RUNS = "it would run: every field is kept, set or translated as said above"
KUBERNETES_TAKES = "Kubernetes would take {what}"
KUBERNETES_FORBIDS = "Kubernetes was not asked about the {what}: your account may not create any there"
KUBERNETES_UNSURE = "Kubernetes was asked, and cannot say: {said}"
KUBERNETES_SILENT = "Kubernetes did not answer within {seconds} s"
