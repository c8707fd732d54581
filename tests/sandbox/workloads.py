"""What students do with the libraries, one function each. Every one returns the same value each time."""

import torch


def conv():
    return torch.nn.functional.conv2d(torch.ones(1, 3, 32, 32), torch.ones(8, 3, 3, 3)).sum().item()


def conv_in_two_threads():
    torch.set_num_threads(2)
    return conv()


def backward():
    layer = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
    for parameter in layer.parameters():
        torch.nn.init.constant_(parameter, 0.01)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(2, 3, 8, 8)).sum().backward()
    optimizer.step()
    return round(sum(parameter.sum().item() for parameter in layer.parameters()), 3)


def _exported(**options):
    import onnx

    torch.onnx.export(torch.nn.Conv2d(3, 4, 3).eval(), (torch.ones(1, 3, 8, 8),), "model.onnx", **options)
    return [node.op_type for node in onnx.load("model.onnx").graph.node]


def onnx_by_tracing():
    return _exported(dynamo=False)


def onnx_by_dynamo():
    return _exported(dynamo=True)


def onnxruntime():
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper

    shape = [1, 3]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        "twice",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.ones(shape, np.float32)})[0].tolist()


def jit_trace():
    traced = torch.jit.trace(torch.nn.ReLU(), torch.ones(3))
    traced.save("traced.pt")
    return torch.jit.load("traced.pt")(-torch.ones(3)).tolist()


def jit_script():
    return torch.jit.script(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten()))(torch.ones(1, 3)).tolist()


def saves_and_loads():
    torch.save({"weight": torch.ones(3)}, "weights.pt")
    return torch.load("weights.pt", weights_only=True)["weight"].tolist()


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.tensor(float(index * index))


def data_loader():
    loader = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2)
    return [batch.sum().item() for batch in loader]


def _square(number):
    return number * number


def pool():
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(2) as workers:
        return workers.map(_square, range(8))


def subprocesses():
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True)
    return done.stdout
