"""The model zoo: names without torch, models without memory, weights and inputs from seeds."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from labgrade.subjects import catalogue, models, options
from labgrade.subjects.models import FILLS, SOURCES, Subject, import_torchvision, names

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def subject(model="torchvision/squeezenet1_1", shape=(1, 3, 32, 32), **values):
    return Subject(model=model, shape=shape, **values)


def in_a_fresh_process(code):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_names_are_found_without_importing_what_they_name():
    begin = "import sys; from labgrade.subjects import models"
    code = f"{begin}; print(len(models.names()), {{'torch', 'torchvision'}} & set(sys.modules))"
    assert in_a_fresh_process(code) == f"{len(names())} set()"


def test_names_are_those_that_torchvision_registers_as_classifiers():
    models = import_torchvision().models
    registered = {f"torchvision/{name}" for name in models.list_models(module=models)}
    assert {name for name in names() if name.startswith("torchvision/")} == registered
    assert list(names()) == sorted(names())
    assert len(registered) == 80
    assert "torchvision/fcn_resnet50" not in registered


def test_torchvision_is_imported_with_or_without_its_compiled_operators():
    code = """
from labgrade.subjects import models, networks
first, second = models.import_torchvision(), models.import_torchvision()
import torch
print(first is second, hasattr(torch.ops.torchvision, 'nms'), first.__name__)
"""
    assert in_a_fresh_process(code) == "True True torchvision"


def test_the_zoo_needs_nothing_else_of_labgrade_and_loads_by_its_path():
    imported = {
        f"{node.module}.{alias.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    own = {name for name in imported if name.startswith("labgrade")}
    used = {"networks", "options", "course_networks"}  # the last for a course's own networks only
    used |= {"importing.importing_quickly", "importing.without_dynamo"}
    used |= {"without_values.without_initialisation", "without_values.without_memory"}
    assert own == {*(f"labgrade.subjects.{name}" for name in used), "labgrade.core.did_you_mean.did_you_mean"}
    models_file = str(ROOT / "labgrade/subjects/models.py")
    code = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location('elsewhere', {models_file!r})
sys.modules['elsewhere'] = zoo = importlib.util.module_from_spec(spec)
spec.loader.exec_module(zoo)
module, x = zoo.Subject(model='torchvision/resnet18', shape=(1, 3, 8, 8)).on_meta()
print(type(module).__name__, list(x.shape), [name for name in sys.modules if name.startswith('labgrade')])
"""
    core = ["labgrade", *(f"labgrade.core{name}" for name in ("", ".errors", ".did_you_mean"))]
    loaded = [
        *core,
        *(f"labgrade.subjects{name}" for name in ("", ".course_networks", ".networks", ".options", ".importing")),
        "labgrade.subjects.without_values",
    ]
    assert in_a_fresh_process(code) == f"ResNet [1, 3, 8, 8] {loaded}"


@pytest.mark.parametrize("name", names())
def test_every_model_builds_on_meta(name):
    module, x = subject(name).on_meta()
    assert not module.training
    assert x.is_meta
    assert list(x.shape) == [1, 3, 32, 32]
    assert all(tensor.is_meta for tensor in module.state_dict().values())
    assert not module.training


def test_building_on_meta_leaves_torch_as_it_was():
    register, normal = torch.nn.Module.register_parameter, torch.nn.init.normal_
    state = torch.get_rng_state()
    subject().on_meta()
    with pytest.raises(ValueError, match="cannot be built"):
        subject("torchvision/resnet18", options={"block": 3}).on_meta()
    assert torch.nn.Module.register_parameter is register
    assert torch.nn.init.normal_ is normal
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.nn.Linear(2, 2).weight.is_meta


def test_inputs_of_the_same_weights_share_a_module_and_are_what_they_are_alone():
    one = subject(input_seed=1)
    assert subject(input_seed=2).with_weights_of(one).with_weights()[0] is not one.with_weights()[0]  # none was ready
    other = subject(input_seed=2, shape=(2, 3, 64, 64)).with_weights_of(one)
    assert other.with_weights()[0] is one.with_weights()[0]
    alone = subject(input_seed=2, shape=(2, 3, 64, 64))
    assert torch.equal(other.with_weights()[1], alone.with_weights()[1])
    for changed in ({"weight_seed": 3}, {"model": "torchvision/resnet18"}, {"options": {"num_classes": 3}}):
        assert subject(**changed).with_weights_of(one).with_weights()[0] is not one.with_weights()[0]


def test_what_is_frozen_may_be_so_on_ready_weights():
    """As a job does on those that its server has ready, and only there: others would find them frozen."""
    frozen = {"options": {"frozen": ["conv1"]}}
    ready, alone = subject("torchvision/resnet18"), subject("torchvision/resnet18", **frozen).with_weights()[0]
    ready.with_weights()
    own = subject("torchvision/resnet18", **frozen)
    assert not own.with_weights_of(ready).has_weights
    model = own.with_weights_of(ready, for_good=True).with_weights()[0]
    assert model is ready.with_weights()[0]
    for (name, mine), other in zip(model.named_parameters(), alone.parameters(), strict=True):
        assert torch.equal(mine, other), name
        assert mine.requires_grad == other.requires_grad == (name != "conv1.weight")


def test_on_meta_and_with_weights_are_the_same_model():
    meta, _ = subject("torchvision/mobilenet_v3_small").on_meta()
    real, _ = subject("torchvision/mobilenet_v3_small").with_weights()
    assert str(meta) == str(real)
    assert {name: t.shape for name, t in meta.state_dict().items()} == {
        name: t.shape for name, t in real.state_dict().items()
    }
    assert {name: p.requires_grad for name, p in meta.named_parameters()} == {
        name: p.requires_grad for name, p in real.named_parameters()
    }


def test_each_model_on_meta_is_the_callers_own():
    one = subject()
    assert one.on_meta()[0] is not one.on_meta()[0]
    assert one.with_weights()[0] is one.with_weights()[0]


def test_same_seed_same_weights_and_another_seed_others():
    first, again, other = (subject(weight_seed=seed).with_weights()[0].state_dict() for seed in (7, 7, 8))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["features.0.weight"], other["features.0.weight"])


def test_weights_do_not_depend_on_what_was_drawn_before_and_disturb_nothing():
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first = subject().with_weights()[0].state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(100)
    again = subject().with_weights()[0].state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)


def test_seeded_weights_are_the_same_in_another_process():
    code = """
from labgrade.subjects import models, networks
module, x = models.Subject(model='torchvision/squeezenet1_1', shape=(1, 3, 32, 32), input_seed=5).with_weights()
print(repr(float(module.features[0].weight.detach().double().sum())), repr(float(x.double().sum())))
"""
    module, x = subject(input_seed=5).with_weights()
    expected = f"{float(module.features[0].weight.detach().double().sum())!r} {float(x.double().sum())!r}"
    assert in_a_fresh_process(code) == expected


def test_fills():
    drawn = {fill: subject(fill=fill).with_weights()[1] for fill in FILLS if fill != "tokens"}  # whole numbers
    assert drawn["normal"].min() < 0
    assert 0 <= drawn["uniform"].min() < drawn["uniform"].max() < 1
    assert torch.equal(drawn["ones"], torch.ones(1, 3, 32, 32))
    assert torch.equal(drawn["zeros"], torch.zeros(1, 3, 32, 32))
    for fill in ("normal", "uniform"):
        assert torch.equal(drawn[fill], subject(fill=fill, weight_seed=9).with_weights()[1])
        assert not torch.equal(drawn[fill], subject(fill=fill, input_seed=1).with_weights()[1])


@pytest.mark.parametrize("name", ["googlenet", "inception_v3"])
def test_auxiliary_heads_are_off_unless_asked_for(name):
    without = subject(f"torchvision/{name}").on_meta()[0]
    within = subject(f"torchvision/{name}", options={"aux_logits": True}).on_meta()[0]
    assert not any("aux" in key for key in without.state_dict())
    assert any("aux" in key.lower() for key in within.state_dict())


def test_options_reach_the_builder():
    assert subject(options={"num_classes": 10}).on_meta()[0].classifier[1].out_channels == 10
    assert subject("torchvision/vit_b_32", options={"image_size": 64}).on_meta()[0].image_size == 64


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"model": "torchvision/googlnet"},
            "there is no model 'torchvision/googlnet'; did you mean 'torchvision/googlenet'?",
        ),
        ({"model": "resnet18"}, "there is no model 'resnet18'; did you mean 'torchvision/resnet18'?"),
        ({"model": "torchvision/fcn_resnet50"}, "there is no model 'torchvision/fcn_resnet50'"),
        (
            {"options": {"num_class": 3}},
            "'torchvision/squeezenet1_1' has no option 'num_class'; did you mean 'num_classes'?",
        ),
        ({"options": {"weights": "DEFAULT"}}, "'torchvision/squeezenet1_1' has no option 'weights'"),
        ({"options": {"version": "1_0"}}, "'torchvision/squeezenet1_1' cannot be built with {'version': '1_0'}: "),
        (
            {"fill": "norml"},
            "there is no fill 'norml'; did you mean 'normal'?; it is one of normal, uniform, ones, zeros",
        ),
        ({"shape": ()}, "an input has a shape of positive whole numbers, such as [1, 3, 224, 224], not []"),
        ({"shape": (1, 3, 0, 8)}, "not [1, 3, 0, 8]"),
        ({"shape": (1, 3, 8.0, 8)}, "not [1, 3, 8.0, 8]"),
    ],
)
def test_what_cannot_be_built_is_said(values, message):
    for build in (Subject.on_meta, Subject.with_weights):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is looked at in full
            build(subject(**values))
        assert message in str(caught.value)


def test_a_frozen_part_is_not_trained_and_nothing_else_changes():
    frozen = subject(options={"frozen": ["features"]})
    for module in (frozen.on_meta()[0], frozen.with_weights()[0]):
        assert not any(p.requires_grad for p in module.features.parameters())
        assert all(p.requires_grad for p in module.classifier.parameters())
    plain = subject().with_weights()[0].state_dict()
    assert all(torch.equal(plain[name], tensor) for name, tensor in frozen.with_weights()[0].state_dict().items())


def test_a_parameter_can_be_frozen_by_itself():
    model = subject(options={"frozen": ["classifier.1.bias"]}).on_meta()[0]
    assert [name for name, each in model.named_parameters() if not each.requires_grad] == ["classifier.1.bias"]


def test_a_frozen_part_must_be_there():
    with pytest.raises(ValueError, match="has no module or parameter 'feature' to freeze; did you mean 'features'"):
        subject(options={"frozen": ["feature"]}).on_meta()


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("micro/")])
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
def test_micro_networks_run(name):
    module, x = subject(name, shape=(2, 3, 32, 40)).with_weights()
    with torch.no_grad():
        assert module(x).shape == ((2, 4, 64, 48) if name == "micro/unordered" else (2, 10))
    with pytest.raises(ValueError, match="has no option 'num_classes'"):
        subject(name, options={"num_classes": 3}).on_meta()


@pytest.mark.parametrize("name", ["googlenet", "mobilenet_v2", "efficientnet_b0"])
def test_every_convolution_depends_on_the_input(name):
    """Their own initial weights damp the signal so far that most outputs are the same for any input."""
    options = {"aux_logits": False} if name == "googlenet" else {}
    model, x = subject(f"torchvision/{name}", (1, 3, 64, 64), options=options).with_weights()

    def outputs(values):
        found, hooks = {}, []
        for path, layer in model.named_modules():
            if isinstance(layer, torch.nn.Conv2d):
                hooks.append(layer.register_forward_hook(lambda _, __, y, path=path: found.__setitem__(path, y)))
        with torch.no_grad():
            model(values)
        for hook in hooks:
            hook.remove()
        return found

    own = outputs(x)
    for other in (torch.zeros_like(x), torch.ones_like(x), x.flip(-1), 1.1 * x):
        differ = [not torch.allclose(y, own[path], rtol=1e-3, atol=1e-4) for path, y in outputs(other).items()]
        assert sum(differ) >= 0.9 * len(differ)
    assert all(0.01 < float(y.std()) < 1e4 for y in own.values())


def test_the_options_read_from_the_source_are_those_that_each_builder_takes():
    collection = import_torchvision().models
    for name in (each for each in names() if each.startswith("torchvision/")):
        taken = models._options_of(getattr(collection, name.removeprefix("torchvision/")))
        assert catalogue.options_of(name) == taken | options.ALL, name
    assert catalogue.options_of("torchvision/resnet17") is None
    assert catalogue.options_of("micro/dilated") == options.ALL


def test_weights_that_nobody_reads_are_not_drawn_and_those_of_others_stay_their_own():
    named = subject("torchvision/squeezenet1_1")
    module, x = named.with_any_weights()
    assert module is not named.with_any_weights()[0]
    assert not named.has_weights
    drawn, same = named.with_weights()
    assert torch.equal(x, same)
    assert [(name, each.shape) for name, each in module.named_parameters()] == [
        (name, each.shape) for name, each in drawn.named_parameters()
    ]
    assert named.with_any_weights()[0] is drawn, "what is there is used"
    own = subject("micro/tied")
    assert own.with_any_weights()[0] is own.with_weights()[0], "of our own networks some draw beside their weights"
