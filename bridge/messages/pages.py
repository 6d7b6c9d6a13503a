"""All pages of the catalogue: who speaks, and what they say."""

from bridge.messages import (
    Message,
    bridgectl,
    bridged,
    doctor,
    doctor_kubernetes,
    doctor_slurm,
    hook,
    submission,
    workloads,
)

PAGES = {
    "bridgectl says of itself": bridgectl,
    "bridgectl says before the queue": submission,
    "bridged says of itself": bridged,
    "bridged says of workloads": workloads,
    "bridgectl doctor finds": doctor,
    "bridgectl doctor finds in Kubernetes": doctor_kubernetes,
    "bridgectl doctor finds in Slurm": doctor_slurm,
    "the hook says": hook,
}

SPEAKERS = {
    speaker: tuple(value for value in vars(page).values() if isinstance(value, Message))
    for speaker, page in PAGES.items()
}
MESSAGES = tuple(message for said in SPEAKERS.values() for message in said)
