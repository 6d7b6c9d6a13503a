"""Whose rights in Slurm this node's daemon has, as it has met them so far: what `bridgectl status` calls its tier."""

from bridge.config import Config
from bridge.engine.health import Contact
from bridge.errors import ConfigError
from bridge.messages import bridged as messages
from bridge.slurmrest.service import ServiceToken


def told(config: Config, contact: Contact | None, unminted: str, service: ServiceToken | None) -> str:
    """The tier's name, and behind a colon why it is not the one of bridge.toml. ``contact`` is the last word of
    slurmrestd, ``unminted`` why the last hook brought no token of its job's owner, '' where it brought one."""
    if config.slurmrest is None:
        return f"none: {messages.NO_SLURMREST}"
    if contact is not None and contact.for_good:
        return f"none: {contact.fault}"
    if service is None:
        return f"none: {unminted}" if unminted else "owner"
    try:
        service.credential()
    except ConfigError as error:
        return f"none: {error}" if unminted else f"owner: {error}"
    return config.slurmrest.tier
