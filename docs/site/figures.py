"""The pages with figures: benchmarks, from the results of bench/, and the gallery, from the images of the documents."""
import html
import json
import re

MODELS = {"vit-t": "ViT-T/16, 512x512", "vit-s": "ViT-S/16, 512x512", "vit-b": "ViT-B/16, 512x512",
          "segmenter-t": "Segmenter-T/16, 512x512", "depth-s": "Depth Anything S, 518x518", "upernet-b": "UPerNet, ViT-B, 512x512"}
OURS = {"f32": "f32", "bf16": "bf16", "i8": "int8"}


def _engines(tree):
    """The peers' names, as bench/peers/table.py has them."""
    text = (tree / "bench/peers/table.py").read_text()
    return dict(re.findall(r'"([\w-]+)": "([^"]+)"', re.search(r"ENGINES = \{(.*?)\}", text, re.S)[1]))


def _median(values):
    values = sorted(values)
    return values[len(values) // 2]


def _rows(engines, runs, precisions):
    """(name, whether it is ours, ms of each round), slowest first."""
    rows = [(engines[name], False, [run["peers"][name] for run in runs]) for name in runs[0]["peers"]]
    for k, precision in enumerate(precisions):
        for merged in (0, 1):
            rows.append((f"MPM, {OURS[precision]}{', merged' if merged else ''}", True,
                         [run["ours"][2 * k + merged] for run in runs]))
    return sorted(rows, key=lambda row: -_median(row[2]))


def _bars(rows):
    longest = max(_median(times) for _, _, times in rows)
    lines = [f'<div class="bar{" ours" if ours else ""}"><span>{html.escape(name)}</span>'
             f'<i style="width:{100 * _median(times) / longest:.1f}%"></i><b>{_median(times):.1f}</b></div>'
             for name, ours, times in rows]
    return '<div class="bars" role="img" aria-label="milliseconds of a forward, by engine">\n' + "\n".join(lines) + "\n</div>\n"


def _table(rows, runs):
    lines = ["| engine | ms | least to most | times as fast as ONNX Runtime, f32 | as OpenVINO, f32 |", "|---|---|---|---|---|"]
    for name, ours, times in rows:
        faster = [f"{_median(run['peers'][peer] / ms for run, ms in zip(runs, times)):.2f}" for peer in ("onnxruntime", "openvino")]
        lines.append(f"| {'**' + name + '**' if ours else name} | {_median(times):.1f} | {min(times):.1f} to {max(times):.1f} | "
                     + " | ".join(faster) + " |")
    return "\n".join(lines) + "\n"


def benchmarks(tree, pages):
    """From bench/results/peers.json, which bench/peers/table.py wrote."""
    results = json.loads((tree / "bench/results/peers.json").read_text())
    machine, engines = results["machine"], _engines(tree)
    count = len(next(iter(results["peer"].values()))[0]["ours"]) // 2
    precisions = ["f32", "bf16", "i8"] if count == 3 else ["f32", "i8"]
    out = ["# Benchmarks", "", "How long a whole forward takes, from the image's blob to the output, in milliseconds: less is better. "
           "All engines run the same export in turn, with two threads and one image; each bar is the median of "
           f"{results['rounds']} rounds.", "",
           f"Measured on {machine['date']}: {machine['cores']} cores of {machine['cpu']} ({', '.join(machine['features'])}), "
           f"{machine['kernel']}, {machine['mpm']}; " + ", ".join(results["versions"].values()) + ".", "",
           "*Merged* computes fewer tokens, so its output differs a little; see the [accuracy](docs/reference/evaluation.md) "
           "that it costs. The weights are random, drawn so that about three quarters of the tokens are left at each merge.", ""]
    for name, runs in results["peer"].items():
        rows = _rows(engines, runs, precisions)
        out += [f"## {MODELS.get(name, name)}", "", _bars(rows), _table(rows, runs)]
    out += ["## On your machine", "", "```sh", "python3 -m venv build/peers",
            "build/peers/bin/pip install torch onnx onnxscript onnxruntime openvino nncf",
            "build/peers/bin/python bench/peers/table.py build/release WORK_DIR 3 peer", "```", "",
            "`WORK_DIR/results.json` has every round. For your own model, `mpm bench MODEL` compares all tokens with merged ones. "
            "The [performance log](docs/internals/performance.md) has more models, other processors and reuse.", ""]
    (pages / "benchmarks.md").write_text("\n".join(out))


def gallery(tree, pages):
    """Every image of the documents, with its text and the page that it is from."""
    seen, out = set(), ["# Gallery", "", "Images and plots of the documents. Each leads to its page.", "", '<div class="gallery" markdown>', ""]
    for page in sorted([pages / "README.md", *pages.glob("docs/**/*.md")]):
        for text, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", page.read_text()):
            image = (page.parent / target).resolve().relative_to(pages.resolve()).as_posix()
            if image in seen:
                continue
            seen.add(image)
            where = page.relative_to(pages).as_posix()
            title = re.search(r"(?m)^# (.*)", page.read_text())[1].replace("`", "")
            text = text[:1].upper() + text[1:]
            plot = "{ .plot }" if image.endswith(".svg") else ""
            out += ["<figure markdown>", f"[![{text}]({image}){plot}]({where})", f"<figcaption>{text}. <em>From: {title}</em></figcaption>",
                    "</figure>", ""]
    (pages / "gallery.md").write_text("\n".join([*out, "</div>", ""]))
    unused = {file.relative_to(pages).as_posix() for file in pages.glob("docs/images/*")} - seen
    return sorted(unused)
