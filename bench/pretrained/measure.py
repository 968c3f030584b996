"""measure.py head|street|photographs|taps|reuse|shapes WORK BUILD [EVERY]: one thread, each EVERYth image."""
import ctypes
import itertools
import json
import os
import pathlib
import pickle
import statistics
import subprocess
import sys
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy  # noqa: E402, after the choice of one processor

part, work, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
every = int(sys.argv[4]) if len(sys.argv) > 4 else 1
GENTLE = "mpm:pairs={},by=keys,mean=weighted,attention=proportional"
SCALED = GENTLE.replace("weighted", "scaled")
USUAL, SEVEN, NINE = "1,3,5,7,9", "1,2,3,4,5,6,7", "1,2,3,4,5,6,7,8,9"
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's, as in prepare.py


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("dims", ctypes.c_int), ("sizes", ctypes.c_int * 8)]


class Model:
    """A network of the C interface. A method is (reducer, blocks, precision, reuse)."""

    library = None

    def __init__(self, path):
        if Model.library is None:
            Model.library = ctypes.CDLL(str(build / "mpm_layer/libmpm.so"))
            Model.library.mpm_read_net.restype = ctypes.c_void_p
            Model.library.mpm_last_error.restype = ctypes.c_char_p
        self.net = Model.library.mpm_read_net(str(path).encode())
        if not self.net:
            raise SystemExit(self.library.mpm_last_error().decode())

    def set(self, reducer, blocks, precision="f32", reuse=None):
        values = {"method": reducer, "blocks": blocks, "precision": precision, "reuse": reuse, "device": "cpu"}
        for name, value in values.items():
            if getattr(self.library, "mpm_set_" + name)(value.encode() if value else None):
                raise SystemExit(self.library.mpm_last_error().decode())

    def __call__(self, image):
        """The tokens and the milliseconds."""
        image = numpy.ascontiguousarray(image[None])
        given = Array(image.ctypes.data, 0, 4, (ctypes.c_int * 8)(*image.shape))
        found = Array()
        began = time.process_time()
        failed = self.library.mpm_net_forward(ctypes.c_void_p(self.net), ctypes.byref(given), ctypes.byref(found))
        taken = 1000 * (time.process_time() - began)
        if failed:
            raise SystemExit(self.library.mpm_last_error().decode())
        shape = list(found.sizes)[:found.dims]
        data = ctypes.cast(found.data, ctypes.POINTER(ctypes.c_float))
        return numpy.ctypeslib.as_array(data, shape=shape)[0].copy(), taken

    def can(self, precision, image):
        """Whether the processor computes in this precision."""
        self.set("mpm", "none", precision)
        try:
            self(image)
        except SystemExit:
            return False
        return True

    def tokens(self):
        counts = (ctypes.c_int * 64)()
        return numpy.mean(counts[:self.library.mpm_report_tokens(0, counts, 64)])


def methods(images):
    """Returns names and settings. ToMe's r is that of the literature at 224, and about the same share at 364x476."""
    r = (30, 45) if images == "camvid-val" else (8, 13)
    rows = [("all tokens", ("mpm", "none")), ("mpm {2,5}", ("mpm", "2,5")), ("mpm {5}", ("mpm", "5"))]
    rows += [(f"ToMe r={k}", (f"tome:r={k}", None)) for k in r] + [("ALGM", ("algm", None))]
    rows += [(f"gentle, share {s}", (GENTLE.format(s), USUAL)) for s in ("0.2", "0.3", "0.4", "0.5", "0.6", "0.8")]
    rows += [("last keys, share 0.4", (GENTLE.format("0.4").replace("by=keys", "by=last-keys"), USUAL))]
    rows += [(f"every block to 9, share {s}", (GENTLE.format(s), NINE)) for s in ("0.3", "0.2")]
    rows += [(f"every block to 7, share 0.32, {m}", (g.format("0.32"), SEVEN)) for m, g in
             (("weighted", GENTLE), ("scaled", SCALED))]
    share = "0.31" if images == "camvid-val" else "0.3085"  # takes about as long as ToMe with the larger r
    rows += [(f"every MLP to 9, share {share}, {m}", (g.format(share) + ",before=mlp", NINE)) for m, g in
             (("weighted", GENTLE), ("scaled", SCALED))]
    return rows


def tuned(images, size):
    """Returns the row that `mpm tune` chooses on the images, written as files; none if no candidate keeps 0.99."""
    import cv2
    folder, report = work / f"{images}-files", work / f"{images}-tuned.json"
    folder.mkdir(exist_ok=True)
    for number, image in enumerate(numpy.load(work / f"{images}.npy")):
        pixels = numpy.clip(255 * (image.transpose(1, 2, 0) * DEVIATION + MEAN) + 0.5, 0, 255).astype(numpy.uint8)
        cv2.imwrite(str(folder / f"{number:03}.png"), cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
    report.unlink(missing_ok=True)
    command = [build / "cli/mpm", "tune", work / f"features-{size}.onnx", folder, "--threads", "1", "--device", "cpu",
               "--json", report]
    run = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if run.returncode not in (0, 1) or not report.exists():
        raise SystemExit(run.stderr)
    chosen = [row for row in json.loads(report.read_text())["results"] if row["chosen"]]
    settings = [(row["parameters"], ",".join(map(str, row["schedule"]))) for row in chosen]
    return [(f"tuned: {reducer} {{{blocks}}}", (reducer, blocks)) for reducer, blocks in settings]


def centred(full, other):
    """Returns the mean cosine of class tokens and of patches, each after subtracting their mean over all images."""
    means = full[:, 0].mean(0), full[:, 1:].mean((0, 1))
    found = []
    for a, b, mean in ((full[:, 0], other[:, 0], means[0]), (full[:, 1:], other[:, 1:], means[1])):
        lengths = numpy.linalg.norm(a - mean, axis=-1) * numpy.linalg.norm(b - mean, axis=-1)
        found.append((((a - mean) * (b - mean)).sum(-1) / lengths).mean())
    return found


class Head:
    """A linear head on patches: softmax regression on the share of each class in a patch; label 11 is no class."""

    ROWS, COLUMNS, PATCH, CLASSES = 26, 34, 14, 11

    def __init__(self, features, labels):
        x = features[:, 1:].reshape(-1, features.shape[-1])
        self.mean, self.deviation = x.mean(0), x.std(0) + 1e-6
        x = self.scaled(x)
        tiles = labels.reshape(-1, self.ROWS, self.PATCH, self.COLUMNS, self.PATCH)
        y = numpy.stack([(tiles == c).mean((2, 4)) for c in range(self.CLASSES)], -1).reshape(-1, self.CLASSES)
        self.weight = numpy.zeros((x.shape[1], self.CLASSES), numpy.float32)
        momentum = numpy.zeros_like(self.weight)
        for _ in range(150):
            scores = x @ self.weight
            scores = numpy.exp(scores - scores.max(1, keepdims=True))
            scores /= scores.sum(1, keepdims=True)
            gradient = x.T @ (scores * y.sum(1, keepdims=True) - y) / len(x) + 1e-5 * self.weight
            momentum = 0.9 * momentum + gradient
            self.weight -= 0.3 * momentum

    def scaled(self, x):
        scaled = (x - self.mean) / self.deviation
        return numpy.concatenate([scaled, numpy.ones((len(scaled), 1), numpy.float32)], 1).astype(numpy.float32)

    def labels(self, tokens):
        import cv2
        scores = (self.scaled(tokens[1:]) @ self.weight).reshape(self.ROWS, self.COLUMNS, self.CLASSES)
        return cv2.resize(scores, (self.COLUMNS * self.PATCH, self.ROWS * self.PATCH)).argmax(-1)

    def miou(self, found, labels):
        counts = numpy.bincount((12 * labels.ravel() + found.ravel()).astype(int), minlength=144).reshape(12, 12)[:11, :11]
        union = counts.sum(0) + counts.sum(1) - counts.diagonal()
        return 100 * numpy.mean((counts.diagonal() / numpy.maximum(union, 1))[union > 0])


def line(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def head(title, *names):
    print(f"\n{title}\n")
    line(*names)
    line(*("---" for _ in names))


def interleaved(model, rows, images, rounds=1):
    """Runs each method on each image, in turn. Returns tokens, mean counts and median ms by method."""
    model.set("mpm", "none")
    model(images[0])
    found = {row: ([], [], []) for row in rows}
    for number, image in enumerate(itertools.chain(*[images] * rounds)):
        for row in rows:
            model.set(*row[1:])
            tokens, taken = model(image)
            found[row][2].append(taken)
            if number < len(images):
                found[row][0].append(tokens)
                found[row][1].append(model.tokens())
    return {row: (numpy.stack(tokens), numpy.mean(counts), statistics.median(times))
            for row, (tokens, counts, times) in found.items()}


def compared(images, size, every, judge=None):
    """Compares every method in f32, and some in bf16 and int8, with all tokens in f32."""
    model, pixels = Model(work / f"features-{size}.onnx"), numpy.load(work / f"{images}.npy")[::every]
    wanted = ("all tokens", "mpm {2,5}", "gentle, share 0.4", "tuned")
    settings = methods(images) + tuned(images, size)
    rows = [(name, *values, "f32") for name, values in settings]
    rounds = 1 if judge else 3  # times of small images vary more
    found = interleaved(model, rows, pixels, rounds)
    for precision in filter(lambda name: model.can(name, pixels[0]), ("bf16", "i8")):
        some = [(name, *values, precision) for name, values in settings if name.startswith(wanted)]
        found.update(interleaved(model, some, pixels, rounds))
    full, all_tokens, base = found[rows[0]]
    title = f"{len(pixels)} images of {images}, {size}: ms of one processor, medians of interleaved rounds"
    head(title, "", "precision", "mean tokens, %", "ms", "times as fast", "CLS, centred", "patches, centred",
         *(["labels as full, %", "mIoU, %"] if judge else []))
    for row, (other, tokens, ms) in found.items():
        line(row[0], row[3], f"{100 * tokens / all_tokens:.1f}", f"{ms:.1f}", f"{base / ms:.2f}",
             *(f"{c:.4f}" for c in centred(full, other)), *(judge(full, other) if judge else []))


def trained_head():
    """Trains the head once, on the features of all tokens."""
    kept = work / "head.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    file = work / "train-features.npy"
    if not file.exists():
        model = Model(work / "features-364x476.onnx")
        model.set("mpm", "none")
        numpy.save(file, numpy.stack([model(image)[0] for image in numpy.load(work / "camvid-train.npy")]))
    trained = Head(numpy.load(file), numpy.load(work / "camvid-train-labels.npy"))
    kept.write_bytes(pickle.dumps(trained))
    return trained


def street(every):
    classifier = trained_head()
    labels = numpy.load(work / "camvid-val-labels.npy")[::every]

    def judge(full, other):
        a, b = (numpy.stack([classifier.labels(tokens) for tokens in each]) for each in (full, other))
        return f"{100 * (a == b).mean():.1f}", f"{classifier.miou(b, labels):.1f}"

    compared("camvid-val", "364x476", every, judge)


def reuse():
    model, frames = Model(work / "features-364x476.onnx"), numpy.load(work / "video.npy")
    results = {}
    for name, settings in (("all tokens", ("mpm", "none", "f32")), ("reuse", ("mpm", "none", "f32", "on")),
                           ("reuse, int8", ("mpm", "none", "i8", "on"))):
        model.set(*settings)
        results[name] = [model(frame) for frame in frames]
    full = numpy.stack([tokens for tokens, _ in results["all tokens"]])
    base = statistics.mean(ms for _, ms in results["all tokens"][1:])
    # The frames show a single scene, so a class token minus the mean class token would be mostly noise.
    head("60 frames of vtest.avi", "", "mean ms", "times as fast", "CLS, not centred", "patches, centred")
    for name, rows in results.items():
        mean = statistics.mean(ms for _, ms in rows[1:])
        other = numpy.stack([tokens for tokens, _ in rows])
        lengths = numpy.linalg.norm(full[:, 0], axis=-1) * numpy.linalg.norm(other[:, 0], axis=-1)
        line(name, f"{mean:.1f}", f"{base / mean:.2f}", f"{((full[:, 0] * other[:, 0]).sum(-1) / lengths).mean():.3f}",
             f"{centred(full, other)[1]:.3f}")


def taps():
    """Compares gentle merging with schedules whose first blocks do not merge, at the taps of a dense head."""
    schedules = [(f"gentle, share {s} {{{b}}}", GENTLE.format(s), b, "f32") for s, b in
                 (("0.4", USUAL), ("0.5", "3,5,7,9"), ("0.55", "3,5,7,9"), ("0.7", "5,7,9"))]
    for images, size in (("photographs", "224x224"), ("camvid-val", "364x476")):
        model, pixels = Model(work / f"taps-{size}.onnx"), numpy.load(work / f"{images}.npy")[::every]
        rows = [("all tokens", "mpm", "none", "f32"), *schedules, ("mpm {2,5}", "mpm", "2,5", "f32")]
        found = interleaved(model, rows, pixels)
        parts = {row: numpy.split(found[row][0], 4, axis=-1) for row in rows}
        head(f"Errors of the patches, {images}, {size}", "", "ms", *(f"after block {block}" for block in (2, 5, 8, 11)))
        for row in rows:
            errors = (1 - centred(full, other)[1] for full, other in zip(parts[rows[0]], parts[row]))
            line(row[0], f"{found[row][2]:.1f}", *(f"{error:.4f}" for error in errors))


def shapes():
    """Measures only times, with random weights."""
    large = work / "vit-b.mpm.onnx"
    if not large.exists():
        maker = pathlib.Path(__file__).parent.parent / "peers/make_models.py"
        subprocess.run(["/usr/bin/python3", maker, work, "vit-b"], stdout=subprocess.DEVNULL, check=True)
        subprocess.run([build / "cli/mpm", "convert", work / "vit-b.onnx", large], stdout=subprocess.DEVNULL, check=True)
    for name, model in (("T", ["random", "--size", "512x512"]), ("B", [large])):
        command = [build / "cli/mpm", "bench", *model, "--compare", "none,mpm:2+5,tome:r=45,gentle", "--rounds", "10",
                   "--threads", "1"]
        print(f"\nViT-{name}/16 with random weights, 512x512\n")
        print(subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout)


{"head": trained_head, "street": lambda: street(every), "photographs": lambda: compared("photographs", "224x224", every),
 "taps": taps, "reuse": reuse, "shapes": shapes}[part]()
