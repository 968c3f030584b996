"""own_vit.py MODEL WEIGHTS IMAGES OUT.onnx: converts, tunes and checks a classifier that you fine-tuned with timm.

    own_vit.py vit_small_patch16_224 finetuned.pth 'images/*.jpg' mine.onnx --classes 37

Needs timm and torch; no labels.
"""
import argparse
import json
import subprocess
import time

import mpm
import numpy
import timm
import torch

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model", help="timm's name, such as vit_small_patch16_224")
parser.add_argument("weights", help="a checkpoint from timm's training, or from torch.save(vit.state_dict())")
parser.add_argument("images", help="some of those that the model will see")
parser.add_argument("out", help="the converted model")
parser.add_argument("--classes", type=int, default=1000)
parser.add_argument("--keep", type=float, default=0.99, help="the smallest agreement with all tokens, 0 to 1")
options = parser.parse_args()

vit = timm.create_model(options.model, num_classes=options.classes, checkpoint_path=options.weights).eval()
mpm.from_timm(vit, options.out)  # with the size and the normalisation of the model's configuration

# tune tries methods and blocks on the images. From the choices whose results agree with the results of all tokens, tune
# stores the fastest choice in the file.
tuned = subprocess.run(["mpm", "tune", options.out, options.images, "--keep", str(options.keep), "--write"])
if tuned.returncode:
    print("nothing merges: no choice is faster and agrees")

merged, full = mpm.Model(options.out), mpm.Model(options.out, method="none")
rows, columns = merged.size
config = timm.data.resolve_model_data_config(vit)
mean, std = (numpy.array(config[key], numpy.float32) for key in ("mean", "std"))


def by_torch(image):
    """Returns the scores of an RGB image of the model's size."""
    pixels = (image.astype(numpy.float32) / 255 - mean) / std
    with torch.inference_mode():
        return vit(torch.from_numpy(pixels.transpose(2, 0, 1)[None])).numpy()[0]


# An image of the model's own size, so that PyTorch and MPM get the same pixels without resizing.
image = numpy.random.default_rng(1).integers(0, 256, (rows // 16, columns // 16, 3), numpy.uint8).repeat(16, 0).repeat(16, 1)
expected, times = by_torch(image), {}
found = {name: model(image, color="rgb").features.ravel() for name, model in (("all tokens", full), ("merged", merged))}
for name, run in (("PyTorch", lambda: by_torch(image)), ("all tokens", lambda: full(image, color="rgb")),
                  ("merged", lambda: merged(image, color="rgb"))):
    run()
    began = time.perf_counter()
    for _ in range(5):
        run()
    times[name] = round((time.perf_counter() - began) * 200, 1)
difference = float(abs(found["all tokens"] - expected).max() / abs(expected).max())
print(json.dumps({"blocks": list(merged.blocks), "method": merged.method, "difference": difference, "ms": times}))
