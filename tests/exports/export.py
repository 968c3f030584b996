"""Writes exports, each with an input and ONNX Runtime's results on it. Reads names of rows, one a line, and answers each with
a line of JSON.

    export.py FOLDER
"""
import json
import os
import pathlib
import sys
import time
import traceback
import warnings

import numpy as np
import onnx
import onnxruntime as ort
import torch

import models
import table

LEVELS = {"basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC, "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
          "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL}


def session(path, options=None):
    options = options or ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


# --- exporters ---

def torch_export(model, image, extra, how, path):
    """`extra` are further inputs, by name; the image is `pixel_values` beside them and `image` alone."""
    names = list(extra) + ["pixel_values"] if extra else ["image"]
    script, opset = "script" in how, next((int(word[5:]) for word in how if word.startswith("opset")), None)
    axes = ({0: "batch"} if "batch" in how else {}) | ({2: "height", 3: "width"} if "dynamic" in how else {})
    options = {"input_names": names, "output_names": getattr(model, "outputs", None), "opset_version": opset,
               "dynamo": not script}
    if axes and script:
        options["dynamic_axes"] = {names[-1]: axes}
    elif axes:
        options["dynamic_shapes"] = (axes,)
    arguments = {"args": (), "kwargs": extra | {"pixel_values": image}} if extra else {"args": (image,)}
    torch.backends.mha.set_fastpath_enabled(False)  # exporters do not support it
    with torch.no_grad():
        torch.onnx.export(model, f=str(path), external_data=False, **arguments, **options)


def optimum_export(model, how, path):
    """As `optimum-cli export onnx` does, from a folder that save_pretrained wrote."""
    from optimum.exporters.onnx import main_export
    import transformers
    folder = path.parent / "pretrained"
    model.save_pretrained(folder)
    size = {"height": models.SIZE, "width": models.SIZE}
    transformers.BitImageProcessor(size=size, crop_size=size).save_pretrained(folder)
    task = next(word[5:] for word in how if word.startswith("task="))
    main_export(str(folder), output=path.parent / "optimum", task=task, do_validation=False, no_post_process=True)
    (path.parent / "optimum" / "model.onnx").rename(path)


# --- treatments of a file ---

def onnxsim(path, _):
    import onnxsim
    simplified, right = onnxsim.simplify(onnx.load(path))
    if not right:
        raise RuntimeError("onnxsim's own check failed")
    onnx.save(simplified, path)


def onnxslim(path, _):
    import onnxslim
    onnx.save(onnxslim.slim(str(path)), path)


def ort_level(path, word):
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[word[4:]]
    options.optimized_model_filepath = str(path.with_suffix(".optimised.onnx"))
    session(path, options)
    path.with_suffix(".optimised.onnx").rename(path)


def ort_transformers(path, _):
    from onnxruntime.transformers import optimizer
    optimizer.optimize_model(str(path), model_type="vit", num_heads=models.HEADS, hidden_size=models.WIDTH,
                             opt_level=0).save_model_to_file(str(path))


def half(path, _):
    """All of the graph in f16, as ONNX Runtime's converter writes it; the reference keeps f32 with weights rounded to f16."""
    from onnxruntime.transformers.float16 import convert_float_to_float16
    model = onnx.load(path)
    onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=True, min_positive_val=1e-7), path)
    for constant in model.graph.initializer:
        if constant.data_type == onnx.TensorProto.FLOAT:
            rounded = onnx.numpy_helper.to_array(constant).astype(np.float16).astype(np.float32)
            constant.CopyFrom(onnx.numpy_helper.from_array(rounded, constant.name))
    onnx.save(model, path.with_suffix(".reference.onnx"))


TREATMENTS = {"onnxsim": onnxsim, "onnxslim": onnxslim, "f16": half, "ort=basic": ort_level, "ort=extended": ort_level,
              "ort=all": ort_level, "ort-transformers": ort_transformers}


# --- a row ---

def exported(row, folder):
    how, path = row.how.split(), folder / "model.onnx"
    torch.manual_seed(1)
    model = eval(row.call, vars(table.packages()))
    rng = np.random.default_rng(7)
    batch = 2 if "batch" in how else 1
    image = torch.from_numpy(rng.uniform(-1, 1, (batch, 3, *row.size)).astype(np.float32))
    if "optimum" in how:
        optimum_export(models.draw(model), how, path)
    elif isinstance(model, models.OwnExport):
        models.draw(model.module)
        model.write(path)
    else:
        torch_export(models.draw(model), image, getattr(model, "extra", {}), how, path)
    for word in how:
        if word in TREATMENTS:
            TREATMENTS[word](path, word)
    reference = path.with_suffix(".reference.onnx")
    return reference if reference.exists() else path


def feeds_of(running, image):
    """The image, and for every other input the same small numbers."""
    feeds = {}
    for given in running.get_inputs():
        shape = [extent if isinstance(extent, int) else 2 for extent in given.shape]
        is_image = len(shape) == 4
        feeds[given.name] = image if is_image else np.ones(shape, np.int64 if "int64" in given.type else np.float32)
        if "bool" in given.type:
            feeds[given.name] = np.zeros(shape, bool)
    return feeds


def resized(path, size):
    """The same graph with another declared size of the image."""
    model = onnx.load(path)
    for given in model.graph.input:
        extents = given.type.tensor_type.shape.dim
        if len(extents) == 4:
            extents[2].dim_value, extents[3].dim_value = size
    del model.graph.value_info[:]
    for given in model.graph.output:
        given.type.tensor_type.ClearField("shape")
    onnx.save(model, path.with_suffix(".reference.onnx"))
    return path.with_suffix(".reference.onnx")


def write_references(row, folder, reference):
    """Results on an image that the export has not seen, and how far they are from those on another image."""
    size = row.run_at or row.size
    if row.run_at:
        reference = resized(reference, size)
    running = session(reference)
    names = row.outputs or [given.name for given in running.get_outputs()]
    batch = 2 if "batch" in row.how.split() else 1
    found = []
    for seed in (1, 2):
        image = np.random.default_rng(seed).uniform(-1, 1, (batch, 3, *size)).astype(np.float32)
        found.append(running.run(names, feeds_of(running, image)))
        if seed == 1:
            np.save(folder / "input.npy", image)
    np.savez(folder / "expected.npz", *found[0])
    follows = [float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-30)) for a, b in zip(*found) if a.dtype == np.float32]
    return names, min(follows, default=0.0)


def answer(row, folder):
    began = time.time()
    folder.mkdir(parents=True, exist_ok=True)
    reference = exported(row, folder)
    names, follows = write_references(row, folder, reference)
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    opset = next(each.version for each in model.opset_import if each.domain in ("", "ai.onnx"))
    return {"opset": opset, "names": names, "follows": follows, "seconds": round(time.time() - began, 1)}


def main():
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # exporters print to stdout, which is for results
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    rows = {row.name: row for row in table.ROWS}
    for line in sys.stdin:
        name = line.strip()
        try:
            result = answer(rows[name], pathlib.Path(sys.argv[1]) / name)
        except Exception as error:  # one row must not end the others
            traceback.print_exc()
            while error.__cause__:  # the exporters' outer messages are only general advice
                error = error.__cause__
            text = " ".join(str(error).split())
            result = {"error": f"{type(error).__name__}: {text[:300]}"}
        print(json.dumps(result), file=lines, flush=True)


if __name__ == "__main__":
    main()
