"""An ONNX graph written node by node: `g.add("MatMul", x, g.constant(W))` is the name of x W."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.errors import KitchenError

OPSET, ML_OPSET, IR = 18, 3, 9
SETS_ML_OPSET = 5  # the first in which trees ask for sets of categories
ML, RUNTIME = "ai.onnx.ml", "com.microsoft"


class Graph:
    """Nodes and constants; numbers of the model are of `dtype`, those of columns are double."""

    def __init__(self, dtype: Any = np.float32):
        self.helper, self.proto, self.numpy = onnx_parts()
        self.dtype = np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.texts: dict[int, str] = {}  # place among the cells -> input
        self.opset, self.ml_opset = OPSET, ML_OPSET

    def add(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """One node with one output: its name."""
        name = f"v{len(self.nodes)}"
        node = self.helper.make_node(kind, list(inputs), [name], domain=domain, **attributes)
        self.nodes.append(node)
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """An array in the graph, of the model's type by default."""
        name = f"c{len(self.constants)}"
        if isinstance(values, list) and values and isinstance(values[0], str):
            array = np.asarray(values, dtype=object)
        else:
            array = np.ascontiguousarray(values, dtype=dtype or self.dtype)
        self.constants.append(self.numpy.from_array(array, name))
        return name

    def input(self, name: str, kind: str) -> str:
        """A (rows, 1) input: "double" or "string"; or (rows, d) for kind "double d"."""
        word, _, width = kind.partition(" ")
        elements = {"double": self.proto.DOUBLE, "string": self.proto.STRING,
                    "float": self.proto.FLOAT}[word]  # fmt: skip
        shape = [None, int(width or 1)]
        self.inputs.append(self.helper.make_tensor_value_info(name, elements, shape))
        return name

    def output(self, value: str, name: str, kind: str, shape: list[int | None]) -> None:
        """Give a value out under a name."""
        elements = {"double": self.proto.DOUBLE, "string": self.proto.STRING,
                    "float": self.proto.FLOAT, "int": self.proto.INT64}[kind]  # fmt: skip
        self.nodes.append(self.helper.make_node("Identity", [value], [name]))
        self.outputs.append(self.helper.make_tensor_value_info(name, elements, shape))

    def cast(self, value: str, dtype: Any = None) -> str:
        """Cast to a type, by default that of the model."""
        kinds = {"float32": self.proto.FLOAT, "float64": self.proto.DOUBLE,
                 "int64": self.proto.INT64}  # fmt: skip
        return self.add("Cast", value, to=kinds[np.dtype(dtype or self.dtype).name])

    def affine(self, x: str, W: Any, b: Any) -> str:
        """x W + b."""
        return self.add("Add", self.add("MatMul", x, self.constant(W)), self.constant(b))

    def total(self, x: str, axis: int = 1) -> str:
        """Sums along an axis that is kept."""
        return self.add("ReduceSum", x, self.constant([axis], np.int64), keepdims=1)

    def take(self, x: str, places: Any) -> str:
        """Columns of x."""
        return self.add("Gather", x, self.constant(np.asarray(places), np.int64), axis=1)

    def model(self, name: str, notes: dict[str, str]) -> Any:
        """The finished and checked ONNX model."""
        graph = self.helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        versions = {"": self.opset, ML: self.ml_opset} | ({RUNTIME: 1} if self.texts else {})
        opsets = [self.helper.make_opsetid(*one) for one in versions.items()]
        found = self.helper.make_model(graph, opset_imports=opsets, producer_name="kilogram",
                                       ir_version=IR)  # fmt: skip
        self.helper.set_model_props(found, notes)
        import onnx

        onnx.checker.check_model(found)
        return found


def onnx_parts() -> tuple[Any, Any, Any]:
    try:
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise KitchenError(
            "Exporting needs the packages onnx and onnxruntime: pip install kilogram[onnx]."
        ) from None
    return helper, TensorProto, numpy_helper


def no_graph(part: Any, why: str = "") -> KitchenError:
    """Error for a part that cannot be exported."""
    name = part if isinstance(part, str) else type(part).__name__
    return KitchenError(
        f"{name} cannot be written as ONNX{': ' + why if why else ''}. Cook without it (--drop, "
        "--keep), or use kg serve instead."
    )
