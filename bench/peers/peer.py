#!/usr/bin/env python3
"""Times a model in another engine (a peer) as `mpm bench` times ours, and prints a line of JSON.

    peer.py ENGINE MODEL.onnx [THREADS=2] [ROUNDS=20] [SIZE=512]

ENGINE: onnxruntime             f32, all graph optimisations
        onnxruntime-int8        after its quantize_dynamic, without the convolutions if it fails on these
        openvino, openvino-bf16 the whole network in f32 or bf16
        openvino-int8           quantised by NNCF for transformers, calibrated with 32 random images; the rest of the
                                network has OpenVINO's default precision (bf16 if the processor has it)
        torch-compile           f32, PyTorch's compiler with frozen weights. The model is made again by make_models.py, so
                                MODEL must have a name of that script
Quantised models are kept beside MODEL. If ROUNDS is -, each line of standard input is a number of rounds, and is answered
by a line of JSON. Needs, by pip: onnxruntime and onnx, or openvino and nncf, or torch.
"""
import importlib.metadata
import json
import os
import resource
import sys
import time

import numpy as np

WARM_UP, CALIBRATION = 3, 32


def noise(shapes, seed=1):
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}


def sized(feeds, whole, side):
    """Sets integer inputs to the size of the image, which some detectors have as a second input."""
    return {name: np.full(feed.shape, side, np.int64) if name in whole else feed for name, feed in feeds.items()}


def fixed(shape, side):
    """Returns the shape of an input: the model's if it is fixed, else that of an image."""
    known = len(shape) > 0 and all(isinstance(extent, int) and extent > 0 for extent in shape)
    return tuple(shape) if known else (1, 3, side, side)


def onnxruntime(model, threads, side, int8=False):
    import onnxruntime as ort
    if int8:
        quantised = model.replace(".onnx", ".int8.onnx")
        if not os.path.exists(quantised):
            from onnxruntime.quantization import quantize_dynamic
            try:
                quantize_dynamic(model, quantised)
            except ValueError:  # it requires initializers as weights of convolutions
                quantize_dynamic(model, quantised, op_types_to_quantize=["MatMul", "Gemm"])
        model = quantised
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = noise({given.name: fixed(given.shape, side) for given in session.get_inputs()})
    feeds = sized(feeds, [given.name for given in session.get_inputs() if given.type == "tensor(int64)"], side)
    return "onnxruntime", lambda: session.run(None, feeds)


def quantised_by_nncf(core, model, side):
    path = model.replace(".onnx", ".int8.xml")
    if not os.path.exists(path):
        import nncf
        import openvino
        read = core.read_model(model)
        shapes = {given.any_name: fixed(list(given.shape), side) for given in read.inputs if given.partial_shape.is_static}
        images = [noise(shapes, seed) for seed in range(CALIBRATION)]
        openvino.save_model(nncf.quantize(read, nncf.Dataset(images), model_type=nncf.ModelType.TRANSFORMER,
                                          subset_size=CALIBRATION), path, compress_to_fp16=False)
    return path


def openvino(model, threads, side, precision="f32"):
    from openvino import Core
    core = Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    if precision == "int8":
        model = quantised_by_nncf(core, model, side)
    else:
        settings["INFERENCE_PRECISION_HINT"] = precision
    compiled = core.compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()
    feeds = noise({given.any_name: tuple(given.shape) if given.partial_shape.is_static else (1, 3, side, side)
                   for given in compiled.inputs})
    feeds = sized(feeds, [given.any_name for given in compiled.inputs if given.element_type.to_string() == "i64"], side)
    return "openvino", lambda: request.infer(feeds, share_inputs=True, share_outputs=True)


def torch_compile(model, threads, side):
    import torch
    import make_models
    import torch._inductor.config
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    torch._inductor.config.freezing = True
    made = make_models.made(os.path.basename(model).removesuffix(".onnx"))[0].eval()
    compiled = torch.compile(made)
    image = torch.from_numpy(noise({"input": (1, 3, side, side)})["input"])

    def forward():
        with torch.no_grad():
            compiled(image)
    return "torch", forward


ENGINES = {
    "onnxruntime": onnxruntime,
    "onnxruntime-int8": lambda *given: onnxruntime(*given, int8=True),
    "openvino": openvino,
    "openvino-bf16": lambda *given: openvino(*given, precision="bf16"),
    "openvino-int8": lambda *given: openvino(*given, precision="int8"),
    "torch-compile": torch_compile,
}


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return 1000 * (usage.ru_utime + usage.ru_stime)


def measure(forward, rounds):
    """Returns milliseconds: quantiles, and the least processor time, which is the most reliable figure on a busy machine."""
    times, cpu = [], float("inf")
    for _ in range(rounds):
        start, before = time.perf_counter(), used()
        forward()
        times.append(1000 * (time.perf_counter() - start))
        cpu = min(cpu, used() - before)
    times.sort()
    return {name: times[min(rounds - 1, int(share * rounds))]
            for name, share in (("median", 0.5), ("p10", 0.1), ("p90", 0.9))} | {"cpu": cpu}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ENGINES:
        sys.exit(__doc__)
    engine, model, threads, rounds, side = (sys.argv[1:] + ["2", "20", "512"][len(sys.argv) - 3:])[:5]
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print progress
    package, forward = ENGINES[engine](model, int(threads), int(side))
    measure(forward, WARM_UP)
    for count in sys.stdin if rounds == "-" else [rounds]:
        print(json.dumps({"peer": f"{engine} {importlib.metadata.version(package)}", "model": os.path.basename(model),
                          "threads": int(threads), "ms": measure(forward, int(count))}), file=lines, flush=True)


if __name__ == "__main__":
    main()
