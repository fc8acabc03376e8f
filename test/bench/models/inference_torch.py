#!/usr/bin/env python3
"""Measures with PyTorch the models of inference.exs, and prints both side by side, the worst first.

    mix run ../bench/models/inference.exs --type bf16 > nxvk.jsonl
    python3 inference_torch.py nxvk.jsonl

Each line that inference.exs has printed describes a model; it is built here from a config of transformers,
or in torch.nn where transformers has none, with random weights and without a download. It runs eagerly
under torch.inference_mode, with scaled_dot_product_attention where transformers has that, and without
TF32. Times are in milliseconds, as in inference.exs: the first call, the tenth, the median of
calls of which one element is read, and a call in a row of them. The weights are on the GPU, and a
product and a convolution have been computed, before the first call. Inputs have the type of the weights.

The table has the time of nxvk over that of torch in three columns: for a call in a row, for the tenth call and
for the first. Its last line has their geometric means. --jsonl FILE also writes the times of torch.
"""

import argparse
import gc
import json
import math
import statistics
import sys
import time

import torch
import transformers

import inference_nets as nets

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def encoder(name, **more):
    """A text model whose config has the names of BERT."""

    def build(s):
        config = getattr(transformers, name + "Config")(
            vocab_size=s["vocabulary"],
            hidden_size=s["hidden"],
            num_hidden_layers=s["layers"],
            num_attention_heads=s["heads"],
            intermediate_size=s["intermediate"],
            max_position_embeddings=max(s["length"] + 2, 512) + 2,
            **more,
        )
        return without_pooler(getattr(transformers, name + "Model")(config)), text(s), first

    return build


def distilbert(s):
    config = transformers.DistilBertConfig(
        vocab_size=s["vocabulary"],
        dim=s["hidden"],
        n_layers=s["layers"],
        n_heads=s["heads"],
        hidden_dim=s["intermediate"],
        max_position_embeddings=max(s["length"], 512),
    )
    return transformers.DistilBertModel(config), text(s), first


def llama(s):
    config = transformers.LlamaConfig(
        vocab_size=s["vocabulary"],
        hidden_size=s["hidden"],
        num_hidden_layers=s["layers"],
        num_attention_heads=s["heads"],
        num_key_value_heads=s["kv_heads"],
        intermediate_size=s["intermediate"],
        max_position_embeddings=s["length"] + 2,
        use_cache=False,
    )
    return transformers.LlamaModel(config), text(s), first


def transformer_of_images(name):
    def build(s):
        config = getattr(transformers, name + "Config")(
            image_size=s["image"],
            patch_size=s["patch"],
            hidden_size=s["hidden"],
            num_hidden_layers=s["layers"],
            num_attention_heads=s["heads"],
            intermediate_size=s["intermediate"],
        )
        return without_pooler(getattr(transformers, name + "Model")(config)), pixels(s), first

    return build


def convnext(s):
    config = transformers.ConvNextConfig(
        patch_size=s["patch"], hidden_sizes=s["widths"], depths=s["depths"], num_stages=len(s["widths"])
    )
    return transformers.ConvNextModel(config), pixels(s), pooled


def resnet(s):
    config = transformers.ResNetConfig(
        embedding_size=s["stem"], hidden_sizes=s["widths"], depths=s["depths"], layer_type=s["block"]
    )
    return transformers.ResNetModel(config), pixels(s), pooled


def swin(s):
    config = transformers.SwinConfig(
        image_size=s["image"],
        patch_size=s["patch"],
        embed_dim=s["hidden"],
        depths=s["depths"],
        num_heads=s["heads"],
        window_size=s["window"],
    )
    return transformers.SwinModel(config), pixels(s), pooled


def whisper(s):
    config = transformers.WhisperConfig(
        num_mel_bins=s["features"],
        max_source_positions=s["frames"] // 2,
        max_target_positions=max(s["tokens"], 448),
        use_cache=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        **both(s),
    )
    inputs = {
        "input_features": floats(s["batch"], s["features"], s["frames"]),
        "decoder_input_ids": ids(s["vocabulary"], s["batch"], s["tokens"]),
    }
    return transformers.WhisperForConditionalGeneration(config), inputs, first


def bart(s):
    config = transformers.BartConfig(
        max_position_embeddings=s["length"] + s["tokens"], use_cache=False, **both(s)
    )
    return transformers.BartForConditionalGeneration(config), two_texts(s), first


def t5(s):
    config = transformers.T5Config(
        vocab_size=s["vocabulary"],
        d_model=s["hidden"],
        d_kv=s["head_size"],
        d_ff=s["intermediate"],
        num_layers=s["layers"],
        num_decoder_layers=s["layers"],
        num_heads=s["heads"],
        use_cache=False,
    )
    return transformers.T5ForConditionalGeneration(config), two_texts(s), first


def clip(s):
    text_config = dict(
        vocab_size=s["vocabulary"],
        max_position_embeddings=s["length"],
        hidden_size=s["hidden"],
        num_hidden_layers=s["layers"],
        num_attention_heads=s["heads"],
        intermediate_size=4 * s["hidden"],
        projection_dim=s["projection"],
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=1,
    )
    vision_config = dict(
        image_size=s["image"],
        patch_size=s["patch"],
        hidden_size=s["vision_hidden"],
        num_hidden_layers=s["vision_layers"],
        num_attention_heads=s["vision_heads"],
        intermediate_size=4 * s["vision_hidden"],
        projection_dim=s["projection"],
    )
    config = transformers.CLIPConfig(
        text_config=text_config, vision_config=vision_config, projection_dim=s["projection"]
    )
    return transformers.CLIPModel(config), {**text(s), **pixels(s)}, lambda x: x.logits_per_text


def unet(s):
    inputs = {
        "sample": floats(s["batch"], 4, s["sample"], s["sample"]),
        "timestep": ids(1000, s["batch"]),
        "context": floats(s["batch"], s["length"], s["cross"]),
    }
    return nets.UNet(s), inputs, same


def vae(s):
    return nets.Decoder(s), {"z": floats(s["batch"], 4, s["sample"], s["sample"])}, same


def recurrent(s, kind):
    inputs = {"x": floats(s["batch"], s["length"], s["features"])}
    return nets.Recurrent(s, kind), inputs, same


def of_pixels(net):
    return lambda s: (net(s), pixels(s), same)


def dlrm(s):
    inputs = {
        "dense": floats(s["batch"], s["dense"]),
        "sparse": [ids(s["rows"], s["batch"]) for _ in range(s["tables"])],
    }
    return nets.DLRM(s), inputs, same


KINDS = {
    "bert": encoder("Bert"),
    "roberta": encoder("Roberta"),
    "albert": encoder("Albert", embedding_size=128),
    "distilbert": distilbert,
    "llama": llama,
    "vit": transformer_of_images("ViT"),
    "deit": transformer_of_images("DeiT"),
    "convnext": convnext,
    "resnet": resnet,
    "swin": swin,
    "whisper": whisper,
    "clip": clip,
    "t5": t5,
    "bart": bart,
    "unet": unet,
    "vae": vae,
    "lstm": lambda s: recurrent(s, torch.nn.LSTM),
    "gru": lambda s: recurrent(s, torch.nn.GRU),
    "mixer": of_pixels(nets.Mixer),
    "segment": of_pixels(nets.Segment),
    "mobilenet": of_pixels(nets.MobileNet),
    "dlrm": dlrm,
}


def both(s):
    sizes = dict(vocab_size=s["vocabulary"], d_model=s["hidden"])
    for side in ("encoder", "decoder"):
        sizes[f"{side}_layers"] = s["layers"]
        sizes[f"{side}_attention_heads"] = s["heads"]
        sizes[f"{side}_ffn_dim"] = s["intermediate"]
    return sizes


def floats(*shape):
    return torch.randn(shape)


# Ids of the vocabulary, without the first few, which some models take for padding.
def ids(bound, *shape):
    return torch.randint(min(3, bound - 1), bound, shape)


def text(s):
    shape = (s["batch"], s["length"])
    return {"input_ids": ids(s["vocabulary"], *shape), "attention_mask": torch.ones(shape, dtype=torch.long)}


def two_texts(s):
    return {**text(s), "decoder_input_ids": ids(s["vocabulary"], s["batch"], s["tokens"])}


def pixels(s):
    return {"pixel_values": floats(s["batch"], 3, s["image"], s["image"])}


# Only the hidden states are asked for, from which Nx computes no pooled state.
def without_pooler(model):
    model.pooler = None
    return model


def first(output):
    return output[0]


def pooled(output):
    return output.pooler_output


def same(output):
    return output


def placed(x, dtype, device):
    if isinstance(x, list):
        return [placed(y, dtype, device) for y in x]
    return x.to(device, dtype) if x.is_floating_point() else x.to(device)


def measure(line, runs, warm, device):
    torch.manual_seed(1)
    dtype = TYPES[line["type"]]
    with torch.device(device):
        model, inputs, output = KINDS[line["kind"]](line["sizes"])
    model = model.to(device, dtype).eval()
    inputs = {name: placed(x, dtype, device) for name, x in inputs.items()}
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()

    @torch.inference_mode()
    def call():
        return output(model(**inputs))

    def timed():
        start = time.perf_counter()
        call().flatten()[0].item()
        return 1e3 * (time.perf_counter() - start)

    times = [timed() for _ in range(10)]
    until = time.perf_counter() + warm
    while time.perf_counter() < until:
        timed()
    read = statistics.median(timed() for _ in range(runs))
    start = time.perf_counter()
    for _ in range(runs):
        result = call()
    result.flatten()[0].item()
    row = 1e3 * (time.perf_counter() - start) / runs
    peak = torch.cuda.max_memory_allocated()
    return {"cold": times[0], "tenth": times[9], "read": read, "ms": row, "peak": peak}


def warm_up(device):
    """Creates the context and the handles of the libraries."""
    for dtype in TYPES.values():
        x = torch.randn(64, 64, device=device, dtype=dtype)
        (x @ x).sum().item()
        torch.nn.functional.conv2d(x.view(1, 64, 8, 8), x.view(64, 64, 1, 1)).sum().item()


def table(rows):
    print(f"{'model':16} {'type':5} {'nxvk ms':>9} {'torch ms':>9} {'ratio':>7} {'tenth':>7} {'first':>7}   first call ms, peak MB: nxvk, torch")
    rows.sort(key=lambda row: -row[0]["ms"] / row[1]["ms"])
    for a, b in rows:
        ratios = " ".join(f"{a[key] / b[key]:7.2f}" for key in ("ms", "tenth", "cold"))
        print(
            f"{a['name']:16} {a['type']:5} {a['ms']:9.3f} {b['ms']:9.3f} {ratios}   "
            f"{a['cold']:.0f}, {b['cold']:.0f}; {a['peak'] / 1e6:.0f}, {b['peak'] / 1e6:.0f}"
        )
    if rows:
        means = (
            math.exp(statistics.fmean(math.log(a[key] / b[key]) for a, b in rows)) for key in ("ms", "tenth", "cold")
        )
        print(f"{'geometric mean':42} " + " ".join(f"{mean:7.2f}" for mean in means))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", help="what inference.exs printed")
    parser.add_argument("--jsonl", help="file for the times of torch")
    parser.add_argument("--warm", type=float, default=1.0, help="seconds of calls before the timed ones")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    with open(args.lines) as file:
        lines = [json.loads(line) for line in file if line.startswith("{")]

    rows, results = [], []
    warm_up(args.device)
    for line in lines:
        if "ms" not in line:
            print(f"{line['name']}: nxvk failed: {line.get('error')}", file=sys.stderr)
            continue
        try:
            result = measure(line, args.runs, args.warm, args.device)
        except Exception as error:
            print(f"{line['name']}: torch failed: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        finally:
            gc.collect()
            torch.cuda.empty_cache()
        rows.append((line, result))
        results.append({**{key: line[key] for key in ("name", "kind", "sizes", "type")}, **result})

    if args.jsonl:
        with open(args.jsonl, "w") as file:
            file.writelines(json.dumps(result) + "\n" for result in results)
    table(rows)


if __name__ == "__main__":
    main()
