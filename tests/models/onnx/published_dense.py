"""UPerNet on a plain ViT and Depth Anything v2, for make_published_exports.py."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from published_parts import CLASSES, DEPTH, DIM, HEADS, TAPS, Published, TimmBlock, as_map, mlp


# ---- UPerNet, as mmseg builds it on a plain ViT ----

def conv_module(inputs, outputs, kernel):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


def resized(x, size):
    return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class LibraryBlock(nn.Module):
    """nn.MultiheadAttention with tokens first inside, as mmcv calls it."""

    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn, self.ffn = nn.MultiheadAttention(DIM, HEADS), mlp()

    def forward(self, x, stream):
        y = self.ln1(x).transpose(0, 1)
        x = x + self.attn(y, y, y)[0].transpose(0, 1)
        return x + self.ffn(self.ln2(x))


class MultiLevelNeck(nn.Module):
    """A 1x1 convolution, a resize and a 3x3 convolution for each depth."""

    def __init__(self):
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(DIM, DIM, 1) for _ in TAPS])
        self.convs = nn.ModuleList([nn.Conv2d(DIM, DIM, 3, padding=1) for _ in TAPS])

    def forward(self, maps):
        return [conv(F.interpolate(lateral(m), scale_factor=scale, mode="bilinear"))
                for conv, lateral, m, scale in zip(self.convs, self.lateral, maps, (4, 2, 1, 0.5))]


class Feature2Pyramid(nn.Module):
    """Transposed convolutions upwards, pooling downwards."""

    def __init__(self):
        super().__init__()
        self.up4 = nn.Sequential(nn.ConvTranspose2d(DIM, DIM, 2, 2), nn.BatchNorm2d(DIM), nn.GELU(), nn.ConvTranspose2d(DIM, DIM, 2, 2))
        self.up2, self.down2 = nn.ConvTranspose2d(DIM, DIM, 2, 2), nn.MaxPool2d(2, 2)

    def forward(self, maps):
        return [self.up4(maps[0]), self.up2(maps[1]), maps[2], self.down2(maps[3])]


def pool_evenly(x, count):
    """As deployments rewrite it: windows of equal size, cut off if they do not divide the map."""
    if count == 1:
        return F.adaptive_avg_pool2d(x, 1)
    return F.avg_pool2d(x, [max(1, int(s) // count) for s in x.shape[2:]])


def pool_by_slices(x, count):
    """As workarounds for the exporter write it: the mean of each window by itself."""
    def ends(size, k):
        return k * size // count, -(-(k + 1) * size // count)

    h, w = (int(s) for s in x.shape[2:])
    rows = []
    for top, bottom in (ends(h, k) for k in range(count)):
        cells = [x[:, :, top:bottom, left:right].mean((2, 3), keepdim=True) for left, right in (ends(w, k) for k in range(count))]
        rows.append(torch.cat(cells, 3))
    return torch.cat(rows, 2)


def pool_by_index(x, count):
    """As PyTorch decomposes it: every window's pixels by index, those behind the end masked, a sum, a division."""
    def window(size):
        start = torch.arange(count) * size // count
        length = -(-(torch.arange(count) + 1) * size // count) - start
        at = start[:, None] + torch.arange(int(length.max()))
        return at.clamp(max=size - 1), length, torch.arange(int(length.max())) >= length[:, None]

    (at_y, high, past_y), (at_x, wide, past_x) = window(int(x.shape[2])), window(int(x.shape[3]))
    windows = x[..., at_y[:, :, None, None], at_x]
    windows = windows.masked_fill(past_y[:, :, None, None], 0.0).masked_fill(past_x, 0.0)
    return windows.sum((-3, -1)) / (high[:, None] * wide)


class UperHead(nn.Module):
    """Pyramid pooling of the last map, a feature pyramid from there downwards, all levels fused."""

    def __init__(self, pool, channels=16):
        super().__init__()
        self.pool = pool
        self.psp = nn.ModuleList([conv_module(DIM, channels, 1) for _ in (1, 2, 3, 6)])
        self.bottleneck = conv_module(DIM + 4 * channels, channels, 3)
        self.lateral = nn.ModuleList([conv_module(DIM, channels, 1) for _ in range(3)])
        self.fpn = nn.ModuleList([conv_module(channels, channels, 3) for _ in range(3)])
        self.fuse, self.cls_seg = conv_module(4 * channels, channels, 3), nn.Conv2d(channels, CLASSES, 1)

    def forward(self, maps):
        top = maps[-1]
        pooled = [resized(conv(self.pool(top, count)), top.shape[2:]) for conv, count in zip(self.psp, (1, 2, 3, 6))]
        laterals = [conv(m) for conv, m in zip(self.lateral, maps)] + [self.bottleneck(torch.cat([top, *pooled], 1))]
        for k in (3, 2, 1):
            laterals[k - 1] = laterals[k - 1] + resized(laterals[k], laterals[k - 1].shape[2:])
        outs = [conv(m) for conv, m in zip(self.fpn, laterals)] + [laterals[3]]
        outs = outs[:1] + [resized(m, outs[0].shape[2:]) for m in outs[1:]]
        return self.cls_seg(self.fuse(torch.cat(outs, 1)))


class Upernet(Published):
    """Grid 12x12: the last map has 6x6 pixels, which 1, 2, 3 and 6 divide, as PyTorch 1.13 can export."""

    def __init__(self, neck, pool=F.adaptive_avg_pool2d, size=(96, 96), scores=False):
        super().__init__()
        self.size, self.scores = size, scores
        h, w = self.grid()
        self.embed = nn.Conv2d(3, DIM, self.patch, self.patch)
        self.cls_token, self.pos_embed = nn.Parameter(torch.randn(1, 1, DIM)), nn.Parameter(torch.randn(1, h * w + 1, DIM))
        self.blocks = nn.ModuleList([LibraryBlock() for _ in range(DEPTH)])
        self.neck, self.head = neck(), UperHead(pool)

    def run(self, image, schedule=()):
        x = self.embed(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(image.shape[0], -1, -1), x), dim=1) + self.pos_embed
        stream, tapped = self.through(x, 1, schedule)
        maps = [as_map(t[:, 1:], *self.grid()) for t in tapped]
        logits = resized(self.head(self.neck(maps)), image.shape[2:])
        return logits.softmax(1) if self.scores else logits, stream.map


# ---- Depth Anything v2 ----

class ResidualConvUnit(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(features, features, 3, 1, 1), nn.Conv2d(features, features, 3, 1, 1)
        self.act = nn.ReLU(False)

    def forward(self, x):
        return self.conv2(self.act(self.conv1(self.act(x)))) + x


class FusionBlock(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.out_conv, self.unit1, self.unit2 = nn.Conv2d(features, features, 1), ResidualConvUnit(features), ResidualConvUnit(features)

    def forward(self, x, skip=None, size=None):
        x = self.unit2(x if skip is None else x + self.unit1(skip))
        to = {"scale_factor": 2} if size is None else {"size": size}
        return self.out_conv(F.interpolate(x, **to, mode="bilinear", align_corners=True))


class DptHead(nn.Module):
    def __init__(self, patch, readout, widths=(12, 16, 24, 32), features=16):
        super().__init__()
        self.patch, (a, b, _, d) = patch, widths
        self.projects = nn.ModuleList([nn.Conv2d(DIM, width, 1) for width in widths])
        self.resize = nn.ModuleList([nn.ConvTranspose2d(a, a, 4, 4), nn.ConvTranspose2d(b, b, 2, 2), nn.Identity(), nn.Conv2d(d, d, 3, 2, 1)])
        self.readout = nn.ModuleList([nn.Sequential(nn.Linear(2 * DIM, DIM), nn.GELU()) for _ in widths]) if readout else None
        self.rn = nn.ModuleList([nn.Conv2d(width, features, 3, 1, 1, bias=False) for width in widths])
        self.refine = nn.ModuleList([FusionBlock(features) for _ in widths])
        self.output1 = nn.Conv2d(features, features // 2, 3, 1, 1)
        self.output2 = nn.Sequential(nn.Conv2d(features // 2, 8, 3, 1, 1), nn.ReLU(True), nn.Conv2d(8, 1, 1), nn.ReLU(True), nn.Identity())
        nn.init.constant_(self.output2[2].bias, 1)  # otherwise the ReLU could set all depths to 0

    def forward(self, tapped, h, w):
        maps = []
        for k, (x, cls) in enumerate(tapped):
            if self.readout is not None:
                x = self.readout[k](torch.cat((x, cls.unsqueeze(1).expand_as(x)), -1))
            x = x.permute(0, 2, 1).reshape((x.shape[0], x.shape[-1], h, w))
            maps.append(self.rn[k](self.resize[k](self.projects[k](x))))
        path = self.refine[3](maps[3], size=maps[2].shape[2:])
        path = self.refine[2](path, maps[2], size=maps[1].shape[2:])
        path = self.refine[1](path, maps[1], size=maps[0].shape[2:])
        path = self.refine[0](path, maps[0])
        out = F.interpolate(self.output1(path), (int(h * self.patch), int(w * self.patch)), mode="bilinear", align_corners=True)
        return self.output2(out)


class DepthAnything(Published):
    """DINOv2, whose positions of a square grid are resized in the graph, and a DPT head. A depth for each pixel."""

    size, patch, trained = (84, 112), 14, 5

    def __init__(self, readout=False):
        super().__init__()
        self.embed = nn.Conv2d(3, DIM, self.patch, self.patch)
        self.cls_token = nn.Parameter(torch.randn(1, 1, DIM))
        self.pos_embed = nn.Parameter(torch.randn(1, self.trained ** 2 + 1, DIM))
        self.blocks, self.norm = nn.ModuleList([TimmBlock(scaled=True) for _ in range(DEPTH)]), nn.LayerNorm(DIM, 1e-6)
        self.depth_head = DptHead(self.patch, readout)

    def positions(self, h, w):
        root = self.trained
        grid = self.pos_embed[:, 1:].reshape(1, root, root, DIM).permute(0, 3, 1, 2)
        scale = (float(h + 0.1) / root, float(w + 0.1) / root)
        grid = F.interpolate(grid, scale_factor=scale, mode="bicubic", antialias=False)
        return torch.cat((self.pos_embed[:, :1], grid.permute(0, 2, 3, 1).view(1, -1, DIM)), dim=1)

    def run(self, image, schedule=()):
        h, w = image.shape[-2] // self.patch, image.shape[-1] // self.patch
        x = self.embed(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(image.shape[0], -1, -1), x), dim=1) + self.positions(h, w)
        stream, tapped = self.through(x, 1, schedule)
        tapped = [self.norm(t) for t in tapped]
        return F.relu(self.depth_head([(t[:, 1:], t[:, 0]) for t in tapped], h, w)).squeeze(1), stream.map
