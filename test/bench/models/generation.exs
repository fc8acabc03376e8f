# Measures generation by stock Bumblebee: tokens a second of decoding, with random weights.
#
#     cd test/suites
#     NX_PATH=…/nx/nx mix run ../bench/models/generation.exs --model qwen3 --type bf16
#
# Bumblebee and what it needs are checkouts beside NX_PATH, or where the variables of
# test/suites/mix.exs say; nothing is downloaded. NXVK_NODE is the node that runs it, or
# NXVK_TEST_SERVER and NXVK_TEST_COOKIE name a running one.
#
# Options, with the values of Qwen3-0.6B where there is one:
#
#     --model      qwen3, llama or gpt2
#     --type       bf16, f16 or f32: of weights and arithmetic
#     --layers     28         --hidden  1024    --intermediate 3072
#     --heads      16         --kv-heads 8      --head-size    128   (qwen3)
#     --vocabulary 151936     --batch   1
#     --prompt     32         --tokens  256     prompt, and new tokens after it
#     --strategy   greedy or sample (top_k 50, top_p 0.9)
#     --streams    0          clients at once, each with a text of one sequence from one Nx.Serving
#     --runs       5          timed runs; the median counts
#     --explain               prints the dispatches and bytes of one round of a GPU instead, and runs
#                             nothing
#     --profile               prints the parts of one round with the time that each takes on the device,
#                             apart from the others
#
# The result is one line of JSON. "decode" is tokens a second of one sequence, from the difference
# between runs of all tokens and of one; "first" is the time to the first token in seconds, and "cold" that of
# the very first call, tracing included, with the parameters on the device. With --streams, "decode" is tokens a second of all clients together, and
# "first" and "between" are medians over clients and tokens.

defmodule Generation do
  alias Bumblebee.Text

  @switches [
    model: :string,
    type: :string,
    layers: :integer,
    hidden: :integer,
    intermediate: :integer,
    heads: :integer,
    kv_heads: :integer,
    head_size: :integer,
    vocabulary: :integer,
    batch: :integer,
    prompt: :integer,
    tokens: :integer,
    strategy: :string,
    streams: :integer,
    runs: :integer,
    explain: :boolean,
    profile: :boolean
  ]

  @defaults %{
    model: "qwen3",
    type: "bf16",
    layers: 28,
    hidden: 1024,
    intermediate: 3072,
    heads: 16,
    kv_heads: 8,
    head_size: 128,
    vocabulary: 151_936,
    batch: 1,
    prompt: 32,
    tokens: 256,
    strategy: "greedy",
    streams: 0,
    runs: 5,
    explain: false,
    profile: false
  }

  @modules %{"qwen3" => Text.Qwen3, "llama" => Text.Llama, "gpt2" => Text.Gpt2}
  @types %{"bf16" => :bf16, "f16" => :f16, "f32" => :f32}
  @strategies %{
    "greedy" => %{type: :greedy_search},
    "sample" => %{type: :multinomial_sampling, top_k: 50, top_p: 0.9}
  }

  def main(args) do
    {given, rest, wrong} = OptionParser.parse(args, strict: @switches)
    if rest != [] or wrong != [], do: raise("unknown arguments: #{inspect({rest, wrong})}")
    o = Map.merge(@defaults, Map.new(given))
    {spec, model} = model(o)

    cond do
      o.explain -> explain(o)
      o.profile -> profile(o, spec, model)
      o.streams > 0 -> streams(o, spec, model)
      true -> measure(o, spec, model)
    end
  end

  defp model(o) do
    module = Map.fetch!(@modules, o.model)

    sizes = [
      vocab_size: o.vocabulary,
      max_positions: o.prompt + o.tokens,
      hidden_size: o.hidden,
      intermediate_size: o.intermediate,
      num_blocks: o.layers,
      num_attention_heads: o.heads,
      num_key_value_heads: o.kv_heads,
      attention_head_size: o.head_size
    ]

    sizes = Keyword.take(sizes, Map.keys(struct!(module)))
    spec = Bumblebee.configure(module, [architecture: :for_causal_language_modeling] ++ sizes)
    {spec, Bumblebee.build_model(spec, type: Map.fetch!(@types, o.type))}
  end

  # No token ends a text before its length: the id of the end is none of the vocabulary.
  defp generate(o, spec, model, tokens) do
    config =
      Bumblebee.configure(Text.GenerationConfig,
        max_new_tokens: tokens,
        pad_token_id: 0,
        bos_token_id: 1,
        eos_token_id: o.vocabulary,
        strategy: Map.fetch!(@strategies, o.strategy)
      )

    Text.Generation.build_generate(model, spec, config)
  end

  defp measure(o, spec, model) do
    Nx.global_default_backend(NxVulkanGo.Backend)
    {init, _} = Axon.build(model, seed: 1, compiler: NxVulkanGo)
    parameters = init.(spec.__struct__.input_template(spec), Axon.ModelState.empty())
    inputs = inputs(o)
    wait(parameters)

    [{cold, one}, {_, all}] =
      for tokens <- [1, o.tokens] do
        generate = Nx.Defn.jit(generate(o, spec, model, tokens), compiler: NxVulkanGo)
        cold = time(generate, parameters, inputs)
        settle(generate, parameters, inputs, now() + 2)
        {cold, median(for _ <- 1..o.runs, do: time(generate, parameters, inputs))}
      end

    line(o, %{decode: (o.tokens - 1) / (all - one), cold: cold, first: one, seconds: all})
  end

  # The last parameter is there when all others are.
  defp wait(%Axon.ModelState{data: data}) do
    [data] |> Nx.Defn.Composite.flatten_list() |> List.last() |> Nx.sum() |> Nx.to_binary()
  end

  # Until its fusions are compiled, a program runs one instruction after the other.
  defp settle(generate, parameters, inputs, until) do
    time(generate, parameters, inputs)
    if now() < until, do: settle(generate, parameters, inputs, until)
  end

  # Each client gets its tokens from one serving, whose batches have all clients.
  defp streams(o, spec, model) do
    Nx.global_default_backend(NxVulkanGo.Backend)
    {init, _} = Axon.build(model, seed: 1, compiler: NxVulkanGo)
    parameters = init.(spec.__struct__.input_template(spec), Axon.ModelState.empty())
    generate = generate(o, spec, model, o.tokens)

    run = fn _key, options ->
      run = Nx.Defn.jit(generate, [compiler: NxVulkanGo] ++ options)
      fn batch -> run.(parameters, batch) end
    end

    serving = run |> Nx.Serving.new() |> Nx.Serving.streaming(hooks: [:token])

    {:ok, _} =
      Nx.Serving.start_link(
        serving: serving,
        name: :streams,
        batch_size: o.streams,
        batch_timeout: 1000
      )

    rounds = for _ <- 1..(3 + o.runs), do: stream_all(o)
    rounds = Enum.drop(rounds, 3)
    first = for texts <- rounds, {start, [at | _]} <- texts, do: at - start

    between =
      for texts <- rounds, {_, times} <- texts, {a, b} <- Enum.zip(times, tl(times)), do: b - a

    rates =
      for texts <- rounds do
        times = for {_, times} <- texts, do: times
        count = times |> Enum.map(&(length(&1) - 1)) |> Enum.sum()
        count / (Enum.max(Enum.map(times, &List.last/1)) - Enum.min(Enum.map(times, &hd/1)))
      end

    line(o, %{decode: median(rates), first: median(first), between: median(between)})
  end

  # When each client began, and when its tokens came, in seconds.
  defp stream_all(o) do
    inputs = inputs(%{o | batch: 1})

    1..o.streams
    |> Enum.map(fn i ->
      Task.async(fn ->
        input = %{inputs | "seed" => Nx.tensor([i], type: :s64)}
        start = now()
        events = Nx.Serving.batched_run(:streams, Nx.Batch.concatenate([input]))
        {start, for({:token, _} <- events, do: now())}
      end)
    end)
    |> Task.await_many(:infinity)
  end

  defp now, do: System.monotonic_time(:microsecond) / 1.0e6

  defp inputs(o) do
    shape = {o.batch, o.prompt}

    %{
      "input_ids" => Nx.remainder(Nx.iota(shape, type: :s64), o.vocabulary),
      "attention_mask" => Nx.broadcast(Nx.tensor(1, type: :s64), shape),
      "seed" => Nx.iota({o.batch}, type: :s64)
    }
  end

  defp time(generate, parameters, inputs) do
    start = System.monotonic_time(:microsecond)
    %{length: length} = generate.(parameters, inputs)
    Nx.to_binary(length)
    (System.monotonic_time(:microsecond) - start) / 1.0e6
  end

  defp median(list), do: Enum.at(Enum.sort(list), div(length(list), 2))

  # A layer is what one layer more adds.
  defp explain(o) do
    [less, more] =
      for layers <- [1, 2] do
        o = %{o | layers: layers}
        {spec, model} = model(o)
        parts = round_of(o, spec, model, target: :gpu)

        %{
          kernels: parts |> Enum.map(&length(&1.kernels)) |> Enum.sum(),
          bytes: parts |> Enum.map(& &1.bytes) |> Enum.sum()
        }
      end

    line(o, %{
      kernels_a_layer: more.kernels - less.kernels,
      bytes_a_layer: more.bytes - less.bytes,
      kernels_a_round: less.kernels + (o.layers - 1) * (more.kernels - less.kernels),
      bytes_a_round: less.bytes + (o.layers - 1) * (more.bytes - less.bytes)
    })
  end

  # One line for all parts of a round with the same operations.
  defp profile(o, spec, model) do
    parts = for part <- round_of(o, spec, model, profile: true), part.measured, do: part

    alike =
      Enum.group_by(parts, &{Enum.map(&1.instructions, fn line -> operation(line) end), &1.bytes})

    for {{operations, bytes}, list} <- Enum.sort_by(alike, fn {_, list} -> -seconds(list) end) do
      IO.puts(
        "#{length(list)} × #{Float.round(seconds(list) / length(list) * 1.0e6, 1)} µs, #{bytes} bytes, " <>
          "#{length(hd(list).kernels)} kernels: #{Enum.join(operations, " ")}"
      )
    end

    line(o, %{profile: seconds(parts), parts: length(parts)})
  end

  defp seconds(parts), do: parts |> Enum.map(& &1.measured) |> Enum.sum()

  # The operation of a line such as "%7:f32[4] = add %5, %6".
  defp operation(line),
    do: line |> String.split(" = ") |> List.last() |> String.split(" ") |> hd()

  # The parts of a round: those of the loop's body.
  defp round_of(o, spec, model, options) do
    template = spec.__struct__.input_template(spec)
    parameters = model |> Axon.trace_init(template) |> templates()
    generate = generate(o, spec, model, o.tokens)
    %{parts: parts} = NxVulkanGo.explain(generate, [parameters, templates(inputs(o))], options)
    for part <- parts, String.contains?(part.block, " body"), do: part
  end

  defp templates(data), do: Nx.Defn.Composite.traverse(data, &Nx.to_template/1)

  defp line(o, result) do
    o
    |> Map.drop([:explain, :profile, :runs])
    |> Map.merge(result)
    |> Jason.encode!()
    |> IO.puts()
  end
end

Generation.main(System.argv())
