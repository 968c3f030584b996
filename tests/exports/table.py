"""The exports that are tried: models of the packages that people install, how each is exported, and the wanted blocks."""
import types
from dataclasses import dataclass, field


@dataclass
class Row:
    """`call` makes the model, with the names of packages() below. `how`: "default" or "script", the exporter; then opsetN,
    batch and dynamic (a dynamic batch or image size), f16, and treatments of the file. `blocks`: that are found; 0 if the
    export is rejected, for `reason`, a part of the message."""
    name: str
    call: str
    how: str = "default"
    blocks: int = 4
    remark: str = ""
    reason: str = ""
    instead: str = ""
    size: tuple = (48, 48)
    run_at: tuple = ()  # another size, by --size
    outputs: list = field(default_factory=list)  # by --outputs
    options: str = ""  # of mpm convert


def packages():
    """What a row's call may use; imported here, as an environment need not have all."""
    import importlib
    import models
    names = {name: getattr(models, name) for name in dir(models) if not name.startswith("_")}
    for short, name in (("timm", "timm"), ("torchvision", "torchvision"), ("hf", "transformers"), ("open_clip", "open_clip"),
                        ("smp", "segmentation_models_pytorch")):
        try:
            names[short] = importlib.import_module(name)
        except ImportError:
            pass
    return types.SimpleNamespace(**names)


def vit(name="vit_small_patch16_224", of="features({})"):
    return of.format(f'timm.create_model("{name}", **TINY_TIMM)')


def face(model, config, of="{}", arguments="", **options):
    """transformers' MODEL of CONFIG; `options` in the configuration, as text."""
    more = "".join(f", {name}={value}" for name, value in options.items())
    return of.format(f"hf.{model}(tiny_config(hf.{config}{more}){arguments})")


NO_POOLING = ", add_pooling_layer=False"
TOKENS = 'output({}, "last_hidden_state")'
LOGITS = 'output({}, "logits")'
TAPPED = ("tiny_config(hf.Dinov2Config, mlp_ratio=2, out_indices=[1, 2, 3, 4], apply_layernorm=True, "
          "reshape_hidden_states={})")
DPT = dict(backbone_out_indices="[0, 1, 2, 3]", neck_hidden_sizes="[16, 16, 32, 32]", fusion_hidden_size=16, is_hybrid=False)
DEPTH_ANYTHING = ("output(hf.DepthAnythingForDepthEstimation(hf.DepthAnythingConfig(backbone_config=" + TAPPED.format(False) +
                  ", reassemble_hidden_size=32, patch_size=8, neck_hidden_sizes=[16, 16, 32, 32], fusion_hidden_size=16, "
                  'head_hidden_size=8)), "predicted_depth")')
UPERNET = ("output(hf.UperNetForSemanticSegmentation(hf.UperNetConfig(backbone_config=" + TAPPED.format(True) +
           ', hidden_size=32, pool_scales=[1, 2, 3, 6], use_auxiliary_head=False, num_labels=7)), "logits")')
MASK2FORMER = ("output(hf.Mask2FormerForUniversalSegmentation(hf.Mask2FormerConfig(backbone_config=" + TAPPED.format(True) +
               ", feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=32, encoder_layers=2, "
               "decoder_layers=4, num_attention_heads=2, dim_feedforward=32, num_queries=5, num_labels=7)), "
               '"masks_queries_logits", "class_queries_logits")')
EOMT = "unmasked(hf.{}ForUniversalSegmentation(tiny_config(hf.{}Config, num_blocks=2, num_queries=6, num_upscale_blocks=1{})))"
MASKS = 'output({}, "masks_queries_logits", "class_queries_logits")'
VITPOSE = ("output(hf.VitPoseForPoseEstimation(hf.VitPoseConfig(backbone_config=tiny_config(hf.VitPoseBackboneConfig, "
           'image_size=[96, 64], patch_size=[8, 8], mlp_ratio=2{}), num_labels=5)), "heatmaps")')
TORCHVISION = "torchvision.models.VisionTransformer(48, 8, 4, 2, 32, 64, num_classes=8)"
OPEN_CLIP = ("method(open_clip.CLIP(32, dict(layers=4, width=32, head_width=16, patch_size=8, image_size=48{}), "
             'dict(context_length=8, vocab_size=64, width=16, heads=1, layers=1)), "encode_image")')

EOMT_SIZES = "image_size=512, patch_size=16, num_blocks=2, num_queries=6, num_upscale_blocks=1, mlp_ratio=2"


def which(name, heading, size, config="", **more):
    """A block of the page about models."""
    return Row(f"guide_which_{name}", f'guide("docs/guide/which_model.md", 1, "{heading}"{config})', size=(size, size), **more)


ROWS = [
    # The blocks of README and the guides.
    Row("guide_readme", 'guide("README.md")', "default", size=(512, 512)),
    Row("guide_convert", 'guide("docs/guide/convert.md")', "default batch", size=(512, 512)),
    Row("guide_convert_script", 'guide("docs/guide/convert.md", 2)', "script opset17 batch", size=(512, 512)),
    Row("guide_eomt", f'guide("docs/guide/eomt.md", 1, {EOMT_SIZES})', "default batch", outputs=["masks", "classes"],
        size=(512, 512)),
    Row("guide_eomt_script", f'guide("docs/guide/eomt.md", 2, {EOMT_SIZES})', "script opset17 batch",
        outputs=["masks", "classes"], size=(512, 512)),
    Row("guide_detector_ltdetr", 'guide("docs/guide/detector.md", 1)', "own", 12, size=(224, 224)),
    Row("guide_detector_deimv2", 'guide("docs/guide/detector.md", 2)', "own", 12, size=(192, 192)),
    Row("guide_detector_lwdetr", 'guide("docs/guide/detector.md", 3)', "own", 6, size=(192, 192)),
    # The page about models.
    which("vit", "ViT", 224),
    which("deit3", "DeiT-3", 384),
    which("dinov2", "DINOv2", 518, ", mlp_ratio=2, image_size=518, patch_size=14", outputs=["tokens"]),
    which("dinov3", "DINOv3", 512),
    which("eva02", "EVA-02", 336),
    which("clip", "CLIP", 224, ", image_size=224, patch_size=16", outputs=["image_embeds"]),
    which("siglip", "SigLIP", 384, ", image_size=384, patch_size=16", outputs=["pooled"]),
    which("depth", "Depth Anything", 518, f", patch_size=14, backbone_config={TAPPED.format('False, image_size=518, patch_size=14')}, "
          "reassemble_hidden_size=32, "
          "neck_hidden_sizes=[16, 16, 32, 32], fusion_hidden_size=16, head_hidden_size=8"),
    which("rfdetr", "RF-DETR", 384, blocks=12),
    # A model in every way.
    Row("timm_vit", vit()),
    Row("timm_vit_batch", vit(), "default batch"),
    Row("timm_vit_dynamic", 'features(timm.create_model("vit_small_patch16_224", dynamic_img_size=True, **TINY_TIMM))',
        "default dynamic", run_at=(48, 64)),
    Row("timm_vit_opset17", vit(), "default opset17"),
    Row("timm_vit_script", vit(), "script opset17"),
    Row("timm_vit_script14", vit(), "script opset14 batch"),
    Row("timm_vit_f16", vit(), "default f16"),
    Row("timm_vit_onnxsim", vit(), "default onnxsim"),
    Row("timm_vit_onnxslim", vit(), "default onnxslim"),
    Row("timm_vit_basic", vit(), "default ort=basic"),
    Row("timm_vit_extended", vit(), "default ort=extended"),
    Row("timm_vit_all", vit(), "default ort=all", 0, reason="original export",
        instead="nothing: convert the file that ONNX Runtime read, or save at level extended"),
    Row("timm_vit_ort_transformers", vit(), "default ort-transformers"),
    Row("timm_vit_taps", vit(of="taps({})")),
    Row("timm_vit_taps_script14", vit(of="taps({})"), "script opset14"),
    Row("timm_vit_taps_basic", vit(of="taps({})"), "script opset14 ort=basic"),
    Row("timm_vit_taps_onnxsim", vit(of="taps({})"), "script opset14 onnxsim"),
    Row("timm_vit_taps_onnxslim", vit(of="taps({})"), "script opset14 onnxslim"),
    Row("timm_dinov2_taps_extended", vit("vit_small_patch14_dinov2", "taps({})"), "script opset14 ort=extended"),
    # timm
    Row("timm_vit_classes", vit(of="{}")),
    Row("timm_deit_distilled", vit("deit_small_distilled_patch16_224")),
    Row("timm_deit3", vit("deit3_small_patch16_224")),
    Row("timm_dinov2_registers", vit("vit_small_patch14_reg4_dinov2")),
    Row("timm_dinov3", vit("vit_small_patch16_dinov3")),
    Row("timm_dinov3_taps", vit("vit_small_patch16_dinov3", "taps({})")),
    Row("timm_eva02", vit("eva02_small_patch14_224")),
    Row("timm_siglip", vit("vit_base_patch16_siglip_224", "{}")),
    Row("timm_clip", vit("vit_base_patch16_clip_224", "{}")),
    Row("timm_pe_core", vit("vit_pe_core_small_patch16_384", "{}")),
    Row("timm_rope_mixed", vit("vit_base_patch16_rope_mixed_224")),
    Row("timm_aimv2_taps", vit("aimv2_large_patch14_224", "taps({})")),
    Row("timm_xp", vit("vit_base_patch16_xp_224"), remark="parallel blocks, a bias on the hidden part only"),
    Row("timm_parallel", vit("vit_small_patch16_18x2_224"), blocks=0, reason="not added",
        instead="a model with one attention a block"),
    Row("timm_naflexvit", vit("naflexvit_base_patch16_gap", "{}")),
    Row("timm_beit3", vit("beit3_base_patch16_224")),
    Row("timm_beit", vit("beit_base_patch16_224"), blocks=0, reason="bias",
        instead="BEiT-3, EVA-02: absolute or rotary positions"),
    Row("timm_relpos", vit("vit_relpos_small_patch16_224"), blocks=0, reason="bias",
        instead="a model with absolute or rotary positions"),
    Row("timm_cait", vit("cait_xxs24_224"), blocks=0, reason="not supported", instead="DeiT-3: heads are not mixed"),
    Row("timm_samvit", vit("samvit_base_patch16"), "script opset17", 0, reason="window|relative",
        instead="a backbone without windows (ViT, DINOv2)"),
    Row("timm_swin", 'timm.create_model("swin_tiny_patch4_window7_224", img_size=56)', blocks=0, reason="bias|window",
        instead="a backbone without windows", size=(56, 56)),
    Row("timm_convnext", 'timm.create_model("convnext_atto")', blocks=0, reason="attention", instead="a ViT", size=(64, 64)),
    # transformers
    Row("hf_vit", face("ViTModel", "ViTConfig", TOKENS, NO_POOLING)),
    Row("hf_vit_classes", face("ViTForImageClassification", "ViTConfig", LOGITS, num_labels=5), "default batch"),
    Row("hf_deit", face("DeiTModel", "DeiTConfig", TOKENS, NO_POOLING)),
    Row("hf_dinov2", face("Dinov2Model", "Dinov2Config", TOKENS, mlp_ratio=2)),
    Row("hf_dinov2_size", face("Dinov2Model", "Dinov2Config", TOKENS, mlp_ratio=2, image_size=88), "script opset17 batch",
        run_at=(64, 80), remark="positions of 11x11 resized in the graph"),
    Row("hf_dinov2_dynamic", face("Dinov2Model", "Dinov2Config", TOKENS, mlp_ratio=2),
        "script opset17 dynamic batch", run_at=(48, 64)),
    Row("hf_dinov2_registers", face("Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", TOKENS, mlp_ratio=2)),
    Row("hf_dinov3", face("DINOv3ViTModel", "DINOv3ViTConfig", TOKENS, num_register_tokens=4)),
    Row("hf_siglip", face("SiglipVisionModel", "SiglipVisionConfig", TOKENS)),
    Row("hf_siglip_dynamic", face("SiglipVisionModel", "SiglipVisionConfig", TOKENS), "script opset17 dynamic",
        remark="the size of the position table is taken"),
    Row("hf_clip_vision", face("CLIPVisionModelWithProjection", "CLIPVisionConfig", 'output({}, "image_embeds")')),
    Row("hf_clip", "joint(hf.CLIPModel, hf.CLIPConfig)", outputs=["image_embeds"]),
    Row("hf_siglip_both", "joint(hf.SiglipModel, hf.SiglipConfig)", outputs=["image_embeds"]),
    Row("hf_owlv2", "joint(hf.Owlv2ForObjectDetection, hf.Owlv2Config, 'pred_boxes')", outputs=["pred_boxes"]),
    Row("hf_owlvit", "joint(hf.OwlViTForObjectDetection, hf.OwlViTConfig, 'pred_boxes')", outputs=["pred_boxes"]),
    Row("hf_ijepa", face("IJepaModel", "IJepaConfig", TOKENS, NO_POOLING)),
    Row("hf_aimv2", face("Aimv2VisionModel", "Aimv2VisionConfig", TOKENS)),
    Row("hf_yolos", face("YolosForObjectDetection", "YolosConfig", 'output({}, "logits", "pred_boxes")', image_size="[48, 48]",
                         num_detection_tokens=5)),
    Row("hf_dpt", face("DPTForDepthEstimation", "DPTConfig", 'output({}, "predicted_depth")', **DPT)),
    Row("hf_dpt_classes", face("DPTForSemanticSegmentation", "DPTConfig", LOGITS, num_labels=7, use_auxiliary_head=False, **DPT)),
    Row("hf_depth_anything", DEPTH_ANYTHING),
    Row("hf_depth_anything_onnxsim", DEPTH_ANYTHING, "script opset14 onnxsim"),
    Row("hf_upernet", UPERNET, remark="maps of 8x10, which 3 and 6 do not divide", size=(64, 80)),
    Row("hf_mask2former", MASK2FORMER),
    Row("hf_mask2former_script", MASK2FORMER, "script opset17"),
    Row("hf_eomt", MASKS.format(EOMT.format("Eomt", "Eomt", ", mlp_ratio=2"))),
    Row("hf_eomt_script", MASKS.format(EOMT.format("Eomt", "Eomt", ", mlp_ratio=2")), "script opset17 batch"),
    Row("hf_eomt_dinov3", MASKS.format(EOMT.format("EomtDinov3", "EomtDinov3", ", num_register_tokens=4"))),
    Row("hf_radio", face("RadioModel", "RadioConfig", 'output({}, "summary", "features")')),
    Row("hf_vitpose", VITPOSE.format(""), size=(96, 64)),
    Row("hf_vitpose_experts", 'with_argument(' + VITPOSE.format(", num_experts=3, part_features=8") +
        ', dataset_index=torch.tensor([1]))', size=(96, 64), remark="ViTPose++: the data set is fixed"),
    Row("hf_pixtral", face("PixtralVisionModel", "PixtralVisionConfig", TOKENS)),
    Row("hf_llama4", face("Llama4VisionModel", "Llama4VisionConfig", TOKENS, intermediate_size=128, projector_input_dim=32,
                          projector_output_dim=32, vision_output_dim=32)),
    Row("hf_tipsv2_depth", 'output(hf.Tipsv2DptForDepthEstimation(hf.Tipsv2DptConfig(backbone_config=tiny_config('
        'hf.Tipsv2VisionConfig, out_indices=[1, 2, 3, 4], reshape_hidden_states=False), '
        'neck_hidden_sizes=[16, 16, 32, 32], fusion_hidden_size=16, num_depth_bins=8)), "predicted_depth")'),
    Row("hf_sapiens2_taps", 'output(hf.Sapiens2Backbone(tiny_config(hf.Sapiens2Config, out_indices=[1, 2, 3, 4], '
        'reshape_hidden_states=False)), "feature_maps")'),
    Row("hf_tipsv2", face("Tipsv2VisionModel", "Tipsv2VisionConfig", TOKENS)),
    Row("hf_sapiens2", face("Sapiens2Model", "Sapiens2Config", TOKENS)),
    Row("hf_beit", face("BeitModel", "BeitConfig", TOKENS, use_relative_position_bias=True), blocks=0, reason="bias",
        instead="a model with absolute or rotary positions"),
    Row("hf_sam", face("SamVisionModel", "SamVisionConfig", TOKENS, global_attn_indexes="[1, 3]", window_size=3,
                       output_channels=16), blocks=0, reason="window|relative",
        instead="a backbone without windows (ViT, DINOv2)"),
    Row("hf_segformer", 'output(hf.SegformerModel(hf.SegformerConfig()), "last_hidden_state")', blocks=0, reason="cross-attention",
        instead="Segmenter, DPT or UPerNet on a ViT", size=(64, 64)),
    # others
    Row("torchvision_vit", TORCHVISION),
    Row("torchvision_vit_extended", TORCHVISION, "default ort=extended"),
    Row("torchvision_swin", "torchvision.models.swin_t()", blocks=0, reason="bias|window", instead="vit_b_16", size=(64, 64)),
    Row("open_clip_vit", OPEN_CLIP.format("")),
    Row("open_clip_pooled", OPEN_CLIP.format(", attentional_pool=True, attn_pooler_heads=2")),
    Row("smp_dpt", "smp.DPT('tu-vit_tiny_patch16_224', encoder_weights=None, classes=3)", blocks=12, size=(224, 224)),
    Row("smp_segformer", "smp.Segformer('mit_b0', encoder_weights=None)", blocks=0, reason="cross-attention",
        instead="`smp.DPT` on a ViT", size=(64, 64)),
    Row("lightly_eomt", "lightly_eomt('dinov2')", "own batch", 3, size=(56, 56), options="--blocks 1"),
    Row("lightly_eomt_dinov3", "lightly_eomt('dinov3')", "own batch", 2, size=(64, 64), options="--blocks 1"),
    Row("lightly_classes", "lightly_classes()", "own batch", 2, size=(64, 64), options="--blocks 1"),
    Row("lightly_ltdetr", "lightly_detector('dinov2/_vittest14-ltdetr', decoder_name='rtdetrv2')", "own", 3, size=(224, 224)),
    Row("lightly_ltdetr_dfine", "lightly_detector('dinov2/_vittest14-ltdetr', decoder_name='dfine')", "own", 3, size=(224, 224)),
    Row("lightly_ltdetr_v2", "lightly_detector('dinov2/_vittest14-ltdetrv2')", "own", 3, size=(224, 224)),
    Row("lightly_ltdetr_dinov3", "lightly_detector('dinov3/vitt16-notpretrained-ltdetr')", "own", 12, size=(224, 224)),
    Row("libreyolo_deimv2", "libreyolo_detector('LibreDEIMv2', 's')", "own onnxsim", 12, size=(192, 192), options="--batch 1"),
    Row("libreyolo_lwdetr", "libreyolo_detector('LibreLWDETR', 't', simplify=False)", "own", 6, size=(192, 192)),
    Row("libreyolo_ec", "libreyolo_detector('LibreEC', 's')", "own onnxsim", 12, size=(192, 192), options="--batch 1"),
    Row("rfdetr_nano", "rfdetr_nano()", "own", 12, "windows and the choice of proposals", size=(128, 128)),
    # optimum, with another version of transformers
    Row("optimum_vit", face("ViTForImageClassification", "ViTConfig", num_labels=5), "optimum task=image-classification"),
    Row("optimum_dinov2", face("Dinov2Model", "Dinov2Config", mlp_ratio=2), "optimum task=feature-extraction", run_at=(48, 48)),
    Row("optimum_clip", "joint(hf.CLIPModel, hf.CLIPConfig, wrap=False)", "optimum task=zero-shot-image-classification",
        outputs=["image_embeds"]),
    Row("optimum_siglip", face("SiglipVisionModel", "SiglipVisionConfig"), "optimum task=feature-extraction"),
    Row("optimum_dpt", face("DPTForDepthEstimation", "DPTConfig", **DPT), "optimum task=depth-estimation", run_at=(48, 48)),
    Row("optimum_yolos", face("YolosForObjectDetection", "YolosConfig", image_size="[48, 48]", num_detection_tokens=5),
        "optimum task=object-detection", run_at=(48, 48)),
]
