"""real_packages.py [DETECTOR.onnx]: the package beside the real pillow, supervision, tqdm, torch, timm and transformers, also from
$MPM_PACKAGES. Those that are not installed are named."""

import importlib
import os
import sys
import tempfile

import numpy

import mpm

sys.path.append(os.environ.get("MPM_PACKAGES", ""))


def check(holds, text):
    if not holds:
        sys.exit("real_packages: " + text)


def close(first, second, name):
    first, second = first.reshape(-1), second.reshape(-1)
    difference = numpy.abs(first - second).max() / max(1e-6, numpy.abs(second).max())
    check(difference < 1e-3, "%s: the outputs differ by %.1e" % (name, difference))


def drawn(annotator, result):
    after = annotator.annotate(scene=frame.copy(), detections=result.to_supervision())
    check(not numpy.array_equal(after, frame), "supervision draws nothing of %r" % result)


def pillow(image):
    show = importlib.import_module("PIL.ImageShow")
    shown = []

    class Viewer(show.Viewer):
        def show(self, image, **options):
            shown.append(numpy.asarray(image))
            return True

    show.register(Viewer(), order=0)
    result = model(image.fromarray(frame[..., ::-1].copy()))
    check(numpy.array_equal(result.labels, model(frame).labels), "a PIL image gives other labels")
    result.show()
    check(len(shown) == 1 and numpy.array_equal(shown[0][..., ::-1], result.overlay), "show() shows something else")


def supervision(package):
    drawn(package.MaskAnnotator(), model(frame))
    if os.path.exists(sys.argv[-1]) and sys.argv[-1].endswith(".onnx"):
        drawn(package.BoxAnnotator(), mpm.Model(sys.argv[1], threshold=0)(frame))


def tqdm(package):
    bars = []

    class Bar(package.tqdm):
        def close(self):
            bars.append((self.n, self.total))
            super().close()

        def __init__(self, **how):
            super().__init__(**dict(how, disable=False, file=open(os.devnull, "w")))

    package.tqdm, held = Bar, package.tqdm
    mpm.bench("default", [frame], rounds=2, warm_up=0)
    package.tqdm = held
    check(bars and bars[0][0] == bars[0][1] > 0, "the bar ends at %r" % bars)


def torch(package):
    tensor = package.from_numpy(frame[..., ::-1].copy()).permute(2, 0, 1)
    check(numpy.array_equal(model(tensor, color="rgb").labels, model(frame).labels), "a tensor gives other labels")


def input_of(loaded):
    """The network's input for the frame: loaded.size is the frame's, so that no resizing is in between."""
    info = loaded.info()
    image = frame[:info.size[0], :info.size[1], ::-1]
    blob = (image.astype(numpy.float64) / 255 - info.mean) / info.std
    return image[..., ::-1], blob.transpose(2, 0, 1)[None].astype(numpy.float32)


def timm(package):
    from torch import from_numpy, no_grad

    vit = package.create_model("vit_tiny_patch16_224", pretrained=False).eval()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vit.onnx")
        for loaded in (mpm.from_timm(vit, blocks=()), mpm.from_timm(vit, path, blocks=())):
            check(loaded.info().mean == list(vit.pretrained_cfg["mean"]), "from_timm() has another normalisation")
            image, blob = input_of(loaded)
            with no_grad():
                close(loaded(image).features, vit(from_numpy(blob)).numpy(), "from_timm")
        check(os.path.exists(path), "from_timm() writes no file")


def transformers(package):
    from torch import from_numpy, no_grad

    config = package.ViTConfig(hidden_size=64, num_hidden_layers=3, num_attention_heads=2, intermediate_size=128, image_size=64,
                               patch_size=16, num_labels=5)
    vit = package.ViTForImageClassification(config).eval()
    processor = package.ViTImageProcessor(size={"height": 64, "width": 64}, image_mean=[0.4, 0.5, 0.6], image_std=[0.2, 0.3, 0.4])
    loaded = mpm.from_transformers(vit, processor, blocks=())
    check(not vit.training, "from_transformers() leaves the model in training mode")
    check(numpy.allclose(loaded.info().mean, [0.4, 0.5, 0.6]), "from_transformers() has another normalisation")
    image, blob = input_of(loaded)
    with no_grad():
        close(loaded(image).features, vit(pixel_values=from_numpy(blob)).logits.numpy(), "from_transformers")


frame = numpy.random.default_rng(3).integers(0, 256, (30, 40, 3), dtype=numpy.uint8).repeat(16, axis=0).repeat(16, axis=1)
model = mpm.Model("default")
for use, name in ((pillow, "PIL.Image"), (supervision, "supervision"), (tqdm, "tqdm"), (torch, "torch"), (timm, "timm"),
                  (transformers, "transformers")):
    try:
        package = importlib.import_module(name)
    except ImportError:
        print("real_packages: without %s" % name)
        continue
    use(package)
    print("real_packages: %s works" % name, flush=True)
