"""Quantities of TorchScript against published figures, the counts of modules, and a C++ program that shares no code."""

import json
import shutil
import subprocess
import tempfile
import warnings

import pytest
import torch
from helpers.soak import sampled

from labgrade.core.task import InputSpec, SubjectSpec
from labgrade.files.cache import Cache, cache_folder, key_of
from labgrade.subjects import models, provide
from reference import macs, slips, state, torchscript, torchscript_slips

pytestmark = pytest.mark.slow

ALEXNET = models.Subject(model="torchvision/alexnet", shape=(1, 3, 224, 224))
TILED = models.Subject(model="torchvision/alexnet", shape=(1, 3, 224, 224), options={"tiled": 512})
GOOGLENET = models.Subject(model="torchvision/googlenet", shape=(1, 3, 96, 96))
UNEVEN = models.Subject(model="micro/uneven_kernel", shape=(2, 3, 32, 40))
SAME = models.Subject(model="micro/same_padding", shape=(1, 3, 32, 40))
RESNET = models.Subject(model="torchvision/resnet18", shape=(2, 3, 64, 64))
MOBILE = models.Subject(model="torchvision/mobilenet_v2", shape=(1, 3, 64, 64))


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def subject_id(subject):
    return subject.model.rpartition("/")[2] + ("-tiled" if subject.options else "")


def test_the_known_figures_of_alexnet():
    assert torchscript.torchscript_weight_bytes(ALEXNET) == 244_403_360
    assert torchscript.torchscript_activation_bytes(ALEXNET) == 4_392_864
    assert torchscript.torchscript_macs(ALEXNET) == 714_188_480
    assert torchscript_slips.torchscript_activation_bytes_with_containers(ALEXNET) == 4_437_728


@pytest.mark.parametrize("subject", [ALEXNET, TILED, GOOGLENET, UNEVEN, SAME, RESNET, MOBILE], ids=subject_id)
def test_macs_and_weights_are_those_of_the_modules(subject):
    assert torchscript.torchscript_macs(subject) == macs.macs(subject)
    assert torchscript.torchscript_macs(subject, bias=True) == macs.macs(subject, bias=True)
    assert torchscript.torchscript_weight_bytes(subject) == state.weight_bytes(subject)


@pytest.mark.parametrize("subject", [ALEXNET, TILED, GOOGLENET, UNEVEN, RESNET, MOBILE], ids=subject_id)
def test_activations_are_what_forward_hooks_see(subject):
    model, given = subject.with_weights()
    seen = {"leaves": 0, "all": 0}

    def hook(module, _, out):
        seen["all"] += out.numel() * 4
        seen["leaves"] += 0 if list(module.children()) else out.numel() * 4

    handles = [module.register_forward_hook(hook) for module in model.modules()]
    with torch.no_grad():
        model(given)
    for handle in handles:
        handle.remove()
    assert torchscript.torchscript_activation_bytes(subject) == seen["leaves"]
    assert torchscript_slips.torchscript_activation_bytes_with_containers(subject) == seen["all"]
    with_input = torchscript.torchscript_activation_bytes(subject, model_input=True)
    assert with_input == seen["leaves"] + given.numel() * 4


def test_tiles_change_neither_weights_nor_macs_but_what_is_put_out():
    model, given = TILED.with_weights()
    plain, _ = ALEXNET.with_weights()
    with torch.no_grad():
        torch.testing.assert_close(model(given), plain(given), rtol=1e-4, atol=1e-6)
    assert torchscript.torchscript_weight_bytes(TILED) == 244_403_360
    assert torchscript.torchscript_macs(TILED) == 714_188_480
    # Each tile puts out its part: 18, 8 and 8 tiles lie in each column of the three layers.
    outputs = 4 * (4096 * 18 + 4096 * 8 + 1000 * 8)
    assert torchscript.torchscript_activation_bytes(TILED) == 4_392_864 - 4 * (4096 + 4096 + 1000) + outputs


def test_a_layer_of_ragged_tiles():
    subject = models.Subject(model="micro/dilated", shape=(1, 3, 22, 26), options={"tiled": 70})
    plain = models.Subject(model="micro/dilated", shape=(1, 3, 22, 26))
    shapes = [tuple(p.shape) for n, p in subject.with_weights()[0].named_parameters() if n.startswith("5.")]
    assert shapes == [(10, 70), (10,), (10, 70), (10, 52)]
    given = plain.with_weights()[1]
    torch.testing.assert_close(subject.with_weights()[0](given), plain.with_weights()[0](given))


@pytest.mark.parametrize("size", [0, True, "4", 2.5])
def test_a_tile_has_a_size(size):
    with pytest.raises(ValueError, match="'tiled' is the size of a tile"):
        models.Subject(model="micro/dilated", shape=(1, 3, 22, 26), options={"tiled": size}).on_meta()


def test_conventions():
    dropout = 4 * (9216 + 4096)
    assert torchscript.torchscript_activation_bytes(ALEXNET, dropout=False) == 4_392_864 - dropout
    layers = torchscript.torchscript_activation_bytes(GOOGLENET, of="layers")
    convolved = torchscript_slips.torchscript_activation_bytes_of_products(GOOGLENET) - 4000
    assert layers == torchscript.torchscript_activation_bytes(GOOGLENET) + convolved  # a ReLU behind each, in place
    assert torchscript.torchscript_activation_bytes(GOOGLENET, of="operators") > layers


def test_what_has_no_rule_is_refused():
    subject = models.Subject(model="torchvision/vit_b_16", shape=(1, 3, 224, 224))
    with pytest.raises(ValueError, match="aten::_native_multi_head_attention puts out, was not recorded"):
        torchscript.torchscript_macs(subject)


def test_slips():
    s = torchscript_slips
    macs_ = torchscript.torchscript_macs
    assert s.torchscript_flops(UNEVEN) == 2 * macs_(UNEVEN)
    assert s.torchscript_macs_times_batch(UNEVEN) == 2 * macs_(UNEVEN)
    assert s.torchscript_macs_of_one_image(UNEVEN) == macs_(UNEVEN) // 2
    convolution, grouped, linear = 2 * 8 * 16 * 40 * 3, 2 * 12 * 14 * 38 * 2 * 9, 2 * 1920
    assert macs_(UNEVEN) == convolution * 7 + grouped + linear
    assert s.torchscript_macs_square_kernels(UNEVEN) == convolution + grouped + linear
    assert s.torchscript_macs_square_kernels(UNEVEN, side="width") == convolution * 49 + grouped + linear
    assert s.torchscript_macs_ignoring_groups(UNEVEN) == convolution * 7 + grouped * 4 + linear
    assert s.torchscript_macs_of_convolutions(UNEVEN) == convolution * 7 + grouped
    assert s.torchscript_macs_of_products(UNEVEN) == linear
    assert s.torchscript_macs_by_columns(UNEVEN) == convolution * 7 + grouped + 2 * 10 * 10
    whole = torchscript.torchscript_activation_bytes(UNEVEN)
    assert s.torchscript_activation_elements(UNEVEN) == whole // 4
    assert s.torchscript_activation_bytes_of_one_image(UNEVEN) == whole // 2
    assert s.torchscript_activation_mib_as_mb(UNEVEN) == pytest.approx(whole / 1.048576)
    in_place = 4 * (193_600 + 139_968 + 64_896 + 43_264 + 43_264 + 4096 + 4096)
    assert s.torchscript_activation_bytes_without_in_place(ALEXNET) == 4_392_864 - in_place
    products = 4 * (193_600 + 139_968 + 64_896 + 2 * 43_264 + 4096 + 4096 + 1000)
    assert s.torchscript_activation_bytes_of_products(ALEXNET) == products
    biases = 4 * (64 + 192 + 384 + 256 + 256 + 4096 + 4096 + 1000)
    assert s.torchscript_weight_bytes_without_biases(ALEXNET) == 244_403_360 - biases
    buffers = slips.parameters_and_buffers(GOOGLENET) - state.parameters(GOOGLENET)
    counters = 57 * 4  # of batch norm, int64 where all else has four bytes
    assert s.torchscript_weight_bytes_with_buffers(GOOGLENET) == 26_499_616 + 4 * buffers + counters
    assert s.torchscript_weight_bytes_shallow(TILED) == 4 * 2_469_696


# ---- the witness -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def witness():
    """The program of reference/cpp, built by CMake: once for its content, the compiler and torch."""
    if not all(map(shutil.which, ("cmake", "g++", "make"))):
        pytest.skip("needs cmake, g++ and make: apt install cmake g++ make")
    source = models.Path(torchscript.__file__).parent / "cpp"
    prefix = torch.utils.cmake_prefix_path
    versions = [torch.__version__, *(printed(tool, "--version") for tool in ("g++", "cmake"))]
    files = {path.name: path.read_text(encoding="utf-8") for path in source.iterdir() if path.is_file()}

    def make(folder):
        with tempfile.TemporaryDirectory() as place:
            options = [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release", "-Wno-dev"]
            printed("cmake", "-S", source, "-B", place, *options)
            printed("cmake", "--build", place)
            shutil.copy2(models.Path(place, "witness"), folder)

    return Cache(cache_folder() / "witness").get(key_of(prefix, versions, files), make) / "witness"


def printed(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "subject", sampled([UNEVEN, ALEXNET, TILED, SAME, GOOGLENET, RESNET, MOBILE], 7), ids=subject_id
)
def test_a_program_in_cpp_counts_the_same(subject, witness, tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path))
    described = SubjectSpec(model=subject.model, input=InputSpec(shape=subject.shape), options=subject.options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        file = provide.provide("subject.pt", described)
    command = [witness, file, *map(str, subject.shape)]
    counted = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert counted == {
        "weight_bytes": torchscript.torchscript_weight_bytes(subject),
        "layers": torchscript.torchscript_activation_bytes(subject, of="layers"),
        "operators": torchscript.torchscript_activation_bytes(subject, of="operators"),
        "macs": torchscript.torchscript_macs(subject),
    }
