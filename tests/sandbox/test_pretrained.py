"""`pretrained=True` without a network: the zoo's weights stand in, unless the TA offers the trained ones."""

import sys
from pathlib import Path

import pytest
import torch
from helpers import warm
from helpers.soak import sampled

from labgrade.core.task import InputSpec, Limits, SubjectSpec
from labgrade.sandbox.child import server, surroundings
from labgrade.sandbox.requests import CallRequest, ScriptRequest
from labgrade.sandbox.runner import Runner
from labgrade.subjects.models import COLLECTION, Subject, __file__, import_torchvision, names

pytestmark = pytest.mark.slow

LIMITS = Limits(seconds=30.0)


@pytest.fixture(autouse=True)
def one_thread():
    """Many threads on a busy machine wait for each other most of the time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def runner():
    with warm.runner() as shared:
        yield shared


@pytest.fixture
def run(runner, tmp_path):
    def ran(source, by=runner):
        (tmp_path / "hw.py").write_text(source)
        return by.run_script(ScriptRequest(folder=tmp_path, file="hw.py", limits=LIMITS))

    return ran


FROM_URL = """
import torch, torchvision
m = torchvision.models.resnet18()
url = 'https://download.pytorch.org/models/resnet18-5c106cde.pth'
m.load_state_dict(torch.hub.load_state_dict_from_url(url, check_hash=True))
"""
TO_FILE = """
import torch, torchvision
torch.hub.download_url_to_file(torchvision.models.ResNet18_Weights.DEFAULT.url, 'r.pth')
m = torchvision.models.resnet18()
m.load_state_dict(torch.load('r.pth'))
"""
SUM = "\nprint(sum(p.numel() for p in m.parameters()), m.training)\n"


@pytest.mark.parametrize(
    ("source", "printed", "seeded"),
    [
        ("from torchvision.models import *\nm = googlenet(pretrained=True)", "6624904 True", "googlenet"),
        ("from torchvision.models import *\nm = googlenet(weights='DEFAULT').eval()", "6624904 False", "googlenet"),
        (
            "from torchvision.models import *\nm = googlenet(weights=GoogLeNet_Weights.DEFAULT)",
            "6624904 True",
            "googlenet",
        ),
        (
            "import torch\nm = torch.hub.load('pytorch/vision:v0.10.0', 'alexnet', pretrained=True)",
            "61100840 True",
            "alexnet",
        ),
        (
            "import torch\nm = torch.hub.load('pytorch/vision', 'alexnet', weights='DEFAULT', trust_repo=True)",
            "61100840 True",
            "alexnet",
        ),
        (FROM_URL, "11689512 True", "resnet18"),
        (TO_FILE, "11689512 True", "resnet18"),
    ],
)
def test_every_way_of_asking_for_them(run, source, printed, seeded):
    execution = run(source + SUM)
    assert execution.reason == ""
    assert execution.stdout.decode().strip().splitlines()[-1] == printed
    assert execution.seeded == (seeded,)


def test_they_are_the_zoo_s(run):
    source = "import torch, torchvision\nm = torchvision.models.resnet18(weights='DEFAULT').eval()\n"
    execution = run(source + "torch.save(m.state_dict(), 'w.pth')\n")
    (data,) = execution.files.values()
    path = Path(sys.modules["tempfile"].mkdtemp()) / "w.pth"
    path.write_bytes(data)
    own = Subject(model="torchvision/resnet18", shape=(1, 3, 8, 8)).with_weights()[0].state_dict()
    theirs = torch.load(path, weights_only=True)
    assert theirs.keys() == own.keys()
    assert all(torch.equal(theirs[name], own[name]) for name in own)


def test_a_function_that_is_called_gets_them_too(runner, tmp_path):
    (tmp_path / "hw.py").write_text(
        "import torchvision\ndef f(size):\n    torchvision.models.alexnet(weights='DEFAULT')\n    return len(size)\n"
    )
    subject = SubjectSpec(model="torchvision/alexnet", input=InputSpec(shape=(1, 3, 8, 8)))
    request = CallRequest(
        folder=tmp_path, file="hw.py", function="f", given=("input_size",), subject=subject, limits=LIMITS
    )
    execution = runner.run(request)
    assert (execution.status, execution.value, execution.seeded) == ("returned", 4, ("alexnet",))


def test_weights_of_nothing_that_we_have_fail_in_words(run):
    execution = run("import torchvision\ntorchvision.models.detection.ssd300_vgg16(weights='DEFAULT')\n")
    assert execution.status == "crashed"
    assert "there is no network while your work is graded: 'download.pytorch.org' can't be reached" in execution.reason


def test_the_ta_s_weights_are_taken_where_they_are_offered(tmp_path, run):
    home = tmp_path / "torch home"
    name = Path(torch_url("ResNet18_Weights")).name
    (home / "hub/checkpoints").mkdir(parents=True)
    import_torchvision()
    trained = sys.modules["torchvision"].models.resnet18(num_classes=1000)
    torch.nn.init.constant_(trained.conv1.weight, 0.125)
    torch.save(trained.state_dict(), home / "hub/checkpoints" / name)
    source = "import torchvision\nm = torchvision.models.resnet18(weights='DEFAULT')\n"
    source += "torchvision.models.squeezenet1_1(weights='DEFAULT')\nprint(m.conv1.weight.min().item())\n"
    with Runner(torch_home=home) as offering:
        execution = run(source, by=offering)
    assert (execution.reason, execution.stdout) == ("", b"0.125\n")
    assert execution.seeded == ("squeezenet1_1",)
    assert [path.name for path in (home / "hub/checkpoints").iterdir()] == [name]


def torch_url(enum):
    import_torchvision()
    return getattr(sys.modules["torchvision"].models, enum).DEFAULT.url


@pytest.fixture
def downloads(monkeypatch):
    """The replaced downloads in this process, and what they noted."""
    import_torchvision()
    models = sys.modules["torchvision"].models
    path = Path(__file__)
    monkeypatch.setitem(sys.modules, "labgrade_zoo", server.load("labgrade_zoo", path))
    for module in (torch.hub, models._api, sys.modules["torchvision._internally_replaced_utils"]):
        monkeypatch.setattr(module, "load_state_dict_from_url", module.load_state_dict_from_url)
    monkeypatch.setattr(torch.hub, "load", torch.hub.load)
    monkeypatch.setattr(torch.hub, "download_url_to_file", torch.hub.download_url_to_file)
    noted = []
    surroundings.offer_weights(noted.append)
    return models, noted


EVERY = [name.removeprefix(COLLECTION) for name in names() if name.startswith(COLLECTION)]
FAMILIES = [
    *("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "inception_v3"),
    *("maxvit_t", "mnasnet0_5", "mnasnet1_3", "mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf", "resnet18"),
    *("resnext50_32x4d", "shufflenet_v2_x0_5", "squeezenet1_0", "swin_t", "swin_v2_t", "vgg11_bn", "vit_b_16"),
    "wide_resnet50_2",
]


@pytest.mark.parametrize("name", sampled(FAMILIES, 8))
def test_each_family_loads_them_strictly(downloads, name):
    models, noted = downloads
    model = models.get_model(name, weights="DEFAULT").eval()
    assert noted == [name]
    own = Subject(model=COLLECTION + name, shape=(1, 3, 8, 8)).with_weights()[0].state_dict()
    state = model.state_dict()
    assert own.keys() <= state.keys()
    assert all(torch.equal(state[key], value) for key, value in own.items())


def test_every_url_that_torchvision_publishes_is_known(downloads):
    models, _ = downloads
    for name in EVERY:
        for weights in models.get_model_weights(name):
            found = surroundings._architecture(sys.modules["labgrade_zoo"], weights.url)
            assert found == (name, weights) or found[1].url == weights.url


def test_weights_for_larger_images_fit(downloads):
    models, noted = downloads
    model = models.vit_b_16(weights="IMAGENET1K_SWAG_E2E_V1")
    assert model.image_size == 384
    assert noted == ["vit_b_16"]
