#!/usr/bin/env python3
"""The layers form without any of our code: every export of a folder converted with --form layers, run by ONNX Runtime,
compared with PyTorch's results with merging before blocks 2 and 5.

    layers_in_onnxruntime.py MPM_PROGRAM EXPORTS_DIR

EXPORTS_DIR holds the output of make_exports.py, or the fixtures. The first image of each input is used. Exit status 1 if a
difference exceeds 1e-4 of the reference's largest value. Needs onnxruntime and numpy (by pip).
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort


def difference(model, base, references):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: np.load(f"{base}.input.npy")[:1]})
    worst = 0.0
    for values, file in zip(found, references):
        expected = np.load(file)
        first = expected.reshape(-1)[:values.size]  # the first image's values, at the beginning of the reference
        step = np.abs(values.reshape(-1) - first).max() / np.abs(expected).max()
        worst = max(worst, step if np.isfinite(step) else np.inf)
    return worst


def check(mpm, base, out):
    """None if the form does not apply."""
    size = pathlib.Path(f"{base}.size")
    command = [mpm, "convert", f"{base}.onnx", out, "--form", "layers"]
    command += ["--size", size.read_text().strip().replace(" ", "x")] if size.exists() else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        # This form takes a single image of the size of the export.
        applies = "the layers form takes one image" not in done.stderr
        return (np.inf, done.stderr.strip()) if applies else None
    references = sorted(base.parent.glob(base.name + ".s2_5.output*.npy"))
    return difference(out, base, references), f"{len(references)} outputs"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    held, failed = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for model in sorted(pathlib.Path(sys.argv[2]).glob("*.onnx")):
            base = model.with_suffix("")
            if pathlib.Path(f"{base}.refused").exists():
                continue
            result = check(sys.argv[1], base, f"{folder}/layers.onnx")
            if result is None:
                continue
            print(f"{base.name}: {result[0]:.1e}, {result[1]}", flush=True)
            held += int(result[0] < 1e-4)
            failed += [] if result[0] < 1e-4 else [base.name]
    print(f"held: {held}; failed: {' '.join(failed) or 'none'}")
    sys.exit(bool(failed) or held == 0)


if __name__ == "__main__":
    main()
