"""Rooflines: what a kernel attains on a machine with several memories, and how that goes wrong."""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]


def attainable(config: Config) -> float:
    """FLOPs a second that a kernel attains at most on a machine with several memories.

    The kernel takes `flops` and moves `bytes` by the name of the memory; the machine has a `peak` in FLOPs a second and
    a `bandwidth` in bytes a second for each memory. The least of the peak and bandwidth * flops / bytes of each.
    """
    return float(min(config["peak"], *_roofs(config).values()))


def roof(config: Config) -> str:
    """What bounds that: `compute`, or the name of the memory."""
    roofs = {"compute": config["peak"], **_roofs(config)}
    return min(roofs, key=lambda name: float(roofs[name]))


def _roofs(config: Config) -> dict[str, float]:
    return {name: each * config["flops"] / config["bytes"][name] for name, each in config["bandwidth"].items()}


def attainable_unbounded(config: Config) -> float:
    """What the memories allow, also above the peak.

    Slip of: attainable
    Hint: This is above the machine's peak: no kernel is faster than that. Take the least of the peak and the
    memories.
    Credit: 0.4
    """
    return float(min(_roofs(config).values()))


def attainable_of_the_first_memory(config: Config) -> float:
    """With the first memory alone.

    Slip of: attainable
    Hint: Only the first memory is looked at. Each memory has a roof; the lowest counts.
    Credit: 0.5
    """
    return float(min(config["peak"], next(iter(_roofs(config).values()))))


def attainable_of_the_last_memory(config: Config) -> float:
    """With the last memory alone.

    Slip of: attainable
    Hint: Only the last memory is looked at. Each memory has a roof; the lowest counts.
    Credit: 0.5
    """
    return float(min(config["peak"], list(_roofs(config).values())[-1]))


def attainable_of_dram(config: Config) -> float | None:
    """With the memory of this name alone.

    Slip of: attainable
    Hint: Only `dram` is looked at. Each memory has a roof; the lowest counts.
    Credit: 0.5
    """
    roofs = _roofs(config)
    return float(min(config["peak"], roofs["dram"])) if "dram" in roofs else None


def attainable_of_the_highest(config: Config) -> float:
    """The highest of the roofs.

    Slip of: attainable
    Hint: This is the highest roof. The lowest bounds the kernel.
    Credit: 0.3
    """
    return float(max(config["peak"], *_roofs(config).values()))


def attainable_one_after_another(config: Config) -> float:
    """With the times one after the other.

    Slip of: attainable
    Hint: The times of computing and moving are added up. In the roofline model they overlap: the longest counts.
    Credit: 0.5
    """
    seconds = [config["flops"] / each for each in (config["peak"], *_roofs(config).values())]
    return float(config["flops"] / sum(seconds))


def attainable_of_all_bytes(config: Config) -> float:
    """With the bytes of all memories over each bandwidth.

    Slip of: attainable
    Hint: The bytes of all memories are added up. Each memory moves its own.
    Credit: 0.5
    """
    return float(
        min(
            config["peak"],
            *(each * config["flops"] / sum(config["bytes"].values()) for each in config["bandwidth"].values()),
        )
    )


def attainable_of_all_memories_as_one(config: Config) -> float:
    """With all bytes over the sum of the bandwidths.

    Slip of: attainable
    Hint: The memories are taken for one: their bytes are added up, and so are their bandwidths. Each memory has a roof
    of its own.
    Credit: 0.4
    """
    bandwidth, moved = sum(config["bandwidth"].values()), sum(config["bytes"].values())
    return float(min(config["peak"], bandwidth * config["flops"] / moved))


def attainable_of_the_highest_memory(config: Config) -> float:
    """With the highest of the memories' roofs.

    Slip of: attainable
    Hint: The highest of the memories' roofs is taken. The lowest counts.
    Credit: 0.4
    """
    return float(min(config["peak"], max(_roofs(config).values())))


def attainable_of_the_slowest_memory(config: Config) -> float:
    """With the memory of the least bandwidth alone.

    Slip of: attainable
    Hint: Only the memory with the least bandwidth is looked at. Each memory has a roof; the lowest counts.
    Credit: 0.5
    """
    name = min(config["bandwidth"], key=lambda each: float(config["bandwidth"][each]))
    return float(min(config["peak"], _roofs(config)[name]))


def attainable_of_the_most_bytes(config: Config) -> float:
    """With the memory that moves most alone.

    Slip of: attainable
    Hint: Only the memory that moves most is looked at. Each memory has a roof; the lowest counts.
    Credit: 0.5
    """
    name = max(config["bytes"], key=lambda each: float(config["bytes"][each]))
    return float(min(config["peak"], _roofs(config)[name]))


def attainable_of_memories_one_after_another(config: Config) -> float:
    """With the times of the memories one after the other.

    Slip of: attainable
    Hint: The times of the memories are added up. In the roofline model they overlap: the longest counts.
    Credit: 0.5
    """
    seconds = [config["flops"] / each for each in _roofs(config).values()]
    return float(min(config["peak"], config["flops"] / sum(seconds)))


def attainable_turned_round(config: Config) -> float:
    """With bytes for each FLOP.

    Slip of: attainable
    Hint: The intensity is turned round: a memory allows bandwidth * flops / bytes.
    Credit: 0.4
    """
    return float(
        min(
            config["peak"],
            *(each * config["bytes"][name] / config["flops"] for name, each in config["bandwidth"].items()),
        )
    )


def attainable_in_seconds(config: Config) -> float:
    """The time that it takes.

    Slip of: attainable
    Hint: This is the time that the kernel takes at least. FLOPs a second are asked for.
    Credit: 0.5
    """
    return float(config["flops"] / attainable(config))


def roof_of_the_slowest_memory(config: Config) -> str:
    """The memory with the least bandwidth.

    Slip of: roof
    Hint: This is the memory with the least bandwidth. A memory bounds by bandwidth * flops / bytes: one that moves
    little does not.
    Credit: 0.3
    """
    return str(min(config["bandwidth"], key=lambda name: float(config["bandwidth"][name])))


def roof_of_the_highest(config: Config) -> str:
    """The highest of the roofs.

    Slip of: roof
    Hint: This is the highest roof. The lowest bounds the kernel.
    Credit: 0.3
    """
    return str(max({"compute": config["peak"], **_roofs(config)}.items(), key=lambda each: float(each[1]))[0])


def roof_as_memory(config: Config) -> str:
    """Memory or compute.

    Slip of: roof
    Hint: The name of the memory is asked for: config['bandwidth'] has several.
    Credit: 0.5
    """
    return "compute" if roof(config) == "compute" else "memory"


def roof_of_the_highest_memory(config: Config) -> str:
    """The highest of the memories' roofs, or compute.

    Slip of: roof
    Hint: The highest of the memories' roofs is compared with the peak. The lowest counts.
    Credit: 0.4
    """
    name, highest = max(_roofs(config).items(), key=lambda each: float(each[1]))
    return str(name) if highest < config["peak"] else "compute"


def roof_of_the_first_memory(config: Config) -> str:
    """The first memory, or compute.

    Slip of: roof
    Hint: Only the first memory is compared with the peak. Each memory has a roof; the lowest counts.
    Credit: 0.4
    """
    name, first = next(iter(_roofs(config).items()))
    return str(name) if first < config["peak"] else "compute"


def roof_of_the_last_memory(config: Config) -> str:
    """The last memory, or compute.

    Slip of: roof
    Hint: Only the last memory is compared with the peak. Each memory has a roof; the lowest counts.
    Credit: 0.4
    """
    name, last = list(_roofs(config).items())[-1]
    return str(name) if last < config["peak"] else "compute"


def roof_of_dram(config: Config) -> str | None:
    """The memory of this name, or compute.

    Slip of: roof
    Hint: Only `dram` is compared with the peak. Each memory has a roof; the lowest counts.
    Credit: 0.4
    """
    roofs = _roofs(config)
    if "dram" not in roofs:
        return None
    return "dram" if roofs["dram"] < config["peak"] else "compute"


def roof_of_the_most_bytes(config: Config) -> str:
    """The memory that moves most.

    Slip of: roof
    Hint: This is the memory that moves most. A memory bounds by bandwidth * flops / bytes: a fast one may move more.
    Credit: 0.3
    """
    return str(max(config["bytes"], key=lambda name: float(config["bytes"][name])))


def roof_of_memories_alone(config: Config) -> str:
    """The lowest of the memories' roofs.

    Slip of: roof
    Hint: The peak is left out: where all memories allow more than that, 'compute' bounds.
    Credit: 0.5
    """
    return str(min(_roofs(config).items(), key=lambda each: float(each[1]))[0])


def roof_of_the_least_bandwidth(config: Config) -> str:
    """The memory with the least bandwidth, or compute.

    Slip of: roof
    Hint: Only the memory with the least bandwidth is compared with the peak. Each memory has a roof; the lowest counts.
    Credit: 0.4
    """
    name = min(config["bandwidth"], key=lambda each: float(config["bandwidth"][each]))
    return str(name) if _roofs(config)[name] < config["peak"] else "compute"
