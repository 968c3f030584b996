"""Exports the models of table.py, converts and runs them, and compares the results with ONNX Runtime's.

    main.py BUILD_DIR ENVIRONMENTS [--document] [NAME...]

ENVIRONMENTS holds main and optimum; exports go to its folder out. NAME may contain *. --document writes the tables of
docs/reference/models.md.
"""
import json
import os
import pathlib
import queue
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import onnx

import page
import table

HERE = pathlib.Path(__file__).resolve().parent
LARGEST_ERROR = 1e-5  # relative to the largest value, without merging


class Exporter:
    """A process that exports rows in an environment; started again if a row ends it."""

    def __init__(self, python, out):
        self.command, self.process = [python, HERE / "export.py", out], None
        self.log = open(out / f"{pathlib.Path(python).parts[-3]}.{threading.current_thread().name}.log", "w")

    def ask(self, name):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                            text=True, env=os.environ | {"HF_HUB_OFFLINE": "1"})
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        status, self.process = self.process.wait(), None
        return {"error": f"the exporter ended with status {status}"}

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def as_arrays(path):
    with np.load(path) as arrays:
        return [arrays[name] for name in arrays.files]


def difference(expected, found):
    """The largest of all outputs, each relative to the output's largest value."""
    worst = 0.0
    for want, got in zip(expected, found):
        if want.size != got.size or (want.ndim > 1 and want.shape != got.shape):
            raise ValueError(f"shape {list(got.shape)} instead of {list(want.shape)}")
        if not np.isfinite(got).all():
            raise ValueError("a value that is not finite")
        step = np.abs(want.astype(np.float64).reshape(-1) - got.reshape(-1)).max() / max(np.abs(want).max(), 1e-30)
        worst = max(worst, float(step))
    return worst


def in_order(expected, found):
    """Results of a detector in the order of `expected`: where the scores of two places are closer than rounding, both orders are
    right. Rows that differ are matched among themselves, 2 % of all at most."""
    if not all(want.ndim == 3 and want.shape[:2] == found[0].shape[:2] == got.shape[:2] for want, got in zip(expected, found)):
        return found
    want, got = (np.concatenate([each / np.abs(want).max() for each, want in zip(parts, expected)], axis=2)
                 for parts in (expected, found))
    order = np.tile(np.arange(want.shape[1]), (len(want), 1))
    for image in range(len(want)):
        moved = np.flatnonzero(np.abs(want[image] - got[image]).max(axis=1) > LARGEST_ERROR)
        if 1 < len(moved) <= 0.02 * want.shape[1]:
            apart = np.abs(want[image][moved, None] - got[image][None, moved]).max(axis=2)
            order[image, moved] = moved[apart.argmin(axis=1)]
    if any(len(set(each)) < len(each) for each in order):
        return found
    return [np.take_along_axis(each, order[:, :, None], axis=1) for each in found]


def run_converted(build, folder, names):
    environment = os.environ | {"PYTHONPATH": str(build / "python"), "PYTHONNOUSERSITE": "1"}
    done = subprocess.run(["/usr/bin/python3", HERE / "run_converted.py", folder / "converted.onnx", folder, *names],
                          capture_output=True, text=True, env=environment)
    if done.returncode:
        raise ValueError("OpenCV: " + " ".join(done.stderr.split())[-300:])
    return [int(float(line)) for line in done.stdout.split()]


def convert(row, build, folder):
    command = [build / "cli/mpm", "convert", folder / "model.onnx", folder / "converted.onnx", "--method", "mpm",
               *shlex.split(row.options)]
    command += ["--outputs", ",".join(row.outputs)] if row.outputs else []
    command += ["--size", f"{row.run_at[0]}x{row.run_at[1]}"] if row.run_at else []
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def judge(row, exported, build, folder):
    """What is wrong, or nothing; with the numbers of the printed line."""
    done = convert(row, build, folder)
    message = " ".join((done.stderr.strip() or done.stdout.strip()).split("\n")[-1:])
    if row.blocks == 0:
        right = done.returncode == 3 and re.search(row.reason, done.stderr)
        return "" if right else f"rejection wanted with '{row.reason}', status {done.returncode}: {message}", {"message": message}
    if done.returncode:
        return f"not converted: {message}", {"message": message}
    blocks = int(re.search(r"encoder +(\d+) blocks", done.stdout)[1])
    names = [each.name for each in onnx.load(folder / "converted.onnx", load_external_data=False).graph.output]
    names = [name for name in exported["names"] if name in names]
    result = {"blocks": blocks}
    tokens = run_converted(build, folder, names)
    expected = as_arrays(folder / "expected.npz")
    result["error"] = difference(expected, in_order(expected, as_arrays(folder / "off.npz")))
    result["change"] = difference(expected, as_arrays(folder / "on.npz"))
    result["tokens"] = f"{tokens[0]} -> {tokens[1]}"
    if blocks != row.blocks:
        return f"{blocks} blocks instead of {row.blocks}", result
    if result["error"] > LARGEST_ERROR:
        return f"differs by {result['error']:.1e}", result
    if tokens[1] >= tokens[0]:
        return "nothing merges", result
    if exported["follows"] < 0.02:
        return "the table: an output hardly follows the image, draw other weights", result
    return "", result


def row_result(row, exporters, build, out):
    folder = out / row.name
    shutil.rmtree(folder, ignore_errors=True)
    began = time.time()
    exported = exporters["optimum" if "optimum" in row.how.split() else "main"].ask(row.name)
    if "error" in exported:
        missing = exported["error"].startswith(("ImportError", "ModuleNotFoundError"))
        cause = "the installation" if missing else "the exporter"
        return {"failure": f"{cause}: {exported['error']}", "seconds": time.time() - began}
    try:
        failure, result = judge(row, exported, build, folder)
    except (ValueError, OSError) as error:
        failure, result = str(error), {}
    if failure and not failure.startswith("the table"):
        failure = "MPM: " + failure
    return exported | result | {"failure": failure, "seconds": time.time() - began}


def show(row, result):
    numbers = " ".join([f"{result.get('error', float('nan')):8.1e}", f"{result.get('change', float('nan')):8.1e}",
                        f"{result.get('tokens', ''):>10}", f"{result['seconds']:5.1f} s"])
    print(f"{row.name:32} {row.how:28} opset {result.get('opset', '-'):>3} {result.get('blocks', 0):3} blocks {numbers} "
          f"{'FAILED: ' + result['failure'] if result['failure'] else 'ok'}", flush=True)


def work(rows, results, build, environments):
    out = environments / "out"
    exporters = {name: Exporter(environments / name / "bin/python", out) for name in ("main", "optimum")}
    while True:
        try:
            row = rows.get_nowait()
        except queue.Empty:
            break
        results[row.name] = row_result(row, exporters, build, out)
        show(row, results[row.name])
    for exporter in exporters.values():
        exporter.close()


def main():
    build, environments = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).absolute()
    wanted = [word for word in sys.argv[3:] if word != "--document"]
    chosen = [row for row in table.ROWS if not wanted or any(re.fullmatch(name.replace("*", ".*"), row.name) for name in wanted)]
    if not chosen:
        sys.exit(f"exports: no such row: {' '.join(wanted)}")
    (environments / "out").mkdir(parents=True, exist_ok=True)
    rows, results = queue.Queue(), {}
    for row in chosen:
        rows.put(row)
    began = time.time()
    threads = [threading.Thread(target=work, args=(rows, results, build, environments), name=str(k))
               for k in range(min(2, os.cpu_count()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = environments / "out/results.json"  # rows that were not chosen keep their last result
    results = (json.loads(kept.read_text()) if kept.exists() else {}) | results
    kept.write_text(json.dumps(results, indent=1))
    if "--document" in sys.argv:
        page.write([row for row in table.ROWS if row.name in results], results)
    failed = [row.name for row in chosen if results[row.name]["failure"]]
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed, {time.time() - began:.0f} s" +
          (": " + " ".join(failed) if failed else ""))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
