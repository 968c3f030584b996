#!/usr/bin/env python3
"""Prints the figures of docs/internals/performance.md that need no second OpenCV: our encoder and pip's engines on the same
exports, the gain that merging keeps, the share of the machine's peak, a stream, memory, threads.

    table.py BUILD_DIR WORK_DIR [ROUNDS=5] [SECTION...] [MODEL...] [ENGINE...]

SECTION: peer int8 gain ceiling stream memory threads. MODEL limits the sections peer and int8: vit-t vit-s vit-b segmenter-t.
Only if named, because they need timm and transformers and long to be quantised: depth-s (518x518), upernet-b, eomt-s-512,
dinov3-s and adapter-s (Mask2Former); they are compared with ONNX Runtime in f32 and OpenVINO only. ENGINE limits the section
peer to engines of peer.py. The section detectors also runs only if named: it reads the authors' exports NAME.onnx (rfdetr_nano
rfdetr_small rfdetr_seg_nano deimv2_s, or those named) in WORK_DIR, and needs only onnxruntime, onnx and openvino.
Markdown goes to standard output, every number to WORK_DIR/results.json. WORK_DIR keeps exports, quantised models and
compiled code. The Python that runs it needs, by pip: torch onnx onnxscript onnxruntime openvino nncf; torch.compile needs g++.
The build needs MPM_BUILD_BENCH.
"""
import datetime
import functools
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DETECTORS = {"rfdetr_nano": (1.15, 1.7, 2.3, 2.5), "rfdetr_small": (1.15, 1.8, 2.4, 2.8),  # bars: f32, bf16, int8, merged
             "rfdetr_seg_nano": (1.1, 1.6, 2.0, 2.3), "deimv2_s": (1.0, 1.5, 1.6, 1.8)}
SECTIONS = ["peer", "int8", "gain", "ceiling", "stream", "memory", "threads"]
MODELS = ["vit-t", "vit-s", "vit-b", "segmenter-t"]
HEADS = ["depth-s", "upernet-b", "eomt-s-512", "dinov3-s", "adapter-s"]
BARS = {"vit-t": {"bf16": (1.25, 0), "i8": (1.85, 2.4)}, "vit-s": {"i8": (1.55, 2.0)}, "vit-b": {"i8": (1.4, 1.75)},  # all, merged
        "depth-s": {"f32": (1.15, 0), "bf16": (1.25, 0), "i8": (1.5, 1.8)}, "upernet-b": {"f32": (1.15, 0), "i8": (1.5, 0)},
        "eomt-s-512": {"i8": (1.7, 0)}, "dinov3-s": {"i8": (2.0, 0)}}
ENGINES = {"onnxruntime": "ONNX Runtime, f32", "openvino": "OpenVINO, f32", "openvino-bf16": "OpenVINO, bf16",
           "onnxruntime-int8": "ONNX Runtime, int8", "openvino-int8": "OpenVINO, int8", "torch-compile": "torch.compile, f32"}
THREADS = 2
cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
has_avx512_bf16 = "avx512_bf16" in cpuinfo
results = {}


# --- running programs ---

def capture(*command, env=()):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          stdin=subprocess.DEVNULL, text=True, env=os.environ | dict(env)).stdout


def once(name, make):
    """Returns `name`, the name of a file; calls make() first if the file does not exist."""
    if not os.path.exists(name):
        make()
    return name


def exported(name):
    script = ["make_adapter.py", f"{name}.onnx"] if name == "adapter-s" else ["make_models.py", ".", name]
    return once(f"{name}.onnx", lambda: capture(sys.executable, HERE / script[0], *script[1:]))


def converted(name, *options):
    file = ".".join([name, *(word for word in options if not word.startswith("--")), "mpm.onnx"])
    output = ["--output", "labels"] if name.startswith("segmenter") else []
    return once(file, lambda: capture(mpm, "convert", exported(name), file, "--method", "mpm", *output, *options))


def bench(model, precision, count=10, batch=1, threads=THREADS, env=()):
    """Returns the rows of a run of `mpm bench`: all tokens, then merged, which run in turn."""
    capture(mpm, "bench", model, "--compare", "none,mpm", "--precision", precision, "--rounds", count, "--batch", batch,
            "--threads", threads, "--device", "cpu", "--json", "round.json", env=env)
    return json.loads(pathlib.Path("round.json").read_text())["results"]


def medians(rows):
    return [row["ms"]["median"] for row in rows]


@functools.lru_cache(maxsize=len(ENGINES))  # keeps the peers of a model
def started(engine, model):
    """Starts a peer, which loads the model and waits for its turn."""
    command = [sys.executable, HERE / "peer.py", engine, model, THREADS, "-"]
    return subprocess.Popen([str(word) for word in command], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=open(f"{engine}.log", "w"), env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": "inductor"})


def peer(engine, model, count=10):
    process = started(engine, model)
    process.stdin.write(f"{count}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        sys.exit(f"table: {engine} failed on {model}, see {engine}.log")
    answer = json.loads(answer)
    results.setdefault("versions", {})[engine] = answer["peer"]
    return answer["ms"]["median"]


def stop_peers(engines, model):
    for engine in engines:
        process = started(engine, model)
        process.stdin.close()
        process.wait()
    started.cache_clear()


# --- numbers and tables ---

def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def spread(values, digits=2):
    values = list(values)
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def row(*cells):
    print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


def table(title, *heads):
    print(f"\n{title}\n")
    row(*heads)
    row(*["---"] * len(heads))


# --- sections ---

def beside_peers(models):
    """Prints the times, then the speed of ours relative to the peers in the same rounds."""
    wanted = [engine for engine in ENGINES if engine != "openvino-bf16" or "bf16" in precisions]
    wanted = [engine for engine in wanted if engine in sys.argv] or wanted
    ours = precisions + ["i8"]
    ways = [f"{tokens}, {precision}" for precision in ours for tokens in ("all tokens", "merged")]
    table(f"Whole forward, batch 1: ms, median of {results['rounds']} rounds in turn", "model",
          *(ENGINES[engine] for engine in wanted), *ways)
    results["peer"] = {}
    for name in models:
        here = [engine for engine in wanted if name in MODELS or engine not in ("onnxruntime-int8", "torch-compile")]
        # The first call also loads, compiles and quantises. `counts`: forwards in a turn of about two seconds.
        counts = {engine: max(2, min(10, int(2000 / peer(engine, exported(name), 2)))) for engine in here}
        model, count = converted(name), counts["onnxruntime"]
        runs = results["peer"][name] = []
        for _ in range(results["rounds"]):
            theirs = {engine: peer(engine, exported(name), counts[engine]) for engine in here}
            runs.append({"peers": theirs, "ours": sum((medians(bench(model, precision, count)) for precision in ours), [])})
        stop_peers(here, exported(name))
        row(name, *(f"{median(run['peers'][engine] for run in runs):.1f}" if engine in here else "" for engine in wanted),
            *(f"{median(run['ours'][way] for run in runs):.1f}" for way in range(len(ways))))
    table("The same rounds: how many times as fast as the peers with all tokens (least-most); the bar is for the better of ONNX "
          "Runtime in f32 and OpenVINO in the same precision", "model", "precision", "tokens", "x ONNX Runtime, f32",
          "x OpenVINO, f32", "x OpenVINO, the same precision", "x the better", "bar")
    for name, runs in results["peer"].items():
        for way, label in enumerate(ways):
            same = {"f32": "openvino", "bf16": "openvino-bf16", "i8": "openvino-int8"}[ours[way // 2]]
            tokens, precision = label.split(", ")
            rivals = [(engine,) for engine in ("onnxruntime", "openvino", same)] + [("onnxruntime", same)]
            row(name, precision, tokens, *(spread(min(run["peers"][engine] for engine in rival) / run["ours"][way] for run in runs)
                                           if runs[0]["peers"].keys() >= set(rival) else "" for rival in rivals),
                BARS.get(name, {}).get(precision, (0, 0))[way % 2] or "")
    print("\n" + ", ".join(results["versions"].values()))


def int8(models):
    """Compares i8 with peers as if there were no bf16, with our bf16 on AMX, and with our f32 on older instruction sets."""
    models = [name for name in models if name.startswith("vit")]
    results["int8"] = []
    if has_avx512_bf16:
        env, engine = {"MPM_MAX_CPU_ISA": "avx512-vnni"}, "onnxruntime"
        table("int8, whole forward, 512x512, batch 1, MPM_MAX_CPU_ISA=avx512-vnni: ms, and how many times as fast as ONNX "
              "Runtime in f32 with all tokens", "model", "ONNX Runtime", "all tokens", "merged")
        for name in models:
            runs = [{"theirs": peer(engine, exported(name)), "ours": medians(bench(converted(name), "i8", env=env))}
                    for _ in range(results["rounds"])]
            stop_peers([engine], exported(name))
            results["int8"].append({"name": name, "isa": "avx512-vnni", "runs": runs})
            row(name, f"{median(run['theirs'] for run in runs):.1f}",
                *(f"{median(run['ours'][way] for run in runs):.1f}, x {spread(run['theirs'] / run['ours'][way] for run in runs)}"
                  for way in (0, 1)))
    rivals = [("bf16", "")] * ("amx_int8" in cpuinfo) + [("f32", "avx-vnni")] * ("avx_vnni" in cpuinfo) + [("f32", "avx2")]
    for rival, isa in rivals:
        limit = f", both with MPM_MAX_CPU_ISA={isa}" if isa else ""
        table(f"int8 beside our {rival}{limit}: ms, all tokens", "model", rival, "i8", "times as fast")
        for name in models:
            env, count = {"MPM_MAX_CPU_ISA": isa} if isa else {}, 4 if name == "vit-b" else 10
            runs = [[medians(bench(converted(name), precision, count, env=env))[0] for precision in (rival, "i8")]
                    for _ in range(results["rounds"])]
            results["int8"].append({"name": name, "rival": rival, "isa": isa, "runs": runs})
            row(name, f"{median(a for a, _ in runs):.1f}", f"{median(b for _, b in runs):.1f}", spread(a / b for a, b in runs))


def gain_kept(_):
    """Prints the encoder's speed-up by merging, divided by the ratio of the operations."""
    table("What merging keeps: the encoder's speed-up over all tokens, divided by the ratio of the operations", "model",
          "precision", "batch", "tokens left", "GFLOPs", "encoder, ms an image", "speed-up", "kept",
          "merge and restore, % of the encoder")
    results["gain"] = []
    for name, batch in [("vit-t", 1), ("vit-s", 1), ("vit-b", 1), ("vit-t", 8), ("vit-s", 8), ("vit-b-8", 1)]:
        model = converted(name, "--batch", str(batch)) if batch > 1 else converted(name)
        large = name == "vit-b-8"
        count = 2 if large else 4 if name.startswith("vit-b") or batch > 1 else 10
        for precision in precisions + ["i8"]:
            runs = [bench(model, precision, count, batch) for _ in range(min(results["rounds"], 2 if large else 99))]
            results["gain"].append({"name": name, "batch": batch, "precision": precision, "runs": runs})
            all_tokens, merged = runs[0]
            faster = [a["encoder_ms"] / m["encoder_ms"] for a, m in runs]
            row(name, precision, batch, round(merged["tokens"][-1]), f"{all_tokens['gflops']:.1f} -> {merged['gflops']:.1f}",
                f"{median(a['encoder_ms'] for a, _ in runs):.1f} -> {median(m['encoder_ms'] for _, m in runs):.1f}",
                f"{median(faster):.3f}", spread(f / (a["gflops"] / m["gflops"]) for f, (a, m) in zip(faster, runs)),
                f"{median(100 * (m['merge_ms'] + m['restore_ms']) / m['encoder_ms'] for _, m in runs):.1f}")


def ceiling_share(_):
    table("Share of the machine's ceiling: operations over the encoder's time, of the rate at the size where oneDNN's products "
          "are fastest, in the same round", "model", "precision", "oneDNN's best, GFLOP/s", "encoder, GFLOP/s", "share")
    results["ceiling"] = []
    for name in ("vit-t", "vit-s", "vit-b"):
        for precision in precisions:
            runs = []
            for _ in range(results["rounds"]):
                best = json.loads(capture(programs / "bench/mpm_bench_onednn", env={"OMP_NUM_THREADS": str(THREADS)}))
                encoder = bench(converted(name), precision, 4 if name == "vit-b" else 10)[0]
                runs.append({"best": best[precision], "rate": 1000 * encoder["gflops"] / encoder["encoder_ms"]})
            results["ceiling"].append({"name": name, "precision": precision, "runs": runs})
            row(name, precision, f"{median(run['best'] for run in runs):.0f}", f"{median(run['rate'] for run in runs):.0f}",
                spread(run["rate"] / run["best"] for run in runs))


def stream_run(precision, frames, warm_up=20):
    out = capture(programs / "bench/mpm_bench_stream", "default", frames + warm_up, precision, THREADS)
    lines = [[float(cell) for cell in line.split(",")] for line in out.strip().split("\n")[1 + warm_up:]]
    return {name: [line[column] for line in lines] for name, column in (("times", 1), ("left", 2), ("constant", 3))}


def steady(run):
    limit, loops = 1.25 * median(run["constant"]), run["constant"]
    return [ms for k, ms in enumerate(run["times"]) if max(loops[k:k + 2]) <= limit and k + 1 < len(loops)]


def stream(_):
    frames = 500
    table(f"A stream whose counts change every frame: the shipped model on {frames} frames of the built-in street over a day, each "
          "drawn before the network starts. A loop of constant work before each frame shows what the machine does by itself; "
          "its speed is steady around a frame where the loops before and after it took at most a quarter more than their median",
          "precision", "tokens left", "median, ms", "p99, ms", "p99 / median", "of the constant loop", "steady frames, %",
          "their p99 / median")
    results["stream"] = []
    for precision in precisions:
        runs = [stream_run(precision, frames) for _ in range(results["rounds"])]
        results["stream"].append({"precision": precision, "runs": runs})
        left = sum((run["left"] for run in runs), [])
        tails = [spread(quantile(times, 0.99) / median(times) for times in kind)
                 for kind in ([r["times"] for r in runs], [r["constant"] for r in runs], [steady(r) for r in runs])]
        row(precision, f"{min(left):.0f}-{max(left):.0f}", f"{median(median(run['times']) for run in runs):.2f}",
            f"{median(quantile(run['times'], 0.99) for run in runs):.2f}", *tails[:2],
            f"{100 * median(len(steady(run)) / frames for run in runs):.0f}", tails[2])


def memory(_):
    table("Most memory of a whole process, one forward of ViT-T/16", "tokens", "MiB", "of them the model's file")
    results["memory"] = []
    for side in (512, 2048):
        model = converted("vit-t") if side == 512 else converted("vit-t", "--size", f"{side}x{side}")
        process = subprocess.Popen([str(programs / "bench/mpm_bench_opencv"), model, str(THREADS), "1"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        peak = os.wait4(process.pid, 0)[2].ru_maxrss / 1024
        results["memory"].append({"tokens": (side // 16) ** 2, "peak": peak, "file": os.path.getsize(model) / 2**20})
        row((side // 16) ** 2, f"{peak:.0f}", f"{os.path.getsize(model) / 2**20:.0f}")


def threads(_):
    table("Two threads over one, all tokens", "model", "precision", "1 thread, ms", "2 threads, ms", "times as fast")
    results["threads"] = []
    for precision in precisions:
        runs = [[medians(bench(converted("vit-t"), precision, threads=count))[0] for count in (1, 2)]
                for _ in range(results["rounds"])]
        results["threads"].append({"precision": precision, "runs": runs})
        row("vit-t", precision, f"{median(one for one, _ in runs):.1f}", f"{median(two for _, two in runs):.1f}",
            spread(one / two for one, two in runs))


def detector_bars(name):
    """Returns the bars of a detector by precision: all with AVX-512; AVX2 has a lower bar for f32, AVX-VNNI also a bar for int8."""
    f32, bf16, int8, merged = DETECTORS[name]
    limit = os.environ.get("MPM_MAX_CPU_ISA", "")
    if "avx512_vnni" in cpuinfo and not limit:
        return {"f32": f32, "bf16": bf16, "int8": int8, "int8, merged": merged}
    return {"f32": round(0.95 * f32, 3), "int8": 1.4 if "avx_vnni" in cpuinfo and limit in ("", "avx-vnni") else 0}


def detectors(names):
    """Compares whole detectors, from image to boxes, with the peers. Each ratio has a bar (a required value), if any is set."""
    wanted, ways = ["onnxruntime", "onnxruntime-int8", "openvino"], [*precisions, "int8", "int8, merged"]
    table(f"Detectors, whole model: ms, median of {results['rounds']} rounds in turn; then how many times as fast as ONNX Runtime "
          "in f32 (least-most) and the bar", "model", *(ENGINES[engine] for engine in wanted), *ways,
          *(f"x, {way}" for way in ways), "int8 x ONNX Runtime, int8")
    results["detectors"] = {}
    for name in names:
        file = once(f"{name}.mpm.onnx", lambda: capture(mpm, "convert", f"{name}.onnx", f"{name}.mpm.onnx", "--blocks", "2,5",
                                                        "--normalise", "imagenet"))
        for engine in wanted:
            peer(engine, f"{name}.onnx", 1)
        runs = results["detectors"][name] = []
        for _ in range(results["rounds"]):
            theirs = [peer(engine, f"{name}.onnx", 3) for engine in wanted]
            ours = [medians(bench(file, precision, 3)) for precision in (*precisions, "i8")]
            runs.append({"theirs": theirs, "ours": [all_tokens for all_tokens, _ in ours] + ours[-1][1:]})
        stop_peers(wanted, f"{name}.onnx")
        bars = detector_bars(name)
        row(name, *(f"{median(run[who][k] for run in runs):.1f}" for who in ("theirs", "ours") for k in range(len(runs[0][who]))),
            *(spread(run["theirs"][0] / run["ours"][k] for run in runs) + (f", bar {bars[way]}" if bars.get(way) else "")
              for k, way in enumerate(ways)),
            spread(run["theirs"][1] / run["ours"][-2] for run in runs) + ", bar 1.3")


def machine():
    known = r"\b(avx2|avx512f|avx512_vnni|avx_vnni|avx512_bf16|amx_bf16|amx_int8|asimd|bf16)\b"
    name = re.search(r"model name\s*: (.*)", cpuinfo)
    return {"cpu": name[1] if name else platform.machine(), "cores": os.cpu_count(), "date": str(datetime.date.today()),
            "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
            "features": list(dict.fromkeys(re.findall(known, cpuinfo))), "mpm": capture(mpm, "--version").strip()}


def main():
    rest = sys.argv[3:]
    if len(sys.argv) < 3 or any(word not in [*SECTIONS, *MODELS, *HEADS, *ENGINES, "detectors", *DETECTORS] and not word.isdigit() for word in rest):
        sys.exit(__doc__)
    global programs, mpm, precisions
    programs = pathlib.Path(sys.argv[1]).resolve()
    mpm = programs / "cli/mpm"
    usable = capture(mpm, "doctor")  # respects MPM_MAX_CPU_ISA
    precisions = [name for name in ("f32", "bf16") if re.search(rf"cpu {name} +usable", usable)]
    os.makedirs(sys.argv[2], exist_ok=True)
    os.chdir(sys.argv[2])
    results["rounds"] = next((int(word) for word in rest if word.isdigit()), 5)
    info = results["machine"] = machine()
    print(f"{info['cpu']} ({' '.join(info['features'])}), {info['cores']} cores, {info['kernel']}, {info['mpm']}, {THREADS} "
          f"threads, {info['date']}")
    models = [name for name in MODELS + HEADS if name in rest] or MODELS
    sections = {"peer": beside_peers, "int8": int8, "gain": gain_kept, "ceiling": ceiling_share, "stream": stream,
                "memory": memory, "threads": threads, "detectors": detectors}
    for section in [name for name in sections if name in rest] or SECTIONS:
        sections[section](models if section != "detectors" else [name for name in DETECTORS if name in rest] or DETECTORS)
        pathlib.Path("results.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
