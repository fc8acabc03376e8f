# The models that inference.exs measures. A model is a map of a name, a kind and sizes, and nothing
# else: inference_torch.py builds the same model from the same map.

Code.require_file("inference_stock.exs", __DIR__)
Code.require_file("inference_axon.exs", __DIR__)

defmodule Inference.Models do
  @text %{hidden: 768, layers: 12, heads: 12, intermediate: 3072, vocabulary: 30_522}
  @vision %{image: 224, patch: 16, hidden: 768, layers: 12, heads: 12, intermediate: 3072}
  @widths [320, 640, 1280, 1280]

  @base [
    {"bert", "bert", Map.merge(@text, %{batch: 8, length: 128})},
    {"bert_long", "bert", Map.merge(@text, %{batch: 1, length: 384})},
    {"distilbert", "distilbert", Map.merge(@text, %{batch: 8, length: 128, layers: 6})},
    {"roberta", "roberta", Map.merge(@text, %{batch: 8, length: 128, vocabulary: 50_265})},
    {"albert", "albert", Map.merge(@text, %{batch: 8, length: 128, vocabulary: 30_000})},
    {"vit", "vit", Map.merge(@vision, %{batch: 32})},
    {"deit", "deit", Map.merge(@vision, %{batch: 32})},
    {"convnext", "convnext",
     %{batch: 32, image: 224, patch: 4, widths: [96, 192, 384, 768], depths: [3, 3, 9, 3]}},
    {"resnet18", "resnet",
     %{
       batch: 32,
       image: 224,
       stem: 64,
       widths: [64, 128, 256, 512],
       depths: [2, 2, 2, 2],
       block: "basic"
     }},
    {"swin", "swin",
     %{
       batch: 16,
       image: 224,
       patch: 4,
       hidden: 96,
       depths: [2, 2, 6, 2],
       heads: [3, 6, 12, 24],
       window: 7
     }},
    {"whisper", "whisper",
     %{
       batch: 4,
       frames: 3000,
       features: 80,
       tokens: 1,
       hidden: 512,
       layers: 6,
       heads: 8,
       intermediate: 2048,
       vocabulary: 51_865
     }},
    {"clip", "clip",
     %{
       batch: 16,
       length: 77,
       hidden: 512,
       layers: 12,
       heads: 8,
       vocabulary: 49_408,
       image: 224,
       patch: 32,
       vision_hidden: 768,
       vision_layers: 12,
       vision_heads: 12,
       projection: 512
     }},
    {"t5", "t5",
     %{
       batch: 8,
       length: 128,
       tokens: 32,
       hidden: 512,
       layers: 6,
       heads: 8,
       head_size: 64,
       intermediate: 2048,
       vocabulary: 32_128
     }},
    {"bart", "bart",
     %{@text | layers: 6, vocabulary: 50_265}
     |> Map.merge(%{batch: 8, length: 128, tokens: 32})},
    {"llama", "llama",
     %{
       batch: 1,
       length: 1024,
       hidden: 2048,
       layers: 16,
       heads: 32,
       kv_heads: 8,
       intermediate: 8192,
       vocabulary: 128_256
     }},
    {"unet", "unet",
     %{batch: 2, sample: 64, widths: @widths, depth: 2, heads: 8, cross: 768, length: 77}},
    {"vae", "vae", %{batch: 2, sample: 64, widths: [128, 256, 512, 512], depth: 2}},
    {"lstm", "lstm", %{batch: 32, length: 128, features: 256, hidden: 512, classes: 10}},
    {"gru", "gru", %{batch: 32, length: 128, features: 256, hidden: 512, classes: 10}},
    {"mixer", "mixer",
     %{batch: 32, image: 224, patch: 16, hidden: 512, layers: 8, across: 256, intermediate: 2048}},
    {"segment", "segment", %{batch: 4, image: 256, widths: [32, 64, 128, 256]}},
    {"mobilenet", "mobilenet",
     %{batch: 32, image: 224, widths: [32, 64, 128, 128, 256, 256, 512, 512, 512, 1024]}},
    {"dlrm", "dlrm",
     %{
       batch: 2048,
       dense: 13,
       tables: 26,
       rows: 100_000,
       embedding: 64,
       bottom: [512, 256],
       top: [1024, 512, 256]
     }}
  ]

  # What a size is in the scale "tiny"; the others are as they are.
  @tiny %{
    batch: 2,
    length: 9,
    tokens: 3,
    hidden: 32,
    layers: 2,
    heads: 4,
    kv_heads: 2,
    head_size: 8,
    intermediate: 40,
    vocabulary: 61,
    image: 32,
    patch: 8,
    window: 4,
    frames: 24,
    features: 8,
    vision_hidden: 32,
    vision_layers: 2,
    vision_heads: 4,
    projection: 24,
    sample: 8,
    cross: 16,
    across: 24,
    rows: 50,
    tables: 3,
    embedding: 8,
    stem: 8,
    widths: [32, 64],
    depths: [1, 1],
    bottom: [16],
    top: [16],
    classes: 3
  }

  @axon ["lstm", "gru", "mixer", "segment", "mobilenet", "dlrm"]

  @doc "Lists the descriptions of a scale."
  def list(scale),
    do: for({name, kind, sizes} <- @base, do: describe(name, kind, scale(scale, kind, sizes)))

  @doc "Draws descriptions of any kinds."
  def draw(scale, seed, count) do
    :rand.seed(:exsss, {seed, seed, seed})

    for i <- 1..count//1 do
      {_, kind, sizes} = Enum.random(@base)

      drawn =
        if scale == "tiny",
          do: small(kind, scale("tiny", kind, sizes)),
          else: drawn(kind, sizes)

      describe("#{kind}_#{seed}_#{i}", kind, drawn)
    end
  end

  defp describe(name, kind, sizes), do: %{name: name, kind: kind, sizes: sizes}

  defp scale("base", _, sizes), do: sizes

  defp scale("tiny", kind, sizes) do
    sizes = Map.merge(sizes, Map.take(@tiny, Map.keys(sizes)))

    case kind do
      "swin" -> %{sizes | patch: 2, heads: [2, 4]}
      kind when kind in ["segment", "mobilenet"] -> %{sizes | image: 16, widths: [8, 16]}
      kind when kind in ["convnext", "resnet"] -> four(kind, sizes)
      _ -> sizes
    end
  end

  # Bumblebee's have four stages.
  defp four("convnext", sizes),
    do: %{sizes | patch: 4, widths: [8, 16, 24, 32], depths: [1, 1, 2, 1]}

  defp four("resnet", sizes), do: %{sizes | widths: [16, 24, 32, 40], depths: [1, 1, 2, 1]}

  # Depth, width, heads, batch and lengths, odd ones among them, of a kind. Widths are multiples of the heads
  # and, where groups are normalized, of the groups.
  defp drawn("swin", sizes),
    do: %{sizes | batch: Enum.random(1..20), hidden: 24 * Enum.random(2..6)}

  defp drawn(kind, sizes) do
    head = Enum.random([32, 40, 48, 64, 64, 80])
    heads = Enum.random(3..14)

    drawn = %{
      batch: Enum.random(1..40),
      length: Enum.random(17..400),
      tokens: Enum.random(1..50),
      layers: Enum.random(1..10),
      heads: heads,
      hidden: head * heads,
      head_size: head,
      intermediate: Enum.random(200..4000),
      vocabulary: Enum.random(5000..60_000),
      image: 32 * Enum.random(3..9),
      classes: Enum.random(2..300),
      rows: Enum.random(1000..200_000),
      tables: Enum.random(3..40),
      projection: Enum.random(100..600),
      dense: Enum.random(3..40),
      features: Enum.random(20..300),
      across: Enum.random(50..400)
    }

    drawn = Map.merge(sizes, Map.take(drawn, Map.keys(sizes)))

    case kind do
      "llama" -> %{drawn | heads: 2 * heads, kv_heads: heads, hidden: 2 * head * heads, batch: 1}
      "clip" -> %{drawn | length: min(drawn.length, 77)}
      "whisper" -> %{drawn | batch: Enum.random(1..8), features: 80}
      kind when kind in ["unet", "vae"] -> diffusion(kind, sizes)
      _ -> drawn
    end
  end

  # The same in the scale "tiny".
  defp small(kind, sizes) when kind in ["swin", "unet", "vae"],
    do: %{sizes | batch: Enum.random(1..3)}

  defp small(kind, sizes) do
    head = 2 * Enum.random(2..5)
    heads = Enum.random(1..5)

    drawn = %{
      batch: Enum.random(1..3),
      length: Enum.random(3..19),
      tokens: Enum.random(1..6),
      layers: Enum.random(1..3),
      heads: heads,
      hidden: head * heads,
      head_size: head,
      intermediate: Enum.random(9..50),
      vocabulary: Enum.random(40..90),
      classes: Enum.random(2..9),
      rows: Enum.random(20..70),
      tables: Enum.random(1..5),
      projection: Enum.random(9..30),
      dense: Enum.random(1..9),
      features: Enum.random(3..12),
      across: Enum.random(9..30)
    }

    drawn = Map.merge(sizes, Map.take(drawn, Map.keys(sizes)))

    if kind == "llama",
      do: %{drawn | heads: 2 * heads, kv_heads: heads, hidden: 2 * head * heads},
      else: drawn
  end

  defp diffusion(kind, sizes) do
    width = 32 * Enum.random(2..8)
    sizes = %{sizes | batch: Enum.random(1..4), sample: 8 * Enum.random(3..10)}
    sizes = %{sizes | widths: [width, 2 * width, 4 * width, 4 * width]}
    if kind == "unet", do: %{sizes | heads: Enum.random([2, 4, 8])}, else: sizes
  end

  @doc """
  Builds a model: the model of Axon, whose result is one tensor, and the shapes of its inputs,
  `{shape, type, bound}` each. Integers are drawn below the bound.
  """
  def build(%{kind: kind, sizes: sizes}, type) when kind in @axon do
    {model, inputs} = Inference.Plain.build(kind, sizes)
    {typed(model, type), inputs}
  end

  def build(%{kind: kind, sizes: sizes}, type), do: Inference.Stock.build(kind, sizes, type)

  # What Bumblebee does with a type.
  defp typed(model, :f32), do: model

  defp typed(model, type) do
    type = Nx.Type.normalize!(type)
    policy = Axon.MixedPrecision.create_policy(params: type, compute: type, output: type)
    Axon.MixedPrecision.apply_policy(model, policy)
  end
end
