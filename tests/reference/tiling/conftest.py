"""How much the random tests of the prover try: little in CI, what the design asks for on request."""

import os

import pytest

from reference._tiling.prove import prove
from tests.reference.tiling.networks import save

DECLARED = ("2DMM_64x64x64",)


def tries(name, ordinary):
    """How many random tries: `LABGRADE_TRIES_TILINGS=3000` and the like ask for more."""
    return int(os.environ.get(f"LABGRADE_TRIES_{name.upper()}", ordinary))


@pytest.fixture
def proof(tmp_path):
    """Prove a model equal to another, both given as protobufs."""

    def of(submitted, original, **options):
        options = {"declared": DECLARED, **options}
        return prove(save(submitted, tmp_path / "s.onnx"), save(original, tmp_path / "o.onnx"), **options)

    return of
