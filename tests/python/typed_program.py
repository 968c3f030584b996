# Uses every part of the package's interface. mypy checks the types.
import pathlib
from typing import List

import mpm
import numpy
from numpy.typing import NDArray


def use(frame: NDArray[numpy.uint8]) -> List[int]:
    model = mpm.Model("default", (480, 640))
    model.blocks = (2, 5)
    model.blocks = [2, 5]
    model.blocks = "2,5"
    model.precision = "bf16"
    model.reuse = True
    model.method = "gentle"
    model.reuse = "refresh=30"
    result: mpm.Result = model(frame)
    results: List[mpm.Result] = model([frame, frame])
    results = model([frame, frame], stream=["yard", 3])
    result = model(frame, stream="yard")
    result = model(frame, stream="yard", seconds=1.5)
    model.objects = ["car", "pedestrian"]
    for track in result.tracks or []:
        left, top, right, bottom = track.box
        print(track.id + 1, track.name.upper(), right - left + bottom - top, track.dwell, track.path[0][0])
    model.forget("yard")
    with mpm.Model(b"", blocks=(2, 5), precision="auto", threads=2, device="cpu", reuse=True, method="mpm") as other:
        several: List[mpm.Result] = [frame for frame in other.stream("clip.mp4", stream="yard")]
    results = model(["street.jpg", pathlib.Path("yard.jpg")])
    model.threshold, model.nms = 0.3, 0.7
    if result.boxes is not None and result.scores is not None and result.names and result.masks is not None:
        print(result.boxes.shape, result.scores.max(), result.names[0].upper(), result.masks[0].shape)
    print(model("street.jpg").classes, model.embed(frame).shape, model.info().size, several[0].save(), several[0].plot())
    print(mpm.Model(pathlib.Path("b.onnx")), mpm.info(pathlib.Path("b.onnx")))
    overlay: NDArray[numpy.uint8] = result.overlay
    rows, columns = result.grid
    milliseconds: float = results[0].times.network + rows + columns + overlay.size
    merged = mpm.merge(result.features, special=1)
    full: NDArray[numpy.float32] = mpm.restore(merged.tokens, merged.map, special=1)
    print(milliseconds, full.shape, mpm.compose(merged.map, merged.map))
    print(mpm.convert("a.onnx", "b.onnx", blocks=(2, 5)).error, mpm.info("b.onnx").labels)
    print(mpm.tune("a.onnx", [frame], keep=0.99), mpm.tune("a.onnx", pathlib.Path("clip.mp4"), faster=1.5, write=True))
    report = mpm.bench("default", [frame], compare="none,mpm", progress=lambda done, total: None)
    print(report["results"], mpm.evaluate("default", "folder", "root", shard=(1, 2)), mpm.join(["1.counts"]))
    mpm.register()
    mpm.configure(blocks=(2, 5), reuse=True)
    mpm.readNet("b.onnx")
    return result.tokens
