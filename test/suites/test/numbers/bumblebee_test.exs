defmodule Suites.BumblebeeNumbersTest do
  # The families of models of Bumblebee, each architecture of them, tiny and with parameters
  # that are drawn, so that nothing is downloaded: what they compute beside Nx.BinaryBackend.
  use ExUnit.Case, async: false

  import Suites.Numbers
  alias Bumblebee.{Audio, Diffusion, Multimodal, Text, Vision}

  # Nx.BinaryBackend takes minutes for some, on a busy machine many.
  @moduletag timeout: :infinity

  # What a model has of these is so. Heads are of eight features, windows of attention and
  # tables of positions shorter than sequences could be.
  @tiny [
    vocab_size: 61,
    max_positions: 24,
    max_spatial_positions: 24,
    embedding_size: 16,
    hidden_size: 32,
    encoder_hidden_size: 32,
    intermediate_size: 40,
    encoder_intermediate_size: 40,
    decoder_intermediate_size: 40,
    projection_size: 24,
    num_blocks: 2,
    encoder_num_blocks: 2,
    decoder_num_blocks: 2,
    num_attention_heads: 4,
    encoder_num_attention_heads: 4,
    decoder_num_attention_heads: 4,
    num_key_value_heads: 2,
    attention_head_size: 8,
    attention_window_size: 4,
    local_attention_window: 4,
    attention_scale_base: 8,
    relative_attention_num_buckets: 8,
    relative_attention_max_distance: 12,
    image_size: 16,
    patch_size: 8,
    num_labels: 3,
    initializer_scale: 0.3
  ]

  @text [
    Text.Albert,
    Text.Bart,
    Text.Bert,
    Text.Blenderbot,
    Text.BlipText,
    Text.ClipText,
    Text.Distilbert,
    Text.Gemma3Text,
    Text.Gpt2,
    Text.GptBigCode,
    Text.Llama,
    Text.M2m100,
    Text.Mbart,
    Text.Mistral,
    Text.ModernBert,
    Text.ModernBertDecoder,
    Text.MpNet,
    Text.NomicBert,
    Text.Phi,
    Text.Qwen3,
    Text.Roberta,
    Text.SmolLm3,
    Text.T5
  ]

  @families Enum.map(@text, &{&1, []}) ++
              [
                # The activation they have otherwise is none of Axon's layers.
                {Text.Gemma, [activation: :gelu]},
                {Text.Phi3, [activation: :gelu]},
                # It has no padding token otherwise, which its classification looks for.
                {Text.GptNeoX, [pad_token_id: 0]},
                {Vision.BlipVision, []},
                {Vision.ClipVision, []},
                {Vision.ConvNext,
                 [patch_size: 4, hidden_sizes: [8, 16, 24, 32], depths: [1, 1, 2, 1]]},
                {Vision.Deit, []},
                {Vision.DinoV2, []},
                {Vision.ResNet,
                 [embedding_size: 8, hidden_sizes: [16, 24, 32, 40], depths: [1, 1, 2, 1]]},
                {Vision.Swin,
                 [
                   image_size: 32,
                   patch_size: 2,
                   window_size: 4,
                   num_blocks: [1, 2],
                   num_attention_heads: [2, 4]
                 ]},
                {Vision.Vit, []},
                {Audio.Whisper,
                 [feature_size: 8, encoder_max_positions: 12, decoder_max_positions: 24]},
                {Multimodal.LayoutLm, []},
                {Multimodal.Clip, [text: Text.ClipText, vision: Vision.ClipVision]},
                {Multimodal.Blip, [text: Text.BlipText, vision: Vision.BlipVision]},
                {Diffusion.VaeKl,
                 [
                   sample_size: 4,
                   hidden_sizes: [32, 64],
                   down_block_types: [:down_block, :down_block],
                   up_block_types: [:up_block, :up_block]
                 ]},
                {Diffusion.UNet2DConditional,
                 [
                   sample_size: 4,
                   hidden_sizes: [32, 32],
                   depth: 1,
                   num_attention_heads: 4,
                   cross_attention_size: 16,
                   down_block_types: [:cross_attention_down_block, :down_block],
                   up_block_types: [:up_block, :cross_attention_up_block]
                 ]},
                {Diffusion.ControlNet,
                 [
                   sample_size: 4,
                   hidden_sizes: [32, 32],
                   depth: 1,
                   num_attention_heads: 4,
                   cross_attention_size: 16,
                   conditioning_embedding_hidden_sizes: [4, 8],
                   down_block_types: [:cross_attention_down_block, :down_block],
                   up_block_types: [:up_block, :cross_attention_up_block]
                 ]}
              ]

  for {module, options} <- @families, architecture <- module.architectures() do
    test "#{inspect(module)} #{inspect(architecture)}" do
      agrees(unquote(module), unquote(architecture), unquote(options), :f32, 2.0e-5)
    end
  end

  # One digit of the type, of numbers of the magnitude of the largest, and some more: each
  # backend rounds where it may.
  for {type, tolerance} <- [f16: 1.0e-2, bf16: 6.0e-2],
      {module, options} <- @families,
      module in ([Text.Bert, Text.Gpt2, Text.Llama, Text.T5, Vision.Vit, Vision.ResNet] ++
                   [Vision.ConvNext, Vision.Swin, Audio.Whisper]) do
    test "#{inspect(module)} of #{type}" do
      agrees(unquote(module), :base, unquote(options), unquote(type), unquote(tolerance))
    end
  end

  defp agrees(module, architecture, options, type, tolerance) do
    spec = spec(module, [architecture: architecture] ++ options)
    model = Bumblebee.build_model(spec, type: type)
    {init, predict} = Axon.build(model, seed: 7)
    data = on({Nx.BinaryBackend, Nx.Defn.Evaluator}, fn -> start(spec, init) end)
    run = fn {parameters, inputs} -> leaves(predict.(parameters, inputs)) end

    for compiler <- [Nx.Defn.Evaluator, NxVulkanGo] do
      {expected, actual} = both(compiler, data, run)
      assert length(expected) == length(actual) and expected != []
      for {e, a} <- Enum.zip(expected, actual), do: near(e, a, tolerance)
    end
  end

  defp near(expected, actual, tolerance) do
    [e, a] = for t <- [expected, actual], do: Nx.as_type(Suites.Value.plain(t), :f64)
    assert Nx.shape(e) == Nx.shape(a) and Nx.type(expected) == Nx.type(actual)
    scale = e |> Nx.abs() |> Nx.reduce_max() |> Nx.to_number()
    distance = Nx.subtract(e, a) |> Nx.abs() |> Nx.reduce_max() |> Nx.to_number()
    assert is_float(scale), "the model itself is not finite: #{inspect(e)}"
    assert distance <= tolerance * scale, "#{distance} beside #{scale}"
  end

  # A configuration with what it has of those that are tiny; models of two have tiny ones.
  defp spec(module, options) do
    {parts, options} = Keyword.split(options, [:text, :vision])
    has = Map.keys(struct!(module))
    tiny = Keyword.take(@tiny, has)
    parts = for {part, module} <- parts, do: {:"#{part}_spec", spec(module, part(module))}
    Bumblebee.configure(module, Keyword.merge(tiny, parts ++ options))
  end

  defp part(Text.BlipText), do: [architecture: :for_causal_language_modeling]
  defp part(_module), do: [architecture: :base]

  # Parameters and inputs, on Nx.BinaryBackend.
  defp start(%module{} = spec, init) do
    inputs =
      for {name, template} <- module.input_template(spec),
          into: %{},
          do: {name, input(name, template)}

    {init.(inputs, Axon.ModelState.empty()), inputs}
  end

  # Two of a batch; sequences of six, of tokens that differ; of three where one is chosen.
  defp input(name, template) do
    shape = shape(name, Tuple.to_list(Nx.shape(template)))
    key = Nx.Random.key(:erlang.phash2(name))

    case Nx.type(template) do
      {:f, _} = type -> elem(Nx.Random.normal(key, 0.0, 1.0, shape: shape, type: type), 0)
      type -> elem(Nx.Random.randint(key, 1, 60, shape: shape, type: type), 0)
    end
  end

  defp shape(_name, []), do: {}
  defp shape("attention_mask", [1, 1]), do: {2, 6}
  defp shape(_name, [1, 1, 1]), do: {2, 3, 6}
  defp shape(_name, [1, 1]), do: {2, 6}
  defp shape("encoder_hidden_state", [1, 1, size]), do: {2, 5, size}
  defp shape(_name, [1 | rest]), do: List.to_tuple([2 | rest])
end
