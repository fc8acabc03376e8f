# The models of inference.exs that Bumblebee has.

defmodule Inference.Stock do
  alias Bumblebee.{Audio, Diffusion, Multimodal, Text, Vision}

  @doc "Builds a model of a kind, and the shapes of its inputs."
  def build(kind, sizes, type), do: model(kind, sizes, type)

  @text_modules %{
    "bert" => Text.Bert,
    "distilbert" => Text.Distilbert,
    "roberta" => Text.Roberta,
    "albert" => Text.Albert,
    "llama" => Text.Llama
  }

  defp model(kind, s, type) when is_map_key(@text_modules, kind) do
    sizes =
      [
        vocab_size: s.vocabulary,
        max_positions: s.length + 2,
        hidden_size: s.hidden,
        num_blocks: s.layers,
        num_attention_heads: s.heads,
        intermediate_size: s.intermediate
      ] ++ if kind == "llama", do: [num_key_value_heads: s.kv_heads], else: []

    {stock(@text_modules[kind], sizes, type, & &1.hidden_state), text(s)}
  end

  defp model(kind, s, type) when kind in ["vit", "deit"] do
    module = %{"vit" => Vision.Vit, "deit" => Vision.Deit}[kind]

    sizes = [
      image_size: s.image,
      patch_size: s.patch,
      hidden_size: s.hidden,
      num_blocks: s.layers,
      num_attention_heads: s.heads,
      intermediate_size: s.intermediate
    ]

    {stock(module, sizes, type, & &1.hidden_state), pixels(s)}
  end

  defp model("convnext", s, type) do
    sizes = [patch_size: s.patch, hidden_sizes: s.widths, depths: s.depths]
    {stock(Vision.ConvNext, sizes, type, & &1.pooled_state), pixels(s)}
  end

  defp model("resnet", s, type) do
    sizes = [
      embedding_size: s.stem,
      hidden_sizes: s.widths,
      depths: s.depths,
      residual_block_type: String.to_atom(s.block)
    ]

    {stock(Vision.ResNet, sizes, type, & &1.pooled_state), pixels(s)}
  end

  defp model("swin", s, type) do
    sizes = [
      image_size: s.image,
      patch_size: s.patch,
      embedding_size: s.hidden,
      num_blocks: s.depths,
      num_attention_heads: s.heads,
      window_size: s.window
    ]

    {stock(Vision.Swin, sizes, type, & &1.pooled_state), pixels(s)}
  end

  defp model("whisper", s, type) do
    sizes =
      both(s) ++
        [feature_size: s.features, encoder_max_positions: div(s.frames, 2)] ++
        [decoder_max_positions: max(s.tokens, 448)]

    inputs = %{
      "input_features" => {{s.batch, s.frames, s.features}, :f32, nil},
      "decoder_input_ids" => {{s.batch, s.tokens}, :s64, s.vocabulary}
    }

    sizes = [architecture: :for_conditional_generation] ++ sizes
    {stock(Audio.Whisper, sizes, type, & &1.logits), inputs}
  end

  defp model(kind, s, type) when kind in ["t5", "bart"] do
    {module, sizes} =
      case kind do
        "t5" -> {Text.T5, [attention_head_size: s.head_size, intermediate_size: s.intermediate]}
        "bart" -> {Text.Bart, [max_positions: s.length + s.tokens]}
      end

    sizes = [architecture: :for_conditional_generation] ++ sizes ++ both(s, module)
    inputs = Map.put(text(s), "decoder_input_ids", {{s.batch, s.tokens}, :s64, s.vocabulary})
    {stock(module, sizes, type, & &1.logits), inputs}
  end

  defp model("clip", s, type) do
    text =
      Bumblebee.configure(Text.ClipText,
        vocab_size: s.vocabulary,
        max_positions: s.length,
        hidden_size: s.hidden,
        num_blocks: s.layers,
        num_attention_heads: s.heads,
        intermediate_size: 4 * s.hidden
      )

    vision =
      Bumblebee.configure(Vision.ClipVision,
        image_size: s.image,
        patch_size: s.patch,
        hidden_size: s.vision_hidden,
        num_blocks: s.vision_layers,
        num_attention_heads: s.vision_heads,
        intermediate_size: 4 * s.vision_hidden
      )

    sizes = [text_spec: text, vision_spec: vision, projection_size: s.projection]
    inputs = Map.merge(text(s), pixels(s))
    {stock(Multimodal.Clip, sizes, type, & &1.logits_per_text), inputs}
  end

  defp model("unet", s, type) do
    down = List.duplicate(:cross_attention_down_block, length(s.widths) - 1) ++ [:down_block]
    up = [:up_block | List.duplicate(:cross_attention_up_block, length(s.widths) - 1)]

    sizes = [
      sample_size: s.sample,
      hidden_sizes: s.widths,
      depth: s.depth,
      num_attention_heads: s.heads,
      cross_attention_size: s.cross,
      down_block_types: down,
      up_block_types: up
    ]

    inputs = %{
      "sample" => {{s.batch, s.sample, s.sample, 4}, :f32, nil},
      "timestep" => {{}, :s64, 1000},
      "encoder_hidden_state" => {{s.batch, s.length, s.cross}, :f32, nil}
    }

    {stock(Diffusion.UNet2DConditional, sizes, type, & &1.sample), inputs}
  end

  defp model("vae", s, type) do
    blocks = length(s.widths)

    sizes = [
      architecture: :decoder,
      sample_size: s.sample,
      hidden_sizes: s.widths,
      depth: s.depth,
      down_block_types: List.duplicate(:down_block, blocks),
      up_block_types: List.duplicate(:up_block, blocks)
    ]

    inputs = %{"sample" => {{s.batch, s.sample, s.sample, 4}, :f32, nil}}
    {stock(Diffusion.VaeKl, sizes, type, & &1.sample), inputs}
  end

  # The sizes of an encoder and those of a decoder are alike.
  defp both(s, module \\ Audio.Whisper) do
    all = [
      vocab_size: s.vocabulary,
      hidden_size: s.hidden,
      encoder_num_blocks: s.layers,
      decoder_num_blocks: s.layers,
      encoder_num_attention_heads: s.heads,
      decoder_num_attention_heads: s.heads,
      encoder_intermediate_size: s.intermediate,
      decoder_intermediate_size: s.intermediate
    ]

    Keyword.take(all, Map.keys(struct!(module)))
  end

  defp stock(module, sizes, type, output) do
    module |> Bumblebee.configure(sizes) |> Bumblebee.build_model(type: type) |> Axon.nx(output)
  end

  defp text(s) do
    shape = {s.batch, s.length}
    %{"input_ids" => {shape, :s64, s.vocabulary}, "attention_mask" => {shape, :s64, 1}}
  end

  defp pixels(s), do: %{"pixel_values" => {{s.batch, s.image, s.image, 3}, :f32, nil}}
end
