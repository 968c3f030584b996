"""segment.py IMAGES OUT [--model M] [--precision P]: segments images, writes overlays and shares.csv with a row for each image.

IMAGES: a file, a folder or a pattern such as 'street/*.jpg'.
"""
import argparse
import csv
import pathlib

import mpm
import numpy

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("images")
parser.add_argument("out", type=pathlib.Path)
parser.add_argument("--model", default="default", help="a file of `mpm convert`; default: the shipped model")
parser.add_argument("--precision", default="auto", help="f32, bf16, i8, auto, auto-fast")
options = parser.parse_args()

model = mpm.Model(options.model, precision=options.precision)
found = model(options.images)
results = found if isinstance(found, list) else [found]
options.out.mkdir(parents=True, exist_ok=True)

with open(options.out / "shares.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["image", "tokens", "tokens in the last block", "network ms", *model.classes])
    for result in results:
        name = pathlib.Path(result.path)
        result.save(options.out / f"{name.stem}.overlay.png")
        labels = numpy.asarray(result)
        shares = numpy.bincount(labels.ravel(), minlength=len(model.classes))[:len(model.classes)] / labels.size
        table.writerow([name.name, result.tokens[0], result.tokens[-1], f"{result.times.network:.1f}",
                        *(f"{share:.4f}" for share in shares)])
        print(name.name, result, result.classes[int(shares.argmax())], sep=", ")
