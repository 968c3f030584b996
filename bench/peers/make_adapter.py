#!/usr/bin/env python3
"""ViT-Adapter with a ViT-S and a Mask2Former decoder, all at their real size, with random weights, for timing beside other
runtimes.

    make_adapter.py OUT.onnx [SIZE]      SIZE: of the image, a multiple of 32 (default: 512)

384 channels, 12 blocks in four stages, 6 heads, 4 injectors and 6 extractors with convolutional MLPs; in the decoder 256
channels, 6 layers over three levels, a fine map at 1/4 of the image, 9 layers of 100 queries, 150 classes. The deformable
parts come from tests/models/onnx/make_decoder_exports.py with other constants. The injectors' gammas and the offsets are
not zero. Outputs: classes and masks of the queries. Needs torch and onnx (Debian: python3-torch python3-onnx).
"""
import sys

from make_eva import SCRIPTS, load

DIM, WIDE, QUERIES, CLASSES = 384, 256, 100, 150
STAGES = (2, 5, 8, 11)


def modules(size, dim, heads, hidden):
    """Loads the two scripts of the tests with other sizes; the second imports the first."""
    exports = load("make_exports", {
        "SIZE, PATCH, DIM, HEADS, DEPTH = (64, 96), 8, 48, 3, 7":
            f"SIZE, PATCH, DIM, HEADS, DEPTH = ({size}, {size}), 16, {dim}, 6, 12",
        "hidden=96": f"hidden={4 * dim}"})
    return exports, load("make_decoder_exports", {
        "HEADS, POINTS = 4, 4": f"HEADS, POINTS = {heads}, 4",
        "taps=(1, 3, 4, 6)": f"taps={STAGES}",
        "nn.Linear(DIM, 96), nn.ReLU(), nn.Linear(96, DIM)": f"nn.Linear(DIM, {hidden}), nn.ReLU(), nn.Linear({hidden}, DIM)"})


def build(size):
    exports, adapter = modules(size, DIM, 6, 96)
    pixels = modules(size, WIDE, 8, 1024)[1]
    queries = modules(size, WIDE, 8, 2048)[1]
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    rows_of, maps_of = adapter.rows_of, adapter.maps_of

    def conv(inputs, outputs, stride=1):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())

    class Pyramid(nn.Module):
        """Maps at 1/4 to 1/32 of the image's size."""

        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(conv(3, 64, 2), conv(64, 64), conv(64, 64), nn.MaxPool2d(3, 2, 1))
            self.next = nn.ModuleList([conv(64, 128, 2), conv(128, 256, 2), conv(256, 256, 2)])
            self.widen = nn.ModuleList([nn.Conv2d(inputs, DIM, 1) for inputs in (64, 128, 256, 256)])

        def forward(self, image):
            maps = [self.stem(image)]
            for step in self.next:
                maps.append(step(maps[-1]))
            return [widen(m) for widen, m in zip(self.widen, maps)]

    class Extractor(nn.Module):
        """The pyramid's rows sample the tokens; then follows an MLP, with a convolution of each level's map."""

        def __init__(self):
            super().__init__()
            self.query, self.source, self.norm = (nn.LayerNorm(DIM, 1e-6) for _ in range(3))
            self.collect = adapter.Deformable(1, DIM)
            self.fc1, self.fc2 = nn.Linear(DIM, DIM // 4), nn.Linear(DIM // 4, DIM)
            self.mix = nn.Conv2d(DIM // 4, DIM // 4, 3, 1, 1, groups=DIM // 4)

        def forward(self, c, places, tokens, grid, sizes):
            c = c + self.collect(self.query(c), places, self.source(tokens), [grid])
            mixed = rows_of([self.mix(m) for m in maps_of(self.fc1(self.norm(c)), sizes)])
            return c + self.fc2(F.gelu(mixed))

    class PixelDecoder(pixels.PixelDecoder):
        def __init__(self, sizes):
            super().__init__(sizes, layers=6)
            self.project = nn.ModuleList([nn.Sequential(nn.Conv2d(DIM, WIDE, 1), nn.GroupNorm(32, WIDE)) for _ in sizes])
            self.lateral = nn.Sequential(nn.Conv2d(DIM, WIDE, 1, bias=False), nn.GroupNorm(32, WIDE))
            self.smooth = nn.Sequential(nn.Conv2d(WIDE, WIDE, 3, 1, 1, bias=False), nn.GroupNorm(32, WIDE), nn.ReLU())
            self.fine = nn.Conv2d(WIDE, WIDE, 1)

        def forward(self, maps):
            x = rows_of([project(m) for project, m in zip(self.project, maps[1:])])
            for attend, norm1, mlp, norm2 in zip(self.attend, self.norm1, self.mlp, self.norm2):
                x = norm1(x + attend(x + self.position, self.places, x, self.sizes))
                x = norm2(x + mlp(x))
            levels, lateral = maps_of(x, self.sizes), self.lateral(maps[0])
            larger = F.interpolate(levels[0], size=lateral.shape[2:], mode="bilinear", align_corners=False)
            return levels, self.fine(self.smooth(lateral + larger))

    class Queries(nn.Module):
        """Layers of queries. Each layer reads the next level, inside the masks of the previous layer."""

        guard, mask_of, predict = "index", queries.Mask2Former.mask_of, queries.Mask2Former.predict

        def __init__(self, sizes, places):
            super().__init__()
            self.sizes = sizes
            self.queries, self.position = (nn.Parameter(torch.randn(1, QUERIES, WIDE)) for _ in range(2))
            self.level = nn.Parameter(torch.randn(3, WIDE))
            self.layers = nn.ModuleList([queries.MaskLayer() for _ in range(9)])
            self.last, self.classes = nn.LayerNorm(WIDE), nn.Linear(WIDE, CLASSES + 1)
            self.embed_masks = nn.Sequential(nn.Linear(WIDE, WIDE), nn.ReLU(), nn.Linear(WIDE, WIDE), nn.ReLU(),
                                             nn.Linear(WIDE, WIDE))
            self.register_buffer("where", torch.cos(torch.arange(WIDE) * 0.5 + 7 * places.sum(-1, keepdim=True)))

        def forward(self, levels, fine):
            places = self.where.split([r * c for r, c in self.sizes])
            q = self.queries.expand(fine.shape[0], -1, -1)
            classes, masks = self.predict(q, fine)
            for k, layer in enumerate(self.layers):
                level = 2 - k % 3
                source = levels[level].flatten(2).transpose(1, 2) + self.level[level]
                q = layer(q, self.position, source, places[level], self.mask_of(masks, self.sizes[level]))
                classes, masks = self.predict(q, fine)
            return classes, masks

    class Model(adapter.Injected):
        def __init__(self):
            super().__init__(exports.blocks())
            self.stem, self.query, self.source, self.collect = Pyramid(), None, None, None
            self.extract = nn.ModuleList([Extractor() for _ in range(len(STAGES) + 2)])
            self.pixels = PixelDecoder(self.sizes)
            self.decoder = Queries(self.sizes, self.places)

        def forward(self, image):
            x, pyramid = self.embed(image), self.stem(image)
            c, first, outs = rows_of([m + self.level[k, :, None, None] for k, m in enumerate(pyramid[1:])]), 0, []
            for stage, last in enumerate(STAGES):
                x = x + self.gamma[stage] * self.inject[stage](self.token[stage](x), self.own, self.pyramid_norm[stage](c),
                                                               self.sizes)
                for block in self.blocks[first:last + 1]:
                    x = block(x)
                for extract in self.extract[stage:] if last == STAGES[-1] else self.extract[stage:stage + 1]:
                    c = extract(c, self.places, x, self.grid, self.sizes)
                outs.append(x)
                first = last + 1
            maps = maps_of(c, self.sizes)
            maps = [pyramid[0] + self.up(maps[0])] + maps
            tokens = [maps_of(rows, [self.grid])[0] for rows in outs]
            resized = [F.interpolate(t, size=m.shape[2:], mode="bilinear", align_corners=False) if t.shape != m.shape else t
                       for t, m in zip(tokens, maps)]
            return self.decoder(*self.pixels([norm(m + t) for norm, m, t in zip(self.norms, maps, resized)]))

    torch.manual_seed(1)
    model = Model().eval()
    with torch.no_grad():
        # As with trained filters, patches of similar colours give similar tokens, so each merge leaves about three
        # quarters of the tokens.
        model.patch.weight.copy_((torch.randn(DIM, 3, 1, 1) * 0.05).expand_as(model.patch.weight))
        model.pos_embed.mul_(0.05)
        # A mask value near 0 may hide a place in one runtime but not in another. Random weights give more
        # such values than trained weights. Small weights limit how much such a place changes the later masks.
        for layer in model.decoder.layers:
            layer.cross.out_proj.weight.mul_(0.02)
        for norm in (m for m in model.modules() if isinstance(m, nn.BatchNorm2d)):
            norm.running_mean.normal_(0, 0.1)
            norm.running_var.uniform_(0.5, 1.5)
    return model


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    side = int(sys.argv[2]) if len(sys.argv) == 3 else 512
    sys.path.insert(0, str(SCRIPTS))
    made = build(side)
    import torch
    with torch.no_grad():
        torch.onnx.export(made, torch.randn(1, 3, side, side), sys.argv[1],
                          opset_version=18 if torch.__version__ >= "2" else 17, input_names=["image"],
                          output_names=["classes", "masks"], do_constant_folding=True)
