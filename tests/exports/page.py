"""Writes the tables of docs/reference/models.md from the results of a run."""
import importlib.metadata
import pathlib
import re
import textwrap

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/models.md"
BEGIN, END = "<!-- Written by ./run exports -->", "<!-- Until here -->"
PACKAGES = {"timm": "timm", "hf": "transformers", "torchvision": "torchvision", "open": "open_clip_torch",
            "smp": "segmentation_models_pytorch", "lightly": "lightly-train", "rfdetr": "rfdetr", "libreyolo": "libreyolo",
            "optimum": "optimum-onnx", "guide": "the documents' blocks"}
HOW = {"script": "TorchScript", "own": "the package's own", "batch": "dynamic batch", "dynamic": "dynamic size",
       "f16": "weights and graph in f16", "ort=basic": "saved by ONNX Runtime, level basic",
       "ort=extended": "saved by ONNX Runtime, level extended", "ort=all": "saved by ONNX Runtime, level all",
       "ort-transformers": "ONNX Runtime's transformer optimiser"}


def package(row):
    return PACKAGES[row.name.split("_")[0]]


def version(name):
    # optimum is installed in another environment, so its version comes from the requirements.
    pinned = dict(re.findall(r"(?m)^([\w-]+)==(.*)$", (pathlib.Path(__file__).parent / "requirements.txt").read_text()))
    return pinned.get(name, "") if name == "optimum-onnx" else importlib.metadata.version(name)


def call(row):
    """The call without the sizes that make the model tiny."""
    part = re.match(r'guide\(("[^"]*"), 1, ("[^"]+")', row.call)  # below a heading
    if part:
        return f"guide({part[1]}, {part[2]})"
    text = re.sub(r", \*\*TINY_TIMM|, wrap=False", "", row.call)
    text = re.sub(r'(guide\("[^"]*")[^)]*', r"\1", text)
    text = re.sub(r"tiny_config\(hf\.\w+(?:, )?((?:[^()]|\([^()]*\))*)\)", "config", text)
    text = re.sub(r"hf\.\w+Config\(backbone_config=.*?\)\)", "config)", text)
    text = re.sub(r"hf\.SegformerConfig\(\)", "config", text)
    text = re.sub(r"open_clip\.CLIP\(.*\)\)", "open_clip.CLIP(...)", text)
    text = re.sub(r"torchvision\.models\.VisionTransformer\(.*\)", "torchvision.models.VisionTransformer(...)", text)
    return text.replace("hf.", "")


def exporter(row):
    words = [HOW.get(word, word) for word in row.how.split() if not word.startswith(("opset", "task="))]
    return ", ".join(words)


def line(*cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def remark(row):
    words = [row.remark] if row.remark else []
    if row.options:
        words.append(f"`{row.options}`")
    if row.outputs:
        words.append(f"`--outputs {','.join(row.outputs)}`")
    if row.run_at:
        words.append(f"`--size`, from {row.size[0]}x{row.size[1]} to {row.run_at[0]}x{row.run_at[1]}"
                     if row.run_at != row.size else "`--size`")
    return "; ".join(words)


def rows_of(kind, rows, results, cells):
    """Lines of the rows of a kind; rows that differ in the exporter only share a line."""
    lines = {}
    for row in rows:
        if kind(row):
            key = (package(row), f"`{call(row)}`", *cells(row))
            opset = results[row.name].get("opset", "")
            lines.setdefault(key, []).append(exporter(row) + (f" ({opset})" if opset else ""))
    return [line(*key[:2], "; ".join(how), *key[2:]) for key, how in lines.items()]


def reason(row, results):
    """Without the path and the names of nodes."""
    result = results[row.name]
    return re.sub(r" '[^']*'", "", re.sub(r"^mpm: \S+: ", "", result.get("message") or result["failure"]))


def tables(rows, results):
    failed = lambda row: bool(results[row.name]["failure"])
    converted = rows_of(lambda row: row.blocks and not failed(row), rows, results,
                        lambda row: (results[row.name]["blocks"], remark(row)))
    rejected = rows_of(lambda row: not row.blocks and not failed(row), rows, results,
                       lambda row: (reason(row, results), row.instead))
    failing = rows_of(failed, rows, results, lambda row: (reason(row, results),))
    return (["| package | model | exporter (opset) | blocks | remarks |", "|---|---|---|---|---|", *converted],
            ["| package | model | exporter (opset) | reason | export instead |", "|---|---|---|---|---|", *rejected],
            ["| package | model | exporter (opset) | reason |", "|---|---|---|---|", *failing] if failing else [])


def write(rows, results):
    converted, rejected, failing = tables(rows, results)
    names = ["torch", "onnxscript", "onnx", "onnxruntime", "onnxsim", "onnxslim"]
    names += sorted({package(row) for row in rows} - {PACKAGES["guide"]} - set(names))
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    intro = textwrap.fill(
        f"With {versions}. Sizes that only make a model small are left out; `features` is `forward_features`, `taps` the normalised "
        "tokens of four blocks (`forward_intermediates`), `output` the named fields of a result, `method` a call of that name, "
        "`joint` a model of texts and images, `unmasked` [EoMT without masked attention](../guide/eomt.md), `lightly_...`, "
        "`libreyolo_...` and `rfdetr_nano` the models' `export_onnx` and `export`, `guide` the blocks of a document.", 120,
        break_on_hyphens=False, break_long_words=False)
    text = "\n".join([
        BEGIN, "", intro, "", *converted, "", "Rejected (exit status 3, a line with the reason and the node):", "", *rejected, "",
        *(["Do not convert yet:", "", *failing, ""] if failing else []), END])
    page = PAGE.read_text()
    begin, end = page.index(BEGIN), page.index(END) + len(END)
    PAGE.write_text(page[:begin] + text + page[end:])
