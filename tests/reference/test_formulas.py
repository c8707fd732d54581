"""The formulas that quantities of a config have: found by running these, and wrong in the ways of all formulas."""

import random
from fractions import Fraction
from pathlib import Path

import pytest

from labgrade.spec.registry import read
from reference._slips import in_formulas
from reference._slips.symbols import Atom, Product

FOLDER = Path(__file__).parents[2] / "reference"
QUANTITIES = read("quantity", (FOLDER,)).entries
SLIPS = QUANTITIES["formula_slips"].load()
DECODER = {
    "layers": 7,
    "width": 97,
    "heads": 10,
    "kv_heads": 2,
    "head_dim": 23,
    "ff": 251,
    "vocab": 1009,
    "tokens": 79,
    "batch": 3,
}
CONFIGS = {
    "decoder_parameters": DECODER,
    "decoder_flops": DECODER,
    "kv_cache_bytes": {**DECODER, "bytes": 2},
    "lora_parameters": {**DECODER, "rank": 7, "targets": ["q", "v", "down"]},
    "adamw_bytes": {**DECODER, "weight_bytes": 2, "gradient_bytes": 2, "moment_bytes": 4, "copy_bytes": 4},
    "grouped_weight_bytes": {"rows": 7, "columns": 101, "bits": 3, "group": 33},
    "ring_all_reduce_bytes": {"workers": 7, "elements": 1000, "bytes": 4},
    "systolic_cycles": {"m": 17, "k": 33, "n": 65, "rows": 8, "columns": 8, "dataflow": "ws"},
}


def slips(quantity, config, **asked):
    entry = QUANTITIES[quantity]
    known = {each.name: each.slip.hint for each in QUANTITIES.values() if each.slip and quantity in each.slip.of}
    about = {"file": str(entry.file), "of": quantity, "known": known, "digest": "", "config": config}
    return SLIPS(about, **asked)


def told(quantity, config, value, most=1):
    """The sentences of the fewest slips that give a value."""
    for count in range(1, most + 1):
        answer = slips(quantity, config, most=count, between=[str(value), str(value)])
        if found := [name for name, _ in answer["values"] if name]:
            return [{answer["says"][each] for each in name.split("+")} for name in found]
    return []


@pytest.mark.parametrize("quantity", CONFIGS)
def test_the_formula_gives_what_the_quantity_gives(quantity):
    chance = random.Random(quantity)  # noqa: S311
    for _ in range(2):
        config = {
            key: chance.randint(2, 60) if type(value) is int and key != "ff_matrices" else value
            for key, value in CONFIGS[quantity].items()
        }
        values = dict(slips(quantity, config)["values"])
        assert values[""] == QUANTITIES[quantity].load()(config)


@pytest.mark.parametrize(
    ("quantity", "wrong", "says"),
    [
        ("kv_cache_bytes", lambda _: 2 * 7 * 10 * 23 * 79 * 3 * 2, "keys and values of all heads"),
        ("kv_cache_bytes", lambda _: 2 * 7 * 2 * 97 * 79 * 3 * 2, "`width` stands in place of `head_dim`."),
        ("kv_cache_bytes", lambda _: 2 * 7 * 2 * 23 * 79 * 79 * 3 * 2, "`tokens` is a factor once too often."),
        (
            "decoder_flops",
            lambda right: right - 2 * 3 * 78 * 97 * 1009,
            "`tokens` is left out in what depends on `vocab`",
        ),
        ("decoder_flops", lambda right: right - 6 * 79 * 3 * 7 * 97 * 251, "What depends on `ff` is missing."),
        ("decoder_parameters", lambda right: right - 97, "`width` alone"),
        ("ring_all_reduce_bytes", lambda _: 2 * 6 * (1000 // 7) * 4, "A quotient is rounded down. Round it up."),
        ("ring_all_reduce_bytes", lambda _: 2 * 7 * -(-1000 // 7) * 4, "`workers` stands in place of `workers - 1`."),
        ("grouped_weight_bytes", lambda _: -(-7 * 101 * 3 // 8) + -(-7 * 4 * 3 // 8) + 7 * 4 * 2, "rounded once"),
        ("systolic_cycles", lambda _: 4 * 8 * (17 + 8 + 8 + 8 - 2), "rounded down, to 1 at least"),
    ],
)
def test_a_slip_is_told_in_keys_of_the_config(quantity, wrong, says):
    found = told(quantity, CONFIGS[quantity], wrong(QUANTITIES[quantity].load()(CONFIGS[quantity])))
    assert any(says in " ".join(each) for each in found), found


def test_a_key_is_not_told_to_stand_for_itself_less_a_half():
    def named(first):
        own = [Product(Fraction(first), ((Atom("key", "workers"), 1),)), Product(Fraction(-1), ())]
        return [name for name, _ in in_formulas._off_by_some(own)]

    assert named(1) == ["whole workers for less 1"]
    assert named(2) == []


def test_two_slips_at_once_are_told_as_two():
    per_group = 7 * 4
    value = 7 * -(-101 * 5 // 8) + per_group * 4 + per_group
    sentences = {
        "The scales take four bytes here. They are in float16.",
        "`bits` is taken for 8 in what depends on `group`.",
    }
    assert sentences in told("grouped_weight_bytes", {**CONFIGS["grouped_weight_bytes"], "bits": 5}, value, most=2)


def test_nothing_is_said_of_what_depends_on_all_keys():
    """A part that is made of all of them is told from none by its keys."""
    says = slips("ring_all_reduce_bytes", CONFIGS["ring_all_reduce_bytes"])["says"].values()
    assert says
    assert not [each for each in says if "`bytes`, `elements` and `workers` alone" in each]
