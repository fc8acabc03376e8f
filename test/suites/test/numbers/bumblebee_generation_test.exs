defmodule Suites.BumblebeeGenerationNumbersTest do
  # Texts that tiny models of Bumblebee go on with, token for token beside Nx.BinaryBackend,
  # by each strategy.
  use ExUnit.Case, async: false

  import Suites.Numbers
  alias Bumblebee.Text

  # Nx.BinaryBackend takes minutes for some, on a busy machine many.
  @moduletag timeout: :infinity

  @tiny [
    vocab_size: 61,
    max_positions: 24,
    hidden_size: 32,
    intermediate_size: 40,
    encoder_intermediate_size: 40,
    decoder_intermediate_size: 40,
    num_blocks: 2,
    encoder_num_blocks: 2,
    decoder_num_blocks: 2,
    num_attention_heads: 4,
    encoder_num_attention_heads: 4,
    decoder_num_attention_heads: 4,
    num_key_value_heads: 2,
    attention_head_size: 8,
    # Wide enough apart that the next token is no matter of rounding.
    initializer_scale: 0.5
  ]

  @strategies [
    greedy_search: %{type: :greedy_search},
    contrastive_search: %{type: :contrastive_search, top_k: 3, alpha: 0.6},
    multinomial_sampling: %{type: :multinomial_sampling, top_k: nil, top_p: nil}
  ]

  for {module, architecture} <- [
        {Text.Gpt2, :for_causal_language_modeling},
        {Text.Llama, :for_causal_language_modeling},
        {Text.Bart, :for_conditional_generation},
        {Text.T5, :for_conditional_generation}
      ],
      {name, strategy} <- @strategies,
      compiler <- [Nx.Defn.Evaluator, NxVulkanGo] do
    test "#{inspect(module)} by #{name} and #{inspect(compiler)}" do
      generates(
        unquote(module),
        unquote(architecture),
        unquote(Macro.escape(strategy)),
        unquote(compiler)
      )
    end
  end

  defp generates(module, architecture, strategy, compiler) do
    tiny = Keyword.take(@tiny, Map.keys(struct!(module)))
    spec = Bumblebee.configure(module, [architecture: architecture] ++ tiny)
    model = Bumblebee.build_model(spec)

    config =
      Bumblebee.configure(Text.GenerationConfig,
        max_new_tokens: 8,
        no_repeat_ngram_length: 2,
        pad_token_id: 0,
        bos_token_id: 1,
        eos_token_id: 2,
        decoder_start_token_id: 1,
        strategy: strategy
      )

    generate = Text.Generation.build_generate(model, spec, config)
    {init, _} = Axon.build(model, seed: 3)

    data =
      on({Nx.BinaryBackend, Nx.Defn.Evaluator}, fn ->
        {init.(module.input_template(spec), Axon.ModelState.empty()), inputs()}
      end)

    {expected, actual} =
      both(compiler, data, fn {parameters, inputs} ->
        %{token_ids: ids, length: length} = Nx.Defn.jit_apply(generate, [parameters, inputs])
        {Nx.to_list(ids), Nx.to_list(length)}
      end)

    assert expected == actual
    {ids, _lengths} = expected
    assert ids |> List.flatten() |> Enum.uniq() |> length() > 2
  end

  defp inputs do
    %{
      "input_ids" => Nx.tensor([[0, 0, 10, 20, 30, 40], [5, 50, 7, 33, 21, 9]]),
      "attention_mask" => Nx.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]]),
      "seed" => Nx.tensor([3, 4], type: :s64)
    }
  end
end
