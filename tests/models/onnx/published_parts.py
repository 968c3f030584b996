"""What the models of make_published_exports.py share."""
import torch
import torch.nn as nn

from make_exports import Tokens

DIM, HEADS, DEPTH, TAPS, CLASSES = 48, 3, 7, (1, 3, 4, 6), 5


def heads_of(x):
    return x.view(x.shape[0], x.shape[1], HEADS, DIM // HEADS).transpose(1, 2)


def attend(q, k, v):
    """Rows of attention, heads side by side."""
    y = (q @ k.transpose(-2, -1) * (DIM // HEADS) ** -0.5).softmax(-1) @ v
    return y.transpose(1, 2).reshape(q.shape[0], q.shape[2], DIM)


def as_map(rows, h, w):
    return rows.reshape(rows.shape[0], h, w, -1).permute(0, 3, 1, 2).contiguous()


def mlp(hidden=96):
    return nn.Sequential(nn.Linear(DIM, hidden), nn.GELU(), nn.Linear(hidden, DIM))


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.rand(DIM) + 0.5)

    def forward(self, x):
        return x * self.gamma


class Published(nn.Module):
    """Runs the blocks over the tokens, merges between them and restores at the end."""

    size, patch, taps = (64, 96), 8, TAPS

    def grid(self):
        return self.size[0] // self.patch, self.size[1] // self.patch

    def through(self, x, special, schedule, *context):
        stream, tapped = Tokens(x, special, schedule), []
        for k, block in enumerate(self.blocks):
            stream.before(k)
            stream.x = block(stream.x, stream, *context)
            if k in self.taps:
                tapped.append(stream.restored())
        return stream, tapped

    def forward(self, image):
        return self.run(image)[0]


class TimmBlock(nn.Module):
    """Packed queries, keys and values; layer scale if wanted."""

    def __init__(self, scaled=False, eps=1e-6):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM, eps), nn.LayerNorm(DIM, eps)
        self.qkv, self.proj, self.mlp = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM), mlp()
        self.ls1, self.ls2 = (Scale(), Scale()) if scaled else (nn.Identity(), nn.Identity())

    def forward(self, x, stream):
        b, n, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        x = x + self.ls1(self.proj(attend(q, k, v)))
        return x + self.ls2(self.mlp(self.norm2(x)))
