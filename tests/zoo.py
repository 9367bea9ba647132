# SPDX-License-Identifier: EPL-2.0
"""Architectures of embedded vision and audio, with random weights that are always the same."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from support.graphs import Graph

Model = Callable[["Net", str], "str | list[str]"]
MODELS: dict[str, tuple[tuple[int, ...], Model, int]] = {}


class Net(Graph):
    """A graph that knows how many channels its values have."""

    def __init__(self, name: str, channels: int, opset: int) -> None:
        super().__init__(seed=zlib.crc32(name.encode()), opset=opset)
        self.channels = {"input": channels}

    def keep(self, source: str, op_type: str, *more: str, **attributes: Any) -> str:
        """Adds an operator that leaves the number of channels as it is."""
        result = self.op(op_type, source, *more, **attributes)
        self.channels[result] = self.channels[source]
        return result

    def convolve(
        self,
        x: str,
        outputs: int,
        kernel: int | Sequence[int] = 3,
        stride: int = 1,
        *,
        pads: Sequence[int] | None = None,
        group: int = 1,
        dilation: int = 1,
        norm: bool = False,
        then: str | None = None,
    ) -> str:
        """A convolution that keeps the size of the image unless told otherwise, with its usual companions."""
        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        same = [height // 2 * dilation, width // 2 * dilation]
        per_group = self.channels[x] // group
        weights = self.normal(outputs, per_group, height, width, scale=np.sqrt(2 / (per_group * height * width)))
        bias = [] if norm else [self.normal(outputs, scale=0.1)]
        y = self.op(
            "Conv",
            x,
            weights,
            *bias,
            kernel_shape=[height, width],
            strides=[stride, stride],
            pads=list(pads) if pads is not None else same + same,
            group=group,
            dilations=[dilation, dilation],
        )
        self.channels[y] = outputs
        return self.activate(self.normalize(y) if norm else y, then)

    def normalize(self, x: str) -> str:
        count = self.channels[x]
        scale, variance = self.uniform(count, low=0.5, high=1.5), self.uniform(count, low=0.5, high=1.5)
        shift, mean = self.normal(count, scale=0.1), self.normal(count, scale=0.1)
        return self.keep(x, "BatchNormalization", scale, shift, mean, variance)

    def activate(self, x: str, name: str | None) -> str:
        match name:
            case None:
                return x
            case "relu6":
                return self.keep(x, "Clip", self.constant(0.0), self.constant(6.0))
            case "silu":
                return self.keep(x, "Mul", self.op("Sigmoid", x))
            case "leaky":
                return self.keep(x, "LeakyRelu", alpha=0.1)
            case _:
                return self.keep(x, name)

    def dense(self, x: str, outputs: int, then: str | None = None) -> str:
        inputs = self.channels[x]
        weights = self.normal(outputs, inputs, scale=np.sqrt(2 / inputs))
        y = self.op("Gemm", x, weights, self.normal(outputs, scale=0.1), transB=1)
        self.channels[y] = outputs
        return self.activate(y, then)

    def pool(self, x: str, op_type: str = "MaxPool", size: int = 2, stride: int = 2, pad: int = 0) -> str:
        return self.keep(x, op_type, kernel_shape=[size, size], strides=[stride, stride], pads=[pad] * 4)

    def flatten(self, x: str, features: int) -> str:
        y = self.op("Flatten", x, axis=1)
        self.channels[y] = features
        return y

    def head(self, x: str, classes: int) -> str:
        """Global average pooling and a classifier."""
        return self.dense(self.flatten(self.keep(x, "GlobalAveragePool"), self.channels[x]), classes)

    def concat(self, *parts: str) -> str:
        y = self.op("Concat", *parts, axis=1)
        self.channels[y] = sum(self.channels[part] for part in parts)
        return y

    def upsample(self, x: str) -> str:
        scales = self.constant([1.0, 1.0, 2.0, 2.0])
        options = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return self.keep(x, "Resize", "", scales, mode="nearest", **options)


def model(*shape: int, opset: int = 13) -> Callable[[Model], Model]:
    """Registers a model by the name of its function."""

    def register(build: Model) -> Model:
        MODELS[build.__name__] = (shape, build, opset)
        return build

    return register


def build(name: str) -> onnx.ModelProto:
    """Makes a model."""
    shape, function, opset = MODELS[name]
    net = Net(name, shape[1], opset)
    outputs = function(net, "input")
    return net.model({"input": shape}, [outputs] if isinstance(outputs, str) else outputs, name)


@model(1, 3, 16, 16)
def conv_relu(net: Net, x: str) -> str:
    return net.convolve(x, 8, then="Relu")


@model(1, 4, 8, 8)
def addrelu(net: Net, x: str) -> str:
    x = net.convolve(x, 4, then="Relu")
    return net.op("Relu", net.op("Add", x, net.convolve(x, 4)))


@model(1, 3, 17, 17)
def asympad(net: Net, x: str) -> str:
    x = net.convolve(x, 8, stride=2, pads=[0, 0, 1, 1], then="relu6")
    return net.pool(x, "AveragePool", 3, 1, 1)


@model(1, 8, 16, 16)
def groupconv(net: Net, x: str) -> str:
    return net.convolve(net.convolve(x, 16, group=4, then="Relu"), 16, dilation=2, then="Relu")


@model(1, 8, 64)
def conv1d(net: Net, x: str) -> str:
    x = net.op("Conv", x, net.normal(16, 8, 3), net.normal(16, scale=0.1), kernel_shape=[3], pads=[1, 1])
    return net.op("MaxPool", net.op("Relu", x), kernel_shape=[2], strides=[2])


def _lenet_features(net: Net, x: str, second_pool: str) -> str:
    x = net.pool(net.convolve(x, 6, 5, then="Relu"))
    return net.pool(net.convolve(x, 16, 5, pads=[0] * 4, then="Relu"), second_pool)


@model(1, 1, 28, 28)
def lenet(net: Net, x: str) -> str:
    x = net.flatten(_lenet_features(net, x, "MaxPool"), 400)
    return net.dense(net.dense(net.dense(x, 120, "Relu"), 84, "Relu"), 10)


@model(1, 1, 28, 28)
def lenet_softmax(net: Net, x: str) -> str:
    x = net.op("Reshape", _lenet_features(net, x, "AveragePool"), net.ints(1, -1))
    net.channels[x] = 400
    return net.op("Softmax", net.dense(net.dense(x, 84, "Relu"), 10), axis=-1)


def _residual(net: Net, x: str, outputs: int, stride: int) -> str:
    y = net.convolve(net.convolve(x, outputs, stride=stride, norm=True, then="Relu"), outputs, norm=True)
    if stride > 1 or net.channels[x] != outputs:
        x = net.convolve(x, outputs, 1, stride, norm=True)
    return net.keep(net.keep(y, "Add", x), "Relu")


@model(1, 3, 32, 32)
def resnet8(net: Net, x: str) -> str:
    x = net.convolve(x, 16, norm=True, then="Relu")
    for outputs, stride in ((16, 1), (32, 2), (64, 2)):
        x = _residual(net, x, outputs, stride)
    x = net.flatten(net.pool(x, "AveragePool", 8, 8), 64)
    return net.op("Softmax", net.dense(x, 10), axis=1)


@model(1, 3, 224, 224)
def resnet18(net: Net, x: str) -> str:
    x = net.pool(net.convolve(x, 64, 7, 2, norm=True, then="Relu"), "MaxPool", 3, 2, 1)
    for outputs in (64, 128, 256, 512):
        x = _residual(net, x, outputs, 1 if outputs == 64 else 2)
        x = _residual(net, x, outputs, 1)
    return net.head(x, 1000)


@model(1, 3, 96, 96)
def mobilenetv1_025_96(net: Net, x: str) -> str:
    x = net.convolve(x, 8, stride=2, norm=True, then="Relu")
    for outputs, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)):
        x = net.convolve(x, net.channels[x], stride=stride, group=net.channels[x], norm=True, then="Relu")
        x = net.convolve(x, outputs, 1, norm=True, then="Relu")
    return net.op("Softmax", net.head(x, 2), axis=1)


def _inverted_residual(net: Net, x: str, outputs: int, stride: int, expansion: int) -> str:
    y, hidden = x, net.channels[x] * expansion
    if expansion != 1:
        y = net.convolve(y, hidden, 1, norm=True, then="relu6")
    y = net.convolve(y, hidden, stride=stride, group=hidden, norm=True, then="relu6")
    y = net.convolve(y, outputs, 1, norm=True)
    return net.keep(y, "Add", x) if stride == 1 and net.channels[x] == outputs else y


@model(1, 3, 224, 224)
def mobilenetv2_224(net: Net, x: str) -> str:
    x = net.convolve(x, 32, stride=2, norm=True, then="relu6")
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, outputs, count, stride in stages:
        for i in range(count):
            x = _inverted_residual(net, x, outputs, stride if i == 0 else 1, expansion)
    return net.head(net.convolve(x, 1280, 1, norm=True, then="relu6"), 1000)


@model(1, 1, 49, 10)
def dscnn(net: Net, x: str) -> str:
    x = net.convolve(x, 64, (10, 4), 2, pads=[4, 1, 5, 1], norm=True, then="Relu")
    for _ in range(4):
        x = net.convolve(net.convolve(x, 64, group=64, norm=True, then="Relu"), 64, 1, norm=True, then="Relu")
    return net.op("Softmax", net.head(x, 12), axis=1)


@model(1, 640)
def autoenc(net: Net, x: str) -> str:
    for units in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = net.dense(x, units, "Relu")
    return net.dense(x, 640)


@model(1, 3, 64, 64)
def unet(net: Net, x: str) -> str:
    first = net.convolve(net.convolve(x, 16, then="Relu"), 16, then="Relu")
    second = net.convolve(net.pool(first), 32, then="Relu")
    x = net.convolve(net.pool(second), 64, then="Relu")
    for skipped in (second, first):
        x = net.convolve(net.concat(net.upsample(x), skipped), net.channels[skipped], then="Relu")
    return net.convolve(x, 2, 1, then="Sigmoid")


@model(1, 3, 32, 32)
def unet_tconv(net: Net, x: str) -> str:
    first = net.convolve(x, 8, then="Relu")
    x = net.convolve(net.pool(first), 16, then="Relu")
    x = net.op("ConvTranspose", x, net.normal(16, 8, 2, 2, scale=0.2), kernel_shape=[2, 2], strides=[2, 2])
    net.channels[x] = 8
    return net.convolve(net.convolve(net.concat(x, first), 8, then="Relu"), 1, 1)


@model(1, 3, 96, 96)
def yolo(net: Net, x: str) -> str:
    """Split, concat, pooling pyramid, two heads in one output."""
    x = net.convolve(net.convolve(x, 16, stride=2, then="silu"), 32, stride=2, then="silu")
    left, right = net.ops("Split", 2, x, net.ints(16, 16), axis=1)
    net.channels.update({left: 16, right: 16})
    x = net.convolve(net.concat(left, right, net.convolve(right, 16, then="silu")), 32, 1, then="silu")
    x = net.convolve(x, 64, stride=2, then="silu")
    once = net.pool(x, "MaxPool", 5, 1, 2)
    fine = net.convolve(net.concat(x, once, net.pool(once, "MaxPool", 5, 1, 2)), 64, 1, then="silu")
    coarse = net.convolve(fine, 64, stride=2, then="silu")
    heads = [
        net.op("Reshape", net.convolve(features, 24, 1), net.ints(1, 24, size * size))
        for features, size in ((fine, 12), (coarse, 6))
    ]
    return net.op("Sigmoid", net.op("Transpose", net.op("Concat", *heads, axis=2), perm=[0, 2, 1]))


@model(1, 3, 160, 160)
def tinyyolo(net: Net, x: str) -> list[str]:
    for outputs in (16, 32, 64, 128):
        x = net.pool(net.convolve(x, outputs, norm=True, then="leaky"))
    x = net.convolve(x, 128, norm=True, then="leaky")
    return [net.convolve(x, 30, 1), net.convolve(net.upsample(x), 30, 1)]


@model(1, 3, 32, 32, opset=14)
def senet(net: Net, x: str) -> str:
    """Squeeze and excite."""
    x = net.convolve(x, 16, stride=2, then="HardSwish")
    gate = net.convolve(net.convolve(net.keep(x, "GlobalAveragePool"), 8, 1, then="Relu"), 16, 1)
    x = net.keep(x, "Mul", net.op("HardSigmoid", gate, alpha=1 / 6, beta=0.5))
    return net.head(net.convolve(x, 32, stride=2, then="HardSwish"), 10)


@model(1, 16, 32)
def attn(net: Net, x: str) -> str:
    """One head of attention, with its residual."""

    def linear() -> str:
        return net.op("Add", net.op("MatMul", x, net.normal(32, 32, scale=0.2)), net.normal(32, scale=0.1))

    query, key, value = linear(), linear(), linear()
    scores = net.op("MatMul", query, net.op("Transpose", key, perm=[0, 2, 1]))
    weights = net.op("Softmax", net.op("Mul", scores, net.constant(1 / np.sqrt(32))), axis=-1)
    return net.op("Add", x, net.op("MatMul", weights, value))
