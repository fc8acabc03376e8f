#!/usr/bin/env python3
"""Time PyTorch on the cases of `nxvk-node bench sweep --list`.

    nxvk-node bench sweep --seed 1 --list > list.jsonl
    nxvk-node bench sweep --cases list.jsonl --results ours.jsonl
    sweep_torch.py list.jsonl > torch.jsonl
    nxvk-node bench sweep --compare ours.jsonl torch.jsonl

A case is timed as nxvk-node times it: operands resident, warm, the median of samples that each
fill some milliseconds, no TF32. A step is the function that a user of PyTorch would call; where
PyTorch has one function for all steps, such as softmax, it is that one. A result that shares
memory with an operand is copied. Cases without a counterpart have an error.
"""

import argparse
import functools
import json
import math
import sys
import time

import torch
import torch.nn.functional as F

DTYPES = {
    "u8": torch.uint8, "s8": torch.int8, "s16": torch.int16, "s32": torch.int32, "s64": torch.int64,
    "u32": torch.int32, "u64": torch.int64,  # of the same width
    "bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64,
    "c64": torch.complex64, "c128": torch.complex128,
}

SAMPLES, MAX_REPEATS, LONG = 5, 2000, 50


class NoCounterpart(Exception):
    pass


def none(*_):
    raise NoCounterpart("PyTorch has no such function")


def device_sync(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


# Operands.


def fill(p, device):
    dtype, shape, kind = DTYPES[p["dtype"]], p["shape"], p["fill"]
    if kind == "literal":
        return p.get("number", 0)
    if kind == "indices":
        return torch.randint(0, p["bound"], shape, device=device)
    if kind in ("dominant", "symmetric"):
        n = shape[-1]
        x = torch.rand(shape, device=device, dtype=torch.float32) * 2 - 1
        x = (x + x.mT) * (0.5 / math.sqrt(n)) if kind == "symmetric" else x / n
        return (x + 2 * torch.eye(n, device=device)).to(dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        info = torch.iinfo(dtype)
        low, high = {"positive": (1, 9), "fraction": (0, 2)}.get(kind, (info.min // 2, info.max // 2 + 1))
        return torch.randint(low, high, shape, device=device, dtype=dtype)
    wide = torch.float64 if dtype in (torch.float64, torch.complex128) else torch.float32
    x = torch.rand(shape, device=device, dtype=wide)
    if kind in ("uniform", "rectified"):
        x = x * 2 - 1
    elif kind == "positive":
        x = x + 1
    if kind == "rectified":
        x = x.clamp(min=0)
    if dtype.is_complex:
        return x * torch.tensor(complex(0.6, 0.8), device=device, dtype=dtype)
    return x.to(dtype)


# Operations. Each takes the step and its operands.


def plain(f):
    """A function that needs nothing of the step; a case of one step calls it directly."""

    def run(s, *ins):
        return f(*ins)

    run.direct = f
    return run


def out_dtype(s):
    return DTYPES[s["outs"][0]["dtype"]]


def over(single, many=None):
    """A reduction along axes: all at once if PyTorch does that, else one after another."""

    def run(s, x):
        axes, keep = s["attrs"][0], bool(s["attrs"][1][0])
        if many is not None:
            return many(s, x, axes, keep)
        if len(axes) == x.dim() and not keep:
            return single(s, x, None, False)
        for a in sorted(axes, reverse=True):
            x = single(s, x, a, keep)
        return x

    return run


def product(s, x, axis, keep):
    return torch.prod(x, dtype=out_dtype(s)) if axis is None else torch.prod(x, axis, keep, dtype=out_dtype(s))


def truth(f):
    return lambda s, x, axis, keep: f(x) if axis is None else f(x, axis, keep)


def arg(f):
    def run(s, x):
        axis = s["attrs"][0][0]
        return f(x) if axis < 0 else f(x, axis, bool(s["attrs"][1][0]))

    return run


def iota(s):
    shape, axis = s["outs"][0]["shape"], s["attrs"][0][0]
    if axis < 0:
        return torch.arange(math.prod(shape), device=run_device, dtype=out_dtype(s)).view(shape)
    view = [1] * len(shape)
    view[axis] = shape[axis]
    return torch.arange(shape[axis], device=run_device, dtype=out_dtype(s)).view(view).expand(shape)


def broadcast(s, x):
    shape, view = s["outs"][0]["shape"], [1] * len(s["outs"][0]["shape"])
    for i, a in enumerate(s["attrs"][0]):
        view[a] = x.shape[i]
    return x.reshape(view).expand(shape)


def pad(s, x, value):
    config, pads = s["attrs"][0], []
    for i in range(x.dim() - 1, -1, -1):
        low, high, interior = config[3 * i : 3 * i + 3]
        if interior:
            none()
        pads += [low, high]
    return F.pad(x, pads, value=value)


def part(s, x):
    starts, lengths, strides = s["attrs"]
    return x[tuple(slice(a, a + (n - 1) * k + 1, k) for a, n, k in zip(starts, lengths, strides))]


def put_slice(s, x, y):
    x = x.clone()
    x[tuple(slice(a, a + n) for a, n in zip(s["attrs"][0], y.shape))] = y
    return x


def dot(s, x, y):
    (cl,), bl, (cr,), br = s["attrs"]
    if bl != br or bl not in ([], [0]):
        none()
    x = x if cl == x.dim() - 1 else x.mT
    y = y if cr == y.dim() - 2 else y.mT
    if x.dtype == torch.int8:
        if x.dim() != 2:
            none()
        return torch._int_mm(x, y)
    return torch.matmul(x, y)


def gather(s, x, i):
    axes = s["attrs"][0]
    if axes != list(range(len(axes))):
        none()
    return x[tuple(i[..., k] for k in range(len(axes)))]


def take(s, x, i):
    return torch.index_select(x, s["attrs"][0][0], i.reshape(-1)).view(s["outs"][0]["shape"])


def indexed(f):
    def run(s, x, i, u):
        if s["attrs"][0] != [0]:
            none()
        return f(x, 0, i[:, 0], u)

    return run


def window(f):
    """A pooling; the axes before the last one, two or three have windows of 1."""

    def run(s, x):
        size, padding, strides, _ = s["attrs"]
        n, axes = x.dim(), (2 if x.dim() in (2, 4) else 1)
        low, high = padding[2 * (n - axes) :: 2], padding[2 * (n - axes) + 1 :: 2]
        if low != high or any(k != 1 for k in size[: n - axes]):
            none()
        shape = list(x.shape)
        x = x.reshape([1] * (axes + 2 - n) + shape) if n < axes + 2 else x
        return f(x, size[n - axes :], strides[n - axes :], low).reshape(s["outs"][0]["shape"])

    return run


def sum_pool(x, size, strides, padding):
    if len(size) == 1:
        return F.avg_pool1d(x, size, strides, padding) * size[0]
    return F.avg_pool2d(x, size, strides, padding, divisor_override=1)


def max_pool(x, size, strides, padding):
    return (F.max_pool1d if len(size) == 1 else F.max_pool2d)(x, size, strides, padding)


def conv(s, x, k):
    strides, padding, spread, dilation, (groups,), (batches,), *orders = s["attrs"]
    if padding[::2] != padding[1::2] or any(d != 1 for d in spread) or batches != 1:
        none()
    if any(o != sorted(o) for o in orders):
        none()
    f = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(strides)]
    return f(x, k, None, strides, padding[::2], dilation, groups)


def scan(f):
    def run(s, x):
        axis, reverse = s["attrs"][0][0], s["attrs"][1][0]
        if reverse:
            return f(x.flip(axis), axis, s).flip(axis)
        return f(x, axis, s)

    return run


def triangular(s, a, b):
    lower, left, transform = (v[0] for v in s["attrs"])
    if transform == 1:
        a, lower = a.mT, not lower
    return torch.linalg.solve_triangular(a, b, upper=not lower, left=bool(left))


def fourier(f):
    return lambda s, x: f(x, s["attrs"][0][0], s["attrs"][1][0])


def fourier2(f):
    return lambda s, x: f(x, s["attrs"][0], s["attrs"][1])


OPS = {
    "exp": plain(torch.exp), "expm1": plain(torch.expm1), "log": plain(torch.log), "log1p": plain(torch.log1p),
    "sigmoid": plain(torch.sigmoid), "cos": plain(torch.cos), "sin": plain(torch.sin), "tan": plain(torch.tan),
    "cosh": plain(torch.cosh), "sinh": plain(torch.sinh), "tanh": plain(torch.tanh), "acos": plain(torch.acos),
    "asin": plain(torch.asin), "atan": plain(torch.atan), "acosh": plain(torch.acosh), "asinh": plain(torch.asinh),
    "atanh": plain(torch.atanh), "sqrt": plain(torch.sqrt), "rsqrt": plain(torch.rsqrt), "cbrt": none,
    "erf": plain(torch.erf), "erfc": plain(torch.erfc), "erf_inv": plain(torch.erfinv), "abs": plain(torch.abs),
    "bitwise_not": plain(torch.bitwise_not), "ceil": plain(torch.ceil), "conjugate": plain(torch.conj_physical),
    "floor": plain(torch.floor), "negate": plain(torch.neg), "round": plain(torch.round), "sign": plain(torch.sign),
    "count_leading_zeros": none, "population_count": none, "real": plain(torch.real), "imag": plain(torch.imag),
    "is_nan": plain(torch.isnan), "is_infinity": plain(torch.isinf), "logical_not": plain(torch.logical_not),
    "phase": plain(torch.angle),
    "select": lambda s, c, x, y: torch.where(c, x, y),
    "clip": lambda s, x, low, high: torch.clamp(x, low, high),
    "as_type": lambda s, x: x.to(out_dtype(s)),
    "add": plain(torch.add), "subtract": plain(torch.sub), "multiply": plain(torch.mul), "pow": plain(torch.pow),
    "remainder": plain(torch.fmod), "divide": plain(torch.true_divide), "atan2": plain(torch.atan2),
    "min": plain(torch.minimum), "max": plain(torch.maximum),
    "quotient": plain(lambda x, y: torch.div(x, y, rounding_mode="trunc")),
    "bitwise_and": plain(torch.bitwise_and), "bitwise_or": plain(torch.bitwise_or), "bitwise_xor": plain(torch.bitwise_xor),
    "left_shift": plain(torch.bitwise_left_shift), "right_shift": plain(torch.bitwise_right_shift),
    "equal": plain(torch.eq), "not_equal": plain(torch.ne), "greater": plain(torch.gt), "less": plain(torch.lt),
    "greater_equal": plain(torch.ge), "less_equal": plain(torch.le), "logical_and": plain(torch.logical_and),
    "logical_or": plain(torch.logical_or), "logical_xor": plain(torch.logical_xor),
    "sum": over(None, lambda s, x, axes, keep: torch.sum(x, axes, keep, dtype=out_dtype(s))),
    "product": over(product),
    "reduce_max": over(None, lambda s, x, axes, keep: torch.amax(x, axes, keep)),
    "reduce_min": over(None, lambda s, x, axes, keep: torch.amin(x, axes, keep)),
    "all": over(truth(torch.all)), "any": over(truth(torch.any)),
    "argmax": arg(torch.argmax), "argmin": arg(torch.argmin),
    "constant": lambda s, v: torch.full(s["outs"][0]["shape"], v, dtype=out_dtype(s), device=run_device),
    "iota": iota,
    "eye": lambda s: torch.eye(*s["outs"][0]["shape"], dtype=out_dtype(s), device=run_device),
    "bitcast": lambda s, x: x.view(out_dtype(s)),
    "reshape": lambda s, x: x.reshape(s["outs"][0]["shape"]), "squeeze": lambda s, x: x.reshape(s["outs"][0]["shape"]),
    "broadcast": broadcast, "transpose": lambda s, x: x.permute(s["attrs"][0]), "pad": pad,
    "reverse": lambda s, x: x.flip(s["attrs"][0]), "slice": part, "put_slice": put_slice,
    "concatenate": lambda s, *x: torch.cat(x, s["attrs"][0][0]), "stack": lambda s, *x: torch.stack(x, s["attrs"][0][0]),
    "dot": dot, "gather": gather, "take": take,
    "take_along_axis": lambda s, x, i: torch.gather(x, s["attrs"][0][0], i),
    "indexed_add": indexed(torch.index_add), "indexed_put": indexed(torch.index_copy),
    "window_sum": window(sum_pool), "window_product": none, "window_max": window(max_pool),
    "window_min": window(lambda x, *a: -max_pool(-x, *a)), "window_scatter_max": none, "window_scatter_min": none,
    "conv": conv,
    "sort": lambda s, x: torch.sort(x, s["attrs"][0][0], bool(s["attrs"][1][0]))[0],
    "argsort": lambda s, x: torch.argsort(x, s["attrs"][0][0], bool(s["attrs"][1][0])),
    "top_k": lambda s, x: torch.topk(x, s["attrs"][0][0]),
    "cumulative_sum": scan(lambda x, a, s: torch.cumsum(x, a, dtype=out_dtype(s))),
    "cumulative_product": scan(lambda x, a, s: torch.cumprod(x, a, dtype=out_dtype(s))),
    "cumulative_min": scan(lambda x, a, s: torch.cummin(x, a)[0]),
    "cumulative_max": scan(lambda x, a, s: torch.cummax(x, a)[0]),
    "fft": fourier(torch.fft.fft), "ifft": fourier(torch.fft.ifft), "rfft": fourier(torch.fft.rfft),
    "irfft": fourier(torch.fft.irfft), "fft2": fourier2(torch.fft.fft2), "ifft2": fourier2(torch.fft.ifft2),
    "triangular_solve": triangular, "cholesky": plain(torch.linalg.cholesky), "solve": lambda s, a, b: torch.linalg.solve(a, b),
    "qr": plain(torch.linalg.qr), "eigh": plain(torch.linalg.eigh), "lu": plain(torch.linalg.lu), "determinant": plain(torch.linalg.det),
    "svd": lambda s, x: torch.linalg.svd(x, full_matrices=bool(s["attrs"][0][0])),
}



def attention(c, *tensors):
    """The first axis is that of heads: fused kernels need a batch before it."""
    q, k, v, *bias = (x[None] for x in tensors)
    causal = any(s["op"] == "select" for s in c["steps"])
    return F.scaled_dot_product_attention(q, k, v, *bias, is_causal=causal)[0]


# Functions for all steps of a case, of its tensors.
WHOLE = {
    "softmax": lambda c, x: torch.softmax(x, -1),
    "log_softmax": lambda c, x: torch.log_softmax(x, -1),
    "logsumexp": lambda c, x: torch.logsumexp(x, 1, True),
    "attention": attention,
    "layer_norm": lambda c, x, gain, bias: F.layer_norm(x, x.shape[1:], gain, bias, 1e-5),
    "rand": lambda c, *_: torch.rand(c["steps"][-1]["outs"][0]["shape"], device=run_device),
}

run_device = torch.device("cpu")


class Case:
    def __init__(self, c):
        self.c = c
        self.params = [fill(p, run_device) for p in c["params"]]
        self.owned = {p.data_ptr() for p in self.params if torch.is_tensor(p)}
        for s in c["steps"]:
            if s["op"] == "select" and s["ins"][0] < len(self.params):
                self.params[s["ins"][0]] = self.params[s["ins"][0]].bool()

        device_sync(run_device)
        start = time.perf_counter()
        self.once = self.function()
        got = self.once()
        device_sync(run_device)
        self.first = time.perf_counter() - start
        if torch.is_tensor(got) and self.shares(got):  # a view
            view = self.once
            self.once = lambda: view().clone(memory_format=torch.contiguous_format)

    def function(self):
        """The case as a function, with as little work of Python as a user's code has."""
        c = self.c
        if "torch" in c:
            return functools.partial(WHOLE[c["torch"]], c, *(p for p in self.params if torch.is_tensor(p)))
        steps = [(OPS[s["op"]], s, s["ins"]) for s in c["steps"]]
        if len(steps) == 1:
            f, s, ins = steps[0]
            operands = [self.params[i] for i in ins]
            if hasattr(f, "direct"):
                return functools.partial(f.direct, *operands)
            return functools.partial(f, s, *operands)

        def run():
            values = list(self.params)
            for f, s, ins in steps:
                got = f(s, *[values[i] for i in ins])
                if torch.is_tensor(got):
                    values.append(got)
                else:
                    values += got
            return values[-1]

        return run

    def shares(self, x):
        return not x.is_contiguous() or x.data_ptr() in self.owned

    def repeat(self, n):
        start = time.perf_counter()
        for _ in range(n):
            self.once()
        device_sync(run_device)
        return time.perf_counter() - start

    def median(self):
        """The time of a repetition, by the rule of nxvk-node bench sweep."""
        filling = 0.004 if run_device.type == "cuda" else 0.010
        self.repeat(2)
        n = 1
        while True:
            took = self.repeat(n)
            if took >= filling or n >= MAX_REPEATS:
                break
            n = min(MAX_REPEATS, max(n + 1, int(1.2 * n * filling / took)))
        times = [took]
        while sum(times) < LONG * filling and (len(times) < 2 or len(times) < SAMPLES and sum(times) < 4 * SAMPLES * filling):
            times.append(self.repeat(n))
        return sorted(times)[(len(times) - 1) // 2] / n


def measure(c):
    r = {"id": c["id"], "family": c["family"], "name": c["name"], "bytes": c["bytes"], "ops": c["ops"]}
    try:
        case = Case(c)
        r["first"] = case.first * 1e6
        r["us"] = case.median() * 1e6
    except torch.cuda.OutOfMemoryError as e:
        torch.cuda.empty_cache()
        r["error"] = str(e).splitlines()[0]
    except Exception as e:  # the sweep goes on
        r["error"] = f"{type(e).__name__}: {e}".splitlines()[0]
    return r


def heat():
    """Raise the clock of an idle device."""
    x = torch.ones(1 << 24, device=run_device)
    start = time.perf_counter()
    while run_device.type == "cuda" and time.perf_counter() - start < 0.3:
        for _ in range(20):
            x = x + 1
        device_sync(run_device)


def main():
    global run_device
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("list", help="cases, as nxvk-node bench sweep --list prints them")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--budget", type=float, default=0, help="seconds after which no case begins")
    p.add_argument("--cudnn-benchmark", action="store_true", help="have cuDNN time its algorithms")
    args = p.parse_args()
    run_device = torch.device(args.device)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = args.cudnn_benchmark
    began = time.monotonic()
    heat()
    with open(args.list) as f:
        cases = [json.loads(line) for line in f if line.strip()]
    for i, c in enumerate(cases):
        if args.budget and time.monotonic() - began > args.budget:
            print(f"{len(cases) - i} of {len(cases)} cases left: the budget is spent", file=sys.stderr)
            break
        print(json.dumps(measure(c)), flush=True)


if __name__ == "__main__":
    main()
