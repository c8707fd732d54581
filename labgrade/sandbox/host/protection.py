"""How well this machine protects the grader from what it runs: found by doing, written in the first lines of a report.

Tier A: namespaces around each job. B: bubblewrap around the server, landlock and seccomp around each job. C: landlock
and seccomp alone. D: nothing that holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from labgrade.sandbox.jail.layers import LANDLOCK, LAYERS, LIMITS, NAMESPACES, OUTER, PRIVILEGES, SECCOMP, USERS

if TYPE_CHECKING:
    from collections.abc import Mapping

Tier: TypeAlias = Literal["A", "B", "C", "D"]

_MEANS: Mapping[Tier, str] = {
    "A": "each job has a private root, process tree, network and scratch",
    "B": "all jobs share one private root without network; each has landlock and seccomp",
    "C": "landlock and seccomp around each job; names and sizes of the machine's files can be seen",
    "D": "students' code can read what you can read, use the network, and change what you can change",
}
_SWITCHES = (
    ("/proc/sys/user/max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=10000"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or load AppArmor's profile bwrap-userns-restrict",
    ),
)
SHARED = "students' jobs have one user id, so that one may use up pipes and epoll watches for another"
_REMEDIES = {
    LANDLOCK: "use Linux 5.13 or newer, with landlock among the security modules of its command line (lsm=)",
    SECCOMP: "use Linux on x86-64 or aarch64",
    USERS: "install newuidmap (apt install uidmap), and give this user ranges in /etc/subuid and /etc/subgid",
}
POLLED = "polled every 50 ms"
WITH_CGROUP = "on cgroup v2 the kernel holds it under `systemd-run --user --scope -p Delegate=yes`"
_CONTAINER = "start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"


@dataclass(frozen=True, slots=True)
class ProtectionNote:
    """One layer that protects or is missing, with what to do about it. `kind` begins its line."""

    kind: Literal["protection", "missing", "shared", "memory"]
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return the line of a report."""
        return f"{self.kind}: {self.found}" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What protects the grader: layers in force in their order, missing ones with reasons, and what holds memory.

    `instead`: what to do about private namespaces where no server was tried.
    """

    layers: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    memory: ProtectionNote | None = None
    instead: str = ""

    @property
    def tier(self) -> Tier:
        """Return the tier that the layers make up."""
        have = set(self.layers)
        if {NAMESPACES, SECCOMP, PRIVILEGES, LIMITS} <= have:
            return "A"
        if {LANDLOCK, SECCOMP, PRIVILEGES, LIMITS} <= have:
            return "B" if OUTER in have else "C"
        return "D"

    @property
    def notes(self) -> tuple[ProtectionNote, ...]:
        """Return the tier and what it means; each missing layer with what to do about it."""
        first = ProtectionNote("protection", f"tier {self.tier}, {_MEANS[self.tier]}")
        rest = {layer: why for layer, why in self.missing.items() if layer != USERS}
        missing = (
            ProtectionNote("missing", f"{layer} ({why})", self.instead or remedy(layer, why))
            for layer, why in rest.items()
        )
        why = self.missing.get(USERS)
        shared = [ProtectionNote("shared", f"{SHARED} ({why})", remedy(USERS, ""))] if why is not None else []
        return (first, *missing, *shared, *([self.memory] if self.memory else []))

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the notes as the head of a report has them."""
        return tuple(map(str, self.notes))


def polled(why: str, remedy: str = "") -> ProtectionNote:
    """Return the note that memory is only polled."""
    return ProtectionNote("memory", f"{POLLED} ({why})", remedy)


def detect(state: Mapping[str, Any], memory: ProtectionNote | None = None) -> Protection:
    """Return what protects the grader, from a server's state and the note on memory."""
    layers = tuple(layer for layer in (*LAYERS, USERS, OUTER) if layer in state["layers"])
    missing = dict(state["missing"])
    if NAMESPACES in missing and OUTER in layers:
        missing.pop(NAMESPACES)
    return Protection(layers=layers, missing=missing, memory=memory)


def remedy(layer: str, why: str) -> str:
    """Return one line that says what to do to get a layer."""
    if layer != NAMESPACES:
        return _REMEDIES.get(layer, "see docs/security.md")
    if "may not run" in why:
        return "install Python where every user may read it, or run labgrade as an ordinary user"
    for switch, value, command in _SWITCHES:
        if _is(switch, value):
            return command
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return _CONTAINER
    return "install bubblewrap (apt install bubblewrap)"


def _is(switch: str, value: str) -> bool:
    try:
        return Path(switch).read_text().strip() == value
    except OSError:
        return False
