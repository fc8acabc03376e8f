defmodule Suites.BumblebeeServingNumbersTest do
  # Sixteen clients at once, each with a prompt of its own, stream the tokens of a tiny model of Bumblebee
  # from one serving. A client that is killed in the middle of a long text ends it.
  use ExUnit.Case, async: false

  import Suites.Numbers
  alias Bumblebee.Text

  # Nx.BinaryBackend takes minutes for some, on a busy machine many.
  @moduletag timeout: :infinity
  @clients 16
  @tokens 10

  @tiny [
    vocab_size: 61,
    hidden_size: 32,
    intermediate_size: 40,
    num_blocks: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    # Wide enough apart that the next token is no matter of rounding.
    initializer_scale: 0.5
  ]

  defp model(positions) do
    spec =
      Bumblebee.configure(
        Text.Llama,
        [architecture: :for_causal_language_modeling, max_positions: positions] ++ @tiny
      )

    model = Bumblebee.build_model(spec)

    parameters =
      on({Nx.BinaryBackend, Nx.Defn.Evaluator}, fn ->
        {init, _} = Axon.build(model, seed: 3)
        init.(Text.Llama.input_template(spec), Axon.ModelState.empty())
      end)

    {spec, model, parameters}
  end

  # No token ends a text before its length.
  defp generate({spec, model, _parameters}, tokens) do
    config =
      Bumblebee.configure(Text.GenerationConfig,
        max_new_tokens: tokens,
        pad_token_id: 0,
        bos_token_id: 1,
        eos_token_id: 61,
        strategy: %{type: :greedy_search}
      )

    Text.Generation.build_generate(model, spec, config)
  end

  defp serving({_, _, parameters} = model, tokens) do
    generate = generate(model, tokens)
    parameters = Nx.backend_copy(parameters, NxVulkanGo.Backend)

    run = fn _key, options ->
      run = Nx.Defn.jit(generate, [compiler: NxVulkanGo] ++ options)
      fn batch -> run.(parameters, batch) end
    end

    run |> Nx.Serving.new() |> Nx.Serving.streaming(hooks: [:token])
  end

  defp prompt(i) do
    %{
      "input_ids" => Nx.tensor([for(k <- 1..5, do: rem(i * 7 + k * 11, 58) + 3)]),
      "attention_mask" => Nx.broadcast(Nx.tensor(1), {1, 5}),
      "seed" => Nx.tensor([i], type: :s64)
    }
  end

  defp batch(i), do: Nx.Batch.concatenate([prompt(i)])

  setup do
    test = self()
    tell = fn _event, measurements, metadata, _ -> send(test, {:hook, measurements, metadata}) end
    :telemetry.attach(__MODULE__, [:nx_vulkan_go, :hook], tell, nil)
    on_exit(fn -> :telemetry.detach(__MODULE__) end)
  end

  test "sixteen clients stream texts of their own" do
    model = {_, _, parameters} = model(24)

    expected =
      on({Nx.BinaryBackend, Nx.Defn.Evaluator}, fn ->
        prompts = for i <- 1..@clients, do: prompt(i)

        all =
          Map.new(hd(prompts), fn {key, _} ->
            {key, Nx.concatenate(Enum.map(prompts, & &1[key]))}
          end)

        %{token_ids: ids} = generate(model, @tokens).(parameters, all)
        Nx.to_list(ids)
      end)

    Nx.with_default_backend(Nx.BinaryBackend, fn ->
      start_supervised!(
        {Nx.Serving,
         serving: serving(model, @tokens),
         name: __MODULE__.Texts,
         batch_size: @clients,
         batch_timeout: 200}
      )

      clients =
        for i <- 1..@clients do
          Task.async(fn ->
            for {:token, %{token_id: id}} <- Nx.Serving.batched_run(__MODULE__.Texts, batch(i)),
                do: Nx.to_number(id[0])
          end)
        end

      assert Task.await_many(clients, 300_000) == expected
      assert expected |> Enum.uniq() |> length() > @clients / 2
    end)

    assert_received {:hook, %{count: 1, elapsed: elapsed, interval: elapsed},
                     %{name: :token, key: key}}

    assert_received {:hook, %{count: 2, interval: interval}, %{name: :token, key: ^key}}
    assert elapsed > 0 and interval > 0
  end

  test "a client that is killed ends its text, and its memory is free" do
    rounds = 3000
    serving = serving(model(rounds + 8), rounds)
    test = self()
    NxVulkanGo.sweep()
    before = NxVulkanGo.memory().session

    run = fn ->
      serving
      |> Nx.Serving.run(batch(1))
      |> Stream.filter(&match?({:token, _}, &1))
      |> Enum.each(fn _ -> send(test, {:token, System.monotonic_time(:millisecond)}) end)
    end

    kill = fn tokens ->
      client = spawn(fn -> Nx.with_default_backend(Nx.BinaryBackend, run) end)

      times =
        for _ <- 1..tokens,
            do: receive(do: ({:token, at} -> at), after: (120_000 -> flunk("no token")))

      ref = Process.monitor(client)
      Process.exit(client, :kill)
      assert_receive {:DOWN, ^ref, _, _, :killed}
      times
    end

    # In different places of a round.
    for tokens <- [8, 11, 13, 17, 21], do: kill.(tokens)
    times = kill.(24)
    round = max(List.last(times) - Enum.at(times, 3), 1) / 20

    # Waits for all that runs.
    start = System.monotonic_time(:millisecond)
    NxVulkanGo.sweep()
    NxVulkanGo.sync()
    NxVulkanGo.sweep()
    waited = System.monotonic_time(:millisecond) - start
    assert waited < max(rounds / 10 * round, 2000), "#{waited} ms, and a round takes #{round} ms"
    assert NxVulkanGo.memory().session.bytes <= before.bytes
  end
end
