"""A cooked model, or an estimator of Kilogram, as an ONNX graph that needs no Python.

    graph       nodes and constants, one call each
    columns     the parts of `kilogram.kitchen.features`
    kernels     k(x, z) of all pairs: a product and a function of it
    estimators  linear and kernel models, discriminants, trees, feature maps
    exported    the whole of a model, checked against onnxruntime on rows it knows

Columns are put on their scale in double precision, the model is single, or double where the check
says that single is not enough. What has no graph is an error that names the part.
"""

from kilogram.kitchen.export.onnx_model import OnnxModel, export_estimator, export_model

__all__ = ["OnnxModel", "export_estimator", "export_model"]
