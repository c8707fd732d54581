"""The layers of a jail, by name, in the order in which a job puts them on."""

from __future__ import annotations

NAMESPACES = "namespaces"  # a private root, process tree, network and user of its own; a scratch of limited size
LIMITS = "limits"  # rlimits: the kernel's own, wider than what is polled
PRIVILEGES = "privileges"  # no capability, and none to be had from any program
LANDLOCK = "landlock"
SECCOMP = "seccomp"
METER = "meter"  # memory, CPU time and processes of the whole tree, looked at 20 times a second
OUTER = "bubblewrap"  # a private root and network around the server, which all jobs share; not made by a job
USERS = "users"  # a user id of its own for each job: what the kernel counts by user, no job uses up for another
CGROUP = "cgroup"  # memory and threads of the whole tree, held by the kernel; the grader's, not made by a job
LAYERS = (NAMESPACES, LIMITS, PRIVILEGES, LANDLOCK, SECCOMP, METER)
ALL = (*LAYERS, USERS, CGROUP)
