"""Tiny models of the packages that people export from, with weights drawn so that outputs follow the image."""
import contextlib
import functools
import inspect
import pathlib
import re
import sys
import unittest.mock

import onnx
import torch
import torch.nn as nn

SIZE, PATCH, WIDTH, DEPTH, HEADS = 48, 8, 32, 4, 2
TINY_TIMM = dict(pretrained=False, img_size=SIZE, patch_size=PATCH, embed_dim=WIDTH, depth=DEPTH, num_heads=HEADS)
TINY_HF = dict(hidden_size=WIDTH, num_hidden_layers=DEPTH, num_attention_heads=HEADS, intermediate_size=2 * WIDTH,
               image_size=SIZE, patch_size=PATCH)


class Only(nn.Module):
    """A model whose result is reduced to the tensors that matter."""

    def __init__(self, model, pick):
        super().__init__()
        self.model, self.pick = model, pick

    def forward(self, image):
        return self.pick(self.model, image)


def features(model):
    return Only(model, lambda inner, image: inner.forward_features(image))


def taps(model, norm=True):
    """Four depths as dense heads take them."""
    return Only(model, lambda inner, image: tuple(inner.forward_intermediates(
        image, indices=range(DEPTH), norm=norm, output_fmt="NLC", intermediates_only=True)))


def output(model, *names):
    """These of a result's fields, in this order."""
    def pick(inner, image):
        result = inner(image)
        found = tuple(result[name] if isinstance(result, dict) else getattr(result, name) for name in names)
        return found if len(found) > 1 else found[0]
    return Only(model, pick)


def method(model, name, **options):
    return Only(model, lambda inner, image: getattr(inner, name)(image, **options))


def tiny_config(config, **more):
    """The configuration of transformers with the tiny sizes that it knows."""
    known = inspect.signature(config.__init__).parameters
    names = set(known) | set(getattr(config, "__annotations__", {})) | set(dir(config))
    return config(**{k: v for k, v in TINY_HF.items() if k in names} | more)


def unmasked(eomt):
    """Without masked attention, which is for training: a list is a constant for both exporters, a buffer is not."""
    blocks = len(eomt.attn_mask_probs)
    del eomt.attn_mask_probs
    eomt.attn_mask_probs = [0.0] * blocks
    return eomt


class with_argument(nn.Module):
    def __init__(self, only, **arguments):
        super().__init__()
        self.model, self.pick, self.arguments = only.model, only.pick, arguments

    def forward(self, image):
        return self.pick(lambda given: self.model(given, **self.arguments), image)


class Joint(nn.Module):
    """Texts and an image, as the whole model takes them; `extra` are the texts."""

    def __init__(self, model, field):
        super().__init__()
        self.model, self.field = model, field
        self.extra = {"input_ids": torch.randint(3, 60, (2, 8)), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
        self.outputs = ["text_embeds", field]

    def forward(self, input_ids, attention_mask, pixel_values):
        result = self.model(input_ids=input_ids, pixel_values=pixel_values, attention_mask=attention_mask)
        return result.text_embeds, result[self.field]


def joint(model, config, field="image_embeds", wrap=True):
    text = dict(hidden_size=WIDTH, num_hidden_layers=1, num_attention_heads=1, intermediate_size=16, vocab_size=64,
                max_position_embeddings=16, projection_size=WIDTH)
    vision = dict(TINY_HF)
    made = model(config(text_config=text, vision_config=vision, projection_dim=WIDTH))
    return Joint(made, field) if wrap else made


class OwnExport:
    """A package's command that writes ONNX."""

    def __init__(self, module, write):
        self.module, self.write = module, write


def lightly_eomt(backbone):
    import importlib
    patch = {"dinov2": 14, "dinov3": 16}[backbone]
    module = importlib.import_module(f"lightly_train._task_models.{backbone}_eomt_semantic_segmentation.task_model")
    kind = {"dinov2": "DINOv2", "dinov3": "DINOv3"}[backbone]
    made = getattr(module, f"{kind}EoMTSemanticSegmentation")(
        model_name=f"{backbone}/_vittest{patch}-eomt", classes={0: "a", 1: "b", 5: "c"}, class_ignore_index=None,
        image_size=(4 * patch, 4 * patch), image_normalize={"mean": (0.4, 0.4, 0.4), "std": (0.2, 0.2, 0.2)}, num_queries=6,
        num_joint_blocks=1, load_weights=False)
    return OwnExport(made, lambda path: made.export_onnx(path, verify=False))


def lightly_classes():
    from lightly_train._task_models.image_classification.task_model import ImageClassification
    made = ImageClassification(model="dinov3/_vittest16", classes={0: "a", 1: "b", 5: "c"}, classification_task="multiclass",
                               image_size=(64, 64), image_normalize={"mean": (0.4, 0.4, 0.4), "std": (0.2, 0.2, 0.2)},
                               backbone_freeze=False, load_weights=False)
    return OwnExport(made, lambda path: made.export_onnx(path, verify=False))


def lightly_model(name, **options):
    """LTDETR: bilinear sampling spelled out, without GridSample."""
    from lightly_train._task_models.ltdetr_object_detection.task_model import LTDETRObjectDetection
    return LTDETRObjectDetection(model_name=name, classes={0: "a", 1: "b", 5: "c"}, image_size=(224, 224),
                                 image_normalize={"mean": (0.4, 0.4, 0.4), "std": (0.2, 0.2, 0.2)}, load_weights=False, **options)


def lightly_detector(name, **options):
    made = lightly_model(name, **options)
    return OwnExport(made, lambda path: made.export_onnx(path, dynamic_batch_size=False, verify=False))


def libreyolo_detector(name, size, **options):
    made = drawn_libreyolo(name, size)
    return OwnExport(made.model, lambda path: made.export("onnx", output_path=str(path), **options))


def block_of(page, heading):
    """The block below a heading, as guide() runs it."""
    text = (pathlib.Path(__file__).parents[2] / page).read_text()
    part = text[text.index(f"\n## {heading}\n"):]
    return re.search(r"```python export\n(.*?)```", part, re.S)[1]


def tiny_rfdetr():
    from rfdetr import RFDETRNano
    made = RFDETRNano(pretrain_weights=None, device="cpu", num_queries=10, num_select=10)
    draw(made.model.model)
    return made


def drawn_ltdetr(name):
    made = lightly_model(name.replace("-ltdetr-coco", "-notpretrained-ltdetr"))
    draw(made)
    return made


def drawn_libreyolo(name, size):
    import libreyolo
    made = getattr(libreyolo, name)(None, size=size, device="cpu")
    draw(made.model)
    made.export = functools.partial(made.export, imgsz=192)
    return made


LOADERS = {r"RFDETRNano\(\)": "models.tiny_rfdetr()", r"lightly_train\.load_model\(": "models.drawn_ltdetr(",
           r'(Libre\w+)\("\w+\.pt", size="(\w+)"\)': r'models.drawn_libreyolo("\1", "\2")'}


def guide(page, blocks=1, heading="", **config):
    """The page's first blocks that are marked `python export`, or the block below a heading, as a program. Only the loaders are
    replaced: they give tiny models with drawn weights."""
    import timm
    import transformers
    text = (pathlib.Path(__file__).parents[2] / page).read_text()
    program = "\n".join(re.findall(r"```python export\n(.*?)```", text, re.S)[:blocks])
    if heading:
        program = block_of(page, heading)
    for loader, tiny_model in LOADERS.items():
        program = re.sub(loader, tiny_model, program)
    create = timm.create_model
    tiny = {name: TINY_TIMM[name] for name in ("embed_dim", "depth", "num_heads")}

    def from_pretrained(model, _):
        return draw(model(tiny_config(model.config_class, **config)))

    def write(path):
        def create_model(name, **more):
            return draw(create(name, **more | tiny | {"pretrained": False}))

        with unittest.mock.patch("timm.create_model", create_model), unittest.mock.patch.object(
                transformers.PreTrainedModel, "from_pretrained", classmethod(from_pretrained)), contextlib.chdir(path.parent):
            exec(program, {"models": sys.modules[__name__]})
            name = re.findall(r'"(\w+\.onnx)"', program)[-1]
            onnx.save(onnx.load(name), path)
    return OwnExport(nn.Module(), write)


def rfdetr_nano(**options):
    from rfdetr import RFDETRNano
    made = RFDETRNano(pretrain_weights=None, device="cpu", num_queries=10, num_select=10)

    def write(path):
        made.export(output_dir=str(path.parent), shape=(128, 128), verbose=False, output_name="model", **options)
    return OwnExport(made.model.model, write)


def scale_of(parameter):
    fan_in = parameter[0].numel()
    return 1.2 / fan_in ** 0.5


def draw(model, seed=1):
    """Normal weights: products keep the size of their input, norms and layer scales are near 1, biases and tokens small."""
    generator = torch.Generator().manual_seed(seed)
    tokens = ("pos", "cls", "token", "query", "queries", "embed", "bias_table", "latent")
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator).to(p.dtype)
            last = name.rsplit(".", 1)[-1]
            if last in ("up", "reg_scale"):  # D-FINE's heads: constants that define the bins
                continue
            if any(word in last for word in tokens) or p.dim() == 0:
                p.copy_(0.3 * noise if p.dim() else p)
            elif p.dim() > 1 and min(p.shape[1:]) > 0 and p[0].numel() > 1:
                p.copy_(scale_of(p) * noise)
            elif "bias" in last:
                p.copy_(0.1 * noise)
            else:
                p.copy_(0.8 + 0.1 * noise)
        for module in model.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
                module.running_mean.copy_(0.2 * torch.randn(module.running_mean.shape, generator=generator))
                module.running_var.copy_(0.5 + torch.rand(module.running_var.shape, generator=generator))
            if isinstance(module, nn.Conv2d) and module.out_channels == 1 and module.bias is not None:
                module.bias.add_(1)  # a depth is at least 0: without this, a random model's may all be 0
    return model.eval()
