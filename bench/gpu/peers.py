"""Encoders in PyTorch: an f64 reference for our encoder, and the models that ours must beat in speed."""

import numpy as np
import torch
import torch.nn.functional as F

SIZES = {"tiny": (192, 3, 12), "small": (384, 6, 12), "base": (768, 12, 12), "large": (1024, 16, 24)}


def random_weights(dim, blocks, seed=0):
    """Returns random weights, scaled so that every layer affects the result."""
    r = np.random.default_rng(seed)
    normal = lambda *shape: r.standard_normal(shape, dtype=np.float32)
    weights = {}

    def linear(name, depth, columns):
        weights[name + ".weight"] = np.ascontiguousarray(normal(depth, columns) * depth ** -0.5)
        weights[name + ".bias"] = normal(columns) * 0.1

    def norm(name):
        weights[name + ".weight"] = 1 + normal(dim) * 0.1
        weights[name + ".bias"] = normal(dim) * 0.1

    for i in range(blocks):
        norm(f"{i}.norm1"), norm(f"{i}.norm2")
        linear(f"{i}.qkv", dim, 3 * dim), linear(f"{i}.proj", dim, dim)
        linear(f"{i}.fc1", dim, 4 * dim), linear(f"{i}.fc2", 4 * dim, dim)
    norm("norm")
    return weights


def picture_tokens(images, rows, dim, seed=0):
    """Returns tokens that resemble their neighbours, in some images more than in others, so that unequal numbers remain."""
    r = np.random.default_rng(seed)
    drift = r.standard_normal((images, rows, dim), dtype=np.float32)
    for t in range(1, rows):
        drift[:, t] = 0.9 * drift[:, t - 1] + 0.4 * drift[:, t]
    noise = r.uniform(0.1, 1.0, (images, 1, 1)).astype(np.float32)
    return np.ascontiguousarray(drift + noise * 0.3 * r.standard_normal((images, rows, dim), dtype=np.float32))


class Vit(torch.nn.Module):
    def __init__(self, weights, heads, blocks):
        super().__init__()
        self.heads, self.blocks = heads, blocks
        for name, value in weights.items():
            tensor = torch.from_numpy(value)
            # PyTorch's linear layers hold their weights transposed.
            self.register_buffer(name.replace(".", "_"), tensor.t().contiguous() if tensor.dim() == 2 else tensor)

    def part(self, name):
        return getattr(self, name.replace(".", "_"))

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.part(name + ".weight"), self.part(name + ".bias"), 1e-6)

    def linear(self, x, name):
        return F.linear(x, self.part(name + ".weight"), self.part(name + ".bias"))

    def attention(self, x, i):
        b, n, d = x.shape
        qkv = self.linear(self.norm(x, f"{i}.norm1"), f"{i}.qkv")
        q, k, v = qkv.view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.linear(y.transpose(1, 2).reshape(b, n, d), f"{i}.proj")

    def mlp(self, x, i):
        return x + self.linear(F.gelu(self.linear(self.norm(x, f"{i}.norm2"), f"{i}.fc1")), f"{i}.fc2")

    def block(self, x, i):
        return self.mlp(self.attention(x, i), i)

    def forward(self, x):
        for i in range(self.blocks):
            x = self.block(x, i)
        return self.norm(x, "norm")


def wide(index, x):
    """Expands an index of tokens to an index of all their values."""
    return index[..., None].expand(-1, -1, x.shape[-1])


def ranks(index, first=0):
    """Returns, for each entry of a [B, K] index, its place in the row, counted from `first`."""
    return (torch.arange(index.shape[1], device=index.device) + first).expand_as(index).contiguous()


def bipartite(x, size, r):
    """Matches every second token with the most similar of the others, and merges the r best matches; means are weighted by
    size. Returns tokens, sizes, and the new place of each token."""
    unit = F.normalize(x, dim=-1)
    best, to = (unit[:, ::2] @ unit[:, 1::2].transpose(1, 2)).max(-1)
    order = best.argsort(-1, descending=True)
    gone, kept = order[:, :r], order[:, r:].sort(-1)[0]
    source, target, own = x[:, ::2], x[:, 1::2], size[:, ::2]
    into, weight = to.gather(1, gone), own.gather(1, gone)
    total = size[:, 1::2].scatter_add(1, into, weight)
    sums = (target * size[:, 1::2, None]).scatter_add(1, wide(into, x), source.gather(1, wide(gone, x)) * weight[..., None])
    place = torch.empty(x.shape[:2], dtype=torch.long, device=x.device)
    of_source = torch.empty_like(order)
    of_source.scatter_(1, kept, ranks(kept))
    of_source.scatter_(1, gone, into + kept.shape[1])
    place[:, ::2] = of_source
    place[:, 1::2] = torch.arange(target.shape[1], device=x.device) + kept.shape[1]
    return (torch.cat([source.gather(1, wide(kept, x)), sums / total[..., None]], 1),
            torch.cat([own.gather(1, kept), total], 1), place)


def windows(x, size, k):
    """ALGM's first merge: each of the k most uniform windows of 2 x 2 tokens becomes a token. x in raster
    order of a square grid. k replaces ALGM's threshold, so that shapes are fixed, which makes ALGM faster."""
    b, n, d = x.shape
    g = int(n ** 0.5)
    raster = torch.arange(n, device=x.device).view(g // 2, 2, g // 2, 2).permute(0, 2, 1, 3).reshape(-1, 4)
    cells = x[:, raster.flatten()].view(b, -1, 4, d)
    # The squared length of the sum is 4 plus twice the sum of the six cosines, so it ranks by similarity.
    alike = F.normalize(cells, dim=-1).sum(2).square().sum(-1)
    order = alike.argsort(-1, descending=True)
    merged, kept = order[:, :k], order[:, k:].sort(-1)[0]
    rest = cells.flatten(2).gather(1, wide(kept, cells.flatten(2))).view(b, -1, d)
    means = cells.mean(2).gather(1, wide(merged, x))
    of_window = torch.empty(*order.shape, 4, dtype=torch.long, device=x.device)
    inner = torch.arange(4, device=x.device)
    of_window.scatter_(1, kept[..., None].expand(-1, -1, 4), 4 * ranks(kept)[..., None] + inner)
    of_window.scatter_(1, merged[..., None].expand(-1, -1, 4),
                       ranks(merged, 4 * kept.shape[1])[..., None].expand(-1, -1, 4).contiguous())
    place = torch.empty(b, n, dtype=torch.long, device=x.device)
    place[:, raster.flatten()] = of_window.view(b, n)
    ones = size[:, :1].expand(-1, rest.shape[1])
    return torch.cat([rest, means], 1), torch.cat([ones, 4 * size[:, :1].expand(-1, k)], 1), place


class ReducingVit(Vit):
    """A Vit whose tokens are reduced between attention and MLP of some blocks, and restored at the end."""

    def __init__(self, weights, heads, blocks, reductions):
        super().__init__(weights, heads, blocks)
        self.reductions = reductions  # {block: (function, number)}; the function gets tokens, sizes and the number

    def forward(self, x):
        composed, size = None, torch.ones(x.shape[0], x.shape[1] - 1, dtype=x.dtype, device=x.device)
        for i in range(self.blocks):
            x = self.attention(x, i)
            if i in self.reductions:
                reduce, number = self.reductions[i]
                tokens, size, place = reduce(x[:, 1:], size, number)
                x = torch.cat([x[:, :1], tokens], 1)
                composed = place if composed is None else place.gather(1, composed)
            x = self.mlp(x, i)
        x = self.norm(x, "norm")
        if composed is None:
            return x
        return torch.cat([x[:, :1], x[:, 1:].gather(1, wide(composed, x[:, 1:]))], 1)


def tome(weights, heads, blocks, schedule, counts):
    """ToMe that leaves the same counts in the same blocks as ours. It compares tokens instead of keys. Its attention is not
    weighted, because weights would rule out the fast attention kernels."""
    return ReducingVit(weights, heads, blocks, {b: (bipartite, before - after) for b, before, after in
                                                zip(schedule, counts, counts[1:])})


def algm(weights, heads, blocks, counts):
    """ALGM that leaves the same counts, in the blocks of its paper: the first and the fifth (of 24 blocks: the seventh)."""
    k = round((counts[0] - counts[1]) / 3)
    second = 6 if blocks == 24 else 4
    return ReducingVit(weights, heads, blocks, {0: (windows, k), second: (bipartite, counts[0] - 3 * k - counts[2])})


def nearest(x):
    """Returns, for each row of an [N, D] tensor, the most similar other row, and its lead over the second most similar."""
    unit = x / x.norm(dim=-1, keepdim=True)
    s = unit @ unit.t()
    s.fill_diagonal_(-2)
    two = s.topk(min(2, s.shape[0]), dim=-1)[0]
    margin = two[:, 0] - two[:, 1] if two.shape[1] > 1 else torch.full_like(two[:, 0], 9)
    return s.argmax(-1), margin


def mutual_map(near):
    ids, count = [], 0
    near = near.tolist()
    for i, j in enumerate(near):
        if j < i and near[j] == i:
            ids.append(ids[j])
        else:
            ids.append(count)
            count += 1
    return ids


@torch.no_grad()
def reference(vit, tokens, schedule, maps):
    """Runs an image through an f64 Vit with the given maps. Returns the restored tokens and, for each stage, whether
    mutual pairs give the same map (None if similarities are too close for a verdict)."""
    x, composed, verdicts = tokens[None], None, []
    stage = 0
    for i in range(vit.blocks):
        if i in schedule:
            near, margin = nearest(x[0, 1:])
            ids = maps[stage]
            verdicts.append(mutual_map(near) == ids if margin.min() > 1e-5 else None)
            index = torch.tensor(ids, device=x.device)
            count = int(index.max()) + 1
            mean = torch.zeros(count, x.shape[-1], dtype=x.dtype, device=x.device)
            mean.index_add_(0, index, x[0, 1:])
            mean /= torch.bincount(index, minlength=count)[:, None]
            x = torch.cat([x[0, :1], mean])[None]
            composed = index if composed is None else index[composed]
            stage += 1
        x = vit.block(x, i)
    x = vit.norm(x, "norm")[0]
    return (x if composed is None else torch.cat([x[:1], x[1:][composed]])), verdicts
