"""The models of inference_torch.py that transformers does not have, in torch.nn, as inference_models.exs and Bumblebee
have them. Images have their channels first here."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def group_norm(channels, eps=1e-5):
    return nn.GroupNorm(32, channels, eps=eps)


class Residual(nn.Module):
    """A residual block of the U-Net of Stable Diffusion, and of its decoder, which has no time."""

    def __init__(self, before, after, time=None, eps=1e-5):
        super().__init__()
        self.norm1, self.norm2 = group_norm(before, eps), group_norm(after, eps)
        self.conv1 = nn.Conv2d(before, after, 3, padding=1)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1)
        self.time = nn.Linear(time, after) if time else None
        self.shortcut = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, time=None):
        y = self.conv1(F.silu(self.norm1(x)))
        if self.time is not None:
            y = y + self.time(F.silu(time))[:, :, None, None]
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    def __init__(self, width, heads, context=None, bias=False):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width, bias=bias)
        self.k = nn.Linear(context or width, width, bias=bias)
        self.v = nn.Linear(context or width, width, bias=bias)
        self.out = nn.Linear(width, width)

    def forward(self, x, context=None):
        context = x if context is None else context
        q, k, v = (
            y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for y in (self.q(x), self.k(context), self.v(context))
        )
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class GEGLU(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner, self.outer = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x, gate = self.inner(x).chunk(2, dim=-1)
        return self.outer(x * F.gelu(gate))


class Transformer(nn.Module):
    """A spatial transformer: attention among the pixels, attention to the text, and a gated perceptron."""

    def __init__(self, width, heads, cross):
        super().__init__()
        self.norm = group_norm(width, 1e-6)
        self.enter, self.leave = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own = Attention(width, heads)
        self.other = Attention(width, heads, cross)
        self.gated = GEGLU(width)

    def forward(self, x, context):
        height, width = x.shape[-2:]
        y = self.enter(self.norm(x)).flatten(2).transpose(1, 2)
        y = y + self.own(self.norms[0](y))
        y = y + self.other(self.norms[1](y), context)
        y = y + self.gated(self.norms[2](y))
        return x + self.leave(y.transpose(1, 2).unflatten(2, (height, width)))


class Upsample(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class UNet(nn.Module):
    """The U-Net of Stable Diffusion 1: the last block down and the first block up have no attention."""

    def __init__(self, s):
        super().__init__()
        widths, depth, heads, cross = s["widths"], s["depth"], s["heads"], s["cross"]
        first, last = widths[0], len(widths) - 1
        time = 4 * first
        self.first = first
        self.time = nn.Sequential(nn.Linear(first, time), nn.SiLU(), nn.Linear(time, time))
        self.enter = nn.Conv2d(4, first, 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        skips, before = [first], first
        for i, width in enumerate(widths):
            for _ in range(depth):
                attention = Transformer(width, heads, cross) if i < last else None
                self.down.append(nn.ModuleList([Residual(before, width, time), attention or Plain()]))
                skips.append(width)
                before = width
            if i < last:
                self.down.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
                skips.append(width)
        self.middle = nn.ModuleList(
            [Residual(before, before, time), Transformer(before, heads, cross), Residual(before, before, time)]
        )
        for i, width in reversed(list(enumerate(widths))):
            for _ in range(depth + 1):
                attention = Transformer(width, heads, cross) if i < last else None
                self.up.append(nn.ModuleList([Residual(before + skips.pop(), width, time), attention or Plain()]))
                before = width
            if i > 0:
                self.up.append(Upsample(width))
        self.norm, self.leave = group_norm(first), nn.Conv2d(first, 4, 3, padding=1)

    def embed(self, timestep, dtype):
        half = self.first // 2
        steps = torch.arange(half, device=timestep.device, dtype=torch.float32)
        angles = timestep.float()[:, None] * torch.exp(-math.log(10_000.0) * steps / half)
        return self.time(torch.cat([angles.cos(), angles.sin()], dim=-1).to(dtype))

    def forward(self, sample, timestep, context):
        time = self.embed(timestep, sample.dtype)
        x = self.enter(sample)
        skips = [x]
        for block in self.down:
            if isinstance(block, nn.ModuleList):
                x = block[1](block[0](x, time), context)
            else:
                x = block(x)
            skips.append(x)
        x = self.middle[0](x, time)
        x = self.middle[2](self.middle[1](x, context), time)
        for block in self.up:
            if isinstance(block, nn.ModuleList):
                x = block[1](block[0](torch.cat([x, skips.pop()], dim=1), time), context)
            else:
                x = block(x)
        return self.leave(F.silu(self.norm(x)))


class Plain(nn.Module):
    """Stands where a block has no attention."""

    def forward(self, x, context):
        return x


class Decoder(nn.Module):
    """The decoder of the autoencoder of Stable Diffusion."""

    def __init__(self, s):
        super().__init__()
        widths, depth = s["widths"], s["depth"]
        before = widths[-1]
        self.after = nn.Conv2d(4, 4, 1)
        self.enter = nn.Conv2d(4, before, 3, padding=1)
        self.middle = nn.ModuleList([Residual(before, before, eps=1e-6) for _ in range(2)])
        self.norm = group_norm(before, 1e-6)
        self.attention = Attention(before, 1, bias=True)
        blocks = []
        for i, width in reversed(list(enumerate(widths))):
            for _ in range(depth + 1):
                blocks.append(Residual(before, width, eps=1e-6))
                before = width
            if i > 0:
                blocks.append(Upsample(width))
        self.up = nn.Sequential(*blocks)
        self.last, self.leave = group_norm(before, 1e-6), nn.Conv2d(before, 3, 3, padding=1)

    def forward(self, z):
        x = self.middle[0](self.enter(self.after(z)))
        height, width = x.shape[-2:]
        y = self.attention(self.norm(x).flatten(2).transpose(1, 2))
        x = x + y.transpose(1, 2).unflatten(2, (height, width))
        x = self.up(self.middle[1](x))
        return self.leave(F.silu(self.last(x)))


class Recurrent(nn.Module):
    def __init__(self, s, kind):
        super().__init__()
        self.cells = kind(s["features"], s["hidden"], batch_first=True)
        self.out = nn.Linear(s["hidden"], s["classes"])

    def forward(self, x):
        return self.out(self.cells(x)[0][:, -1])


def perceptron(*sizes, act=nn.ReLU):
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), act()]
    return layers


class Mixer(nn.Module):
    def __init__(self, s):
        super().__init__()
        tokens, hidden = (s["image"] // s["patch"]) ** 2, s["hidden"]
        self.patches = nn.Conv2d(3, hidden, s["patch"], stride=s["patch"])
        self.layers = nn.ModuleList()
        for _ in range(s["layers"]):
            across = nn.Sequential(*perceptron(tokens, s["across"], act=nn.GELU), nn.Linear(s["across"], tokens))
            inner = s["intermediate"]
            along = nn.Sequential(*perceptron(hidden, inner, act=nn.GELU), nn.Linear(inner, hidden))
            self.layers.append(nn.ModuleList([nn.LayerNorm(hidden), across, nn.LayerNorm(hidden), along]))
        self.norm, self.out = nn.LayerNorm(hidden), nn.Linear(hidden, 1000)

    def forward(self, pixel_values):
        x = self.patches(pixel_values).flatten(2).transpose(1, 2)
        for norm1, across, norm2, along in self.layers:
            x = x + across(norm1(x).transpose(1, 2)).transpose(1, 2)
            x = x + along(norm2(x))
        return self.out(self.norm(x).mean(dim=1))


def conv_norm(before, after, kernel, **options):
    return [nn.Conv2d(before, after, kernel, **options), nn.BatchNorm2d(after), nn.ReLU()]


def convolutions(before, after):
    return nn.Sequential(
        *conv_norm(before, after, 3, padding=1), *conv_norm(after, after, 3, padding=1)
    )


class Segment(nn.Module):
    """A U-Net of convolutions."""

    def __init__(self, s):
        super().__init__()
        *widths, bottom = s["widths"]
        self.down, self.grow, self.up = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        before = 3
        for width in widths:
            self.down.append(convolutions(before, width))
            before = width
        self.bottom, before = convolutions(before, bottom), bottom
        for width in reversed(widths):
            self.grow.append(nn.ConvTranspose2d(before, width, 2, stride=2))
            self.up.append(convolutions(2 * width, width))
            before = width
        self.out = nn.Conv2d(before, 2, 1)

    def forward(self, pixel_values):
        x, skips = pixel_values, []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottom(x)
        for grow, block in zip(self.grow, self.up):
            x = block(torch.cat([grow(x), skips.pop()], dim=1))
        return self.out(x)


class MobileNet(nn.Module):
    def __init__(self, s):
        super().__init__()
        before, *widths = s["widths"]
        blocks = conv_norm(3, before, 3, stride=2, padding=1)
        for width in widths:
            stride = 2 if width > before else 1
            blocks += conv_norm(before, before, 3, stride=stride, padding=1, groups=before)
            blocks += conv_norm(before, width, 1)
            before = width
        self.blocks, self.out = nn.Sequential(*blocks), nn.Linear(before, 1000)

    def forward(self, pixel_values):
        return self.out(self.blocks(pixel_values).mean(dim=(2, 3)))


class DLRM(nn.Module):
    """Embeddings and dense features, their products with each other, and a perceptron (Naumov et al. 2019)."""

    def __init__(self, s):
        super().__init__()
        width, tables = s["embedding"], s["tables"]
        self.bottom = nn.Sequential(*perceptron(s["dense"], *s["bottom"], width))
        self.tables = nn.ModuleList(nn.Embedding(s["rows"], width) for _ in range(tables))
        self.top = nn.Sequential(*perceptron(width + (tables + 1) ** 2, *s["top"]))
        self.out = nn.Linear(s["top"][-1], 1)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        rows = torch.stack([x] + [table(ids) for table, ids in zip(self.tables, sparse)], dim=1)
        products = (rows @ rows.transpose(1, 2)).flatten(1)
        return self.out(self.top(torch.cat([x, products], dim=1)))
