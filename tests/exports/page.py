"""Writes the tables of docs/reference/models.md from the results of a run."""
import importlib.metadata
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/models.md"
BEGIN, END = "<!-- Written by ./run exports -->", "<!-- Until here -->"
PACKAGES = {"timm": "timm", "hf": "transformers", "torchvision": "torchvision", "open": "open_clip_torch",
            "smp": "segmentation_models_pytorch", "lightly": "lightly-train", "rfdetr": "rfdetr", "optimum": "optimum-onnx",
            "guide": "the documents' blocks"}
HOW = {"default": "default", "script": "TorchScript", "own": "the package's own", "optimum": "optimum", "batch": "dynamic batch",
       "dynamic": "dynamic size", "f16": "weights and graph in f16", "ort=basic": "saved by ONNX Runtime, level basic",
       "ort=extended": "saved by ONNX Runtime, level extended", "ort=all": "saved by ONNX Runtime, level all",
       "ort-transformers": "ONNX Runtime's transformer optimiser"}


def package(row):
    return PACKAGES[row.name.split("_")[0]]


def version(name):
    # optimum is in another environment.
    pinned = dict(re.findall(r"(?m)^([\w-]+)==(.*)$", (pathlib.Path(__file__).parent / "requirements.txt").read_text()))
    return pinned.get(name, "") if name == "optimum-onnx" else importlib.metadata.version(name)


def call(row):
    """The call without the sizes that make the model tiny."""
    text = re.sub(r", \*\*TINY_TIMM|\*\*TINY_TIMM|, wrap=False|, of=\{\}", "", row.call)
    text = re.sub(r"tiny_config\(hf\.\w+(?:, )?((?:[^()]|\([^()]*\))*)\)", r"config", text)
    text = re.sub(r"hf\.(\w+)Config\(backbone_config=config.*?\)\)", r"config)", text)
    text = re.sub(r"(open_clip\.CLIP|torchvision\.models\.VisionTransformer)\(.*\)(?=,|$)", r"\1(...)", text)
    return text.replace("hf.", "")


def exporter(row):
    words = [HOW.get(word, word) for word in row.how.split() if not word.startswith(("opset", "task="))]
    return ", ".join(words)


def line(*cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def remark(row):
    words = [row.remark] if row.remark else []
    if row.outputs:
        words.append(f"`--outputs {','.join(row.outputs)}`")
    if row.run_at:
        words.append(f"`--size`, from {row.size[0]}x{row.size[1]} to {row.run_at[0]}x{row.run_at[1]}"
                     if row.run_at != row.size else "`--size`")
    return "; ".join(words)


def tables(rows, results):
    converted = ["| package | model | exporter | opset | blocks | remarks |", "|---|---|---|---|---|---|"]
    rejected = ["| package | model | exporter | reason | export instead |", "|---|---|---|---|---|"]
    failing = ["| package | model | exporter | reason |", "|---|---|---|---|"]
    for row in rows:
        result, cells = results[row.name], (package(row), f"`{call(row)}`", exporter(row))
        message = re.sub(r"^mpm: \S+: ", "", result.get("message", result["failure"]))
        if result["failure"]:
            failing.append(line(*cells, message or result["failure"]))
        elif row.blocks == 0:
            rejected.append(line(*cells, message, row.instead))
        else:
            converted.append(line(*cells, result["opset"], result["blocks"], remark(row)))
    return converted, rejected, failing


def write(rows, results):
    converted, rejected, failing = tables(rows, results)
    names = ["torch", "onnxscript", "onnx", "onnxruntime", "onnxsim", "onnxslim"]
    names += sorted({package(row) for row in rows} - {PACKAGES["guide"]} - set(names))
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    text = "\n".join([
        BEGIN, "", f"With {versions}:", "", *converted, "",
        "Rejected (exit status 3, one line with the reason and the node):", "", *rejected, "",
        *(["Do not convert yet:", "", *failing, ""] if len(failing) > 2 else []), END])
    page = PAGE.read_text()
    begin, end = page.index(BEGIN), page.index(END) + len(END)
    PAGE.write_text(page[:begin] + text + page[end:])
