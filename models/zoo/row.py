#!/usr/bin/python3
"""A row of images: input, ground truth, all tokens, merged, merge map.

row.py IMAGE LABELS OUT.jpg [--mpm build/release/cli/mpm] [--model default] [--blocks 2,5]
Without --blocks the blocks are the model's.
LABELS holds ids of the model's classes, as CamVid's labels do.
"""
import argparse
import json
import os
import subprocess
import tempfile

import cv2
import numpy as np

HEIGHT = 210


def run(options, blocks, folder):
    command = [options.mpm, "run", options.model, options.image, "--out", folder,
               "--save", "labels,overlay,map"]
    command += ["--blocks", blocks] if blocks else []
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    stem = os.path.splitext(os.path.basename(options.image))[0]
    return lambda kind: cv2.imread(os.path.join(folder, f"{stem}.{kind}.png"), cv2.IMREAD_UNCHANGED)[..., :3]


def coloured(labels, palette, image):
    table = np.zeros((256, 3), np.uint8)
    table[: len(palette)] = np.array(palette, np.uint8)[:, ::-1]  # the palette is RGB, images are BGR
    known = labels < len(palette)
    mixed = cv2.addWeighted(image, 0.45, table[labels], 0.55, 0)
    return np.where(known[..., None], mixed, image)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image")
    parser.add_argument("labels")
    parser.add_argument("out")
    parser.add_argument("--mpm", default="build/release/cli/mpm")
    parser.add_argument("--model", default="default")
    parser.add_argument("--blocks")
    options = parser.parse_args()
    info = json.loads(subprocess.run([options.mpm, "info", options.model, "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    image, labels = cv2.imread(options.image), cv2.imread(options.labels, cv2.IMREAD_UNCHANGED)
    with tempfile.TemporaryDirectory() as folder:
        whole = run(options, "none", os.path.join(folder, "whole"))
        merged = run(options, options.blocks, os.path.join(folder, "merged"))
        row = [image, coloured(labels, info["palette"], image), whole("overlay"), merged("overlay"), merged("map")]
    width = round(HEIGHT * image.shape[1] / image.shape[0])
    row = [cv2.resize(one, (width, HEIGHT), interpolation=cv2.INTER_AREA) for one in row]
    cv2.imwrite(options.out, np.hstack(row), [cv2.IMWRITE_JPEG_QUALITY, 85])


if __name__ == "__main__":
    main()
