# Measures a training step of stock Bumblebee and Axon: milliseconds and memory, with random weights.
#
#     cd test/suites
#     NX_PATH=…/nx/nx mix run ../bench/models/training.exs --model gpt2 --type mixed --optimizer adamw
#
# Bumblebee and what it needs are checkouts beside NX_PATH, or where the variables of
# test/suites/mix.exs say; nothing is downloaded. NXVK_NODE is the node that runs it, or
# NXVK_TEST_SERVER and NXVK_TEST_COOKIE name a running one.
#
# The step is that of Axon.Loop.train_step, without the predictions that it returns for metrics. Its
# state is donated (Nx.donatable), where Nx has that.
#
# Options:
#
#     --model      gpt2, resnet, mlp or conv
#     --type       f32; bf16: weights and arithmetic; mixed: weights of f32 and arithmetic of
#                  bf16 by Axon.MixedPrecision; mixed_norms: the same, but norms and the loss
#                  compute in f32. Nx keeps a gradient in f32 from there on
#     --optimizer  sgd or adamw, of Polaris
#     --forward    the loss alone
#     --batch      8          for resnet 64, for mlp and conv 256; of each device
#     --devices    1          that share a step, by data_parallel
#     --layers     12         --hidden  768     --heads 12     (gpt2, 124M parameters)
#     --vocabulary 50257      --length  512                    (gpt2)
#     --image      224        (resnet)           --units 1024  (mlp)
#     --runs       10         timed runs; the median counts
#     --warm       20         seconds of runs before them: meanwhile the fusions of the step are compiled
#     --no-donate             keeps the state of before
#     --explain               prints how a GPU would carry the step out instead, and runs nothing; with
#                             devices the part of one of them
#     --profile               prints the parts of a step with the time that each takes on the device,
#                             apart from the others, and runs no step
#     --top        20         how many kinds of parts these two list, the costliest first
#
# The result is one line of JSON. Measured: "ms", a step in a row of them, all of which the devices have computed; "read", a step whose
# loss is read, and "call", the part of it before the call returns; "cold", the first step, tracing included; and "peak",
# the most bytes of the device's memory that were used. Explained: dispatches, bytes moved and
# estimated milliseconds, and the memory that the plan needs: "live" at the worst part, of that "params"
# for parameters and state.

defmodule Training do
  alias Bumblebee.{Text, Vision}

  @switches [
    model: :string,
    type: :string,
    optimizer: :string,
    forward: :boolean,
    batch: :integer,
    devices: :integer,
    layers: :integer,
    hidden: :integer,
    heads: :integer,
    vocabulary: :integer,
    length: :integer,
    image: :integer,
    units: :integer,
    runs: :integer,
    warm: :integer,
    donate: :boolean,
    explain: :boolean,
    profile: :boolean,
    top: :integer
  ]

  @defaults %{
    model: "gpt2",
    type: "f32",
    optimizer: "sgd",
    forward: false,
    devices: 1,
    layers: 12,
    hidden: 768,
    heads: 12,
    vocabulary: 50_257,
    length: 512,
    image: 224,
    units: 1024,
    runs: 10,
    warm: 20,
    donate: true,
    explain: false,
    profile: false,
    top: 20
  }

  @batches %{"gpt2" => 8, "resnet" => 64, "mlp" => 256, "conv" => 256}
  @classes 1000

  def main(args) do
    {given, rest, wrong} = OptionParser.parse(args, strict: @switches)
    if rest != [] or wrong != [], do: raise("unknown arguments: #{inspect({rest, wrong})}")
    o = Map.merge(@defaults, Map.new(given))
    o = Map.put_new(o, :batch, Map.fetch!(@batches, o.model))
    {init, step} = step(o, o |> model() |> precision(o))

    cond do
      o.explain -> explain(o, init, step)
      o.profile -> profile(o, init, step)
      true -> measure(o, init, step)
    end
  end

  defp model(%{model: "gpt2"} = o) do
    spec =
      Bumblebee.configure(Text.Gpt2,
        architecture: :for_causal_language_modeling,
        vocab_size: o.vocabulary,
        max_positions: o.length,
        hidden_size: o.hidden,
        num_blocks: o.layers,
        num_attention_heads: o.heads
      )

    spec |> Bumblebee.build_model(type: weights(o)) |> Axon.nx(& &1.logits)
  end

  defp model(%{model: "resnet"} = o) do
    spec =
      Bumblebee.configure(Vision.ResNet,
        architecture: :for_image_classification,
        num_labels: @classes
      )

    spec |> Bumblebee.build_model(type: weights(o)) |> Axon.nx(& &1.logits)
  end

  defp model(%{model: "mlp"} = o) do
    Axon.input("x", shape: {nil, 784})
    |> Axon.dense(o.units, activation: :relu)
    |> Axon.dropout(rate: 0.1)
    |> Axon.dense(o.units, activation: :relu)
    |> Axon.dense(@classes)
    |> typed(o)
  end

  defp model(%{model: "conv"} = o) do
    Axon.input("x", shape: {nil, 32, 32, 3})
    |> Axon.conv(32, kernel_size: 3, padding: :same, activation: :relu)
    |> Axon.batch_norm()
    |> Axon.max_pool(kernel_size: 2)
    |> Axon.conv(64, kernel_size: 3, padding: :same, activation: :relu)
    |> Axon.batch_norm()
    |> Axon.max_pool(kernel_size: 2)
    |> Axon.flatten()
    |> Axon.dropout(rate: 0.1)
    |> Axon.dense(@classes)
    |> typed(o)
  end

  # What Bumblebee does with a type.
  defp typed(model, %{type: "bf16"}),
    do: Axon.MixedPrecision.apply_policy(model, policy({:bf, 16}, {:bf, 16}, {:bf, 16}))

  defp typed(model, _), do: model

  defp weights(%{type: "bf16"}), do: :bf16
  defp weights(_), do: :f32

  @norms [:layer_norm, :batch_norm]

  defp precision(model, %{type: "mixed"}),
    do: Axon.MixedPrecision.apply_policy(model, policy({:f, 32}, {:bf, 16}, {:bf, 16}))

  defp precision(model, %{type: "mixed_norms"}) do
    model
    |> Axon.MixedPrecision.apply_policy(policy({:f, 32}, {:bf, 16}, {:bf, 16}), except: @norms)
    |> Axon.MixedPrecision.apply_policy(policy({:f, 32}, {:f, 32}, {:bf, 16}), only: @norms)
    |> Axon.nx(&Nx.as_type(&1, :f32))
  end

  defp precision(model, _), do: model

  defp policy(params, compute, output),
    do: Axon.MixedPrecision.create_policy(params: params, compute: compute, output: output)

  # The step takes and gives the state; of its results for metrics the loss alone is left.
  defp step(o, model) do
    {init, step} = Axon.Loop.train_step(model, loss(o), optimizer(o), seed: 1)
    {_, predict} = Axon.build(model, mode: :train, seed: 1)

    if o.forward do
      {init,
       fn {inputs, labels}, %{model_state: state} ->
         loss(o).(labels, predict.(state, inputs).prediction)
       end}
    else
      metrics = %{y_true: 0, y_pred: 0}
      {init, fn data, state -> data |> step.(Map.merge(state, metrics)) |> without_metrics() end}
    end
  end

  defp without_metrics(state), do: Map.drop(state, [:y_true, :y_pred])

  # Each token of a text predicts the one after it.
  defp loss(%{model: "gpt2"}) do
    fn labels, logits ->
      logits = logits[[.., 0..-2//1]]
      labels = Nx.new_axis(labels[[.., 1..-1//1]], -1)
      cross_entropy(labels, logits)
    end
  end

  defp loss(_), do: &cross_entropy(Nx.new_axis(&1, -1), &2)

  defp cross_entropy(labels, logits) do
    Axon.Losses.categorical_cross_entropy(labels, logits,
      from_logits: true,
      sparse: true,
      reduction: :mean
    )
  end

  defp optimizer(%{optimizer: "sgd"}), do: Polaris.Optimizers.sgd(learning_rate: 0.01)

  defp optimizer(%{optimizer: "adamw"}),
    do: Polaris.Optimizers.adamw(learning_rate: 1.0e-4, decay: 0.01)

  # Drawn, but for a mask that leaves nothing out.
  defp data(%{model: "gpt2"} = o) do
    {ids, _} = Nx.Random.randint(Nx.Random.key(1), 0, o.vocabulary, shape: {o.batch, o.length})
    {%{"input_ids" => ids, "attention_mask" => Nx.broadcast(1, ids)}, ids}
  end

  defp data(o) do
    {name, shape} =
      case o.model do
        "resnet" -> {"pixel_values", {o.batch, o.image, o.image, 3}}
        "conv" -> {"x", {o.batch, 32, 32, 3}}
        "mlp" -> {"x", {o.batch, 784}}
      end

    {x, key} = Nx.Random.normal(Nx.Random.key(1), shape: shape)
    {labels, _} = Nx.Random.randint(key, 0, @classes, shape: {o.batch})
    {%{name => x}, labels}
  end

  defp measure(o, init, step) do
    Nx.global_default_backend(NxVulkanGo.Backend)
    all = %{o | batch: o.batch * o.devices}
    data = Nx.Defn.jit(fn -> data(all) end, compiler: NxVulkanGo).()
    init = Nx.Defn.jit(init, compiler: NxVulkanGo)
    state = without_metrics(init.(data, Axon.ModelState.empty()))
    step = Nx.Defn.jit(step, [compiler: NxVulkanGo] ++ shared(o))

    # Until its fusions are compiled, a program runs one instruction after the other.
    {{cold, _}, state} = time(o, step, data, state)
    state = warm(o, step, data, state, System.monotonic_time(:second) + o.warm)

    {times, state} =
      Enum.map_reduce(1..o.runs, state, fn _, state -> time(o, step, data, state) end)

    {read, call} = Enum.unzip(times)

    line(o, %{
      ms: row(o, step, data, state),
      read: median(read),
      call: median(call),
      cold: cold,
      peak: NxVulkanGo.memory().device.peak
    })
  end

  defp shared(%{devices: 1}), do: []
  defp shared(o), do: [data_parallel: o.devices]

  # The time of a step in a row of them, as in a loop that does not look at each loss. The last loss is there before the state.
  defp row(o, step, data, state) do
    start = System.monotonic_time(:microsecond)

    {loss, _} =
      Enum.reduce(1..o.runs, {nil, state}, fn _, {_, state} -> one(o, step, data, state) end)

    Nx.to_binary(loss)
    for i <- 1..o.devices, do: NxVulkanGo.sync(device: i - 1)
    since(start) / o.runs
  end

  defp warm(o, step, data, state, until) do
    {_, state} = time(o, step, data, state)
    if System.monotonic_time(:second) < until, do: warm(o, step, data, state, until), else: state
  end

  defp time(o, step, data, state) do
    start = System.monotonic_time(:microsecond)
    {loss, state} = one(o, step, data, state)
    call = since(start)
    Nx.to_binary(loss)
    {{since(start), call}, state}
  end

  # The loss of a step, and the state after it.
  defp one(%{forward: true}, step, data, state), do: {step.(data, state), state}

  defp one(o, step, data, state) do
    state = step.(data, donated(o, state))
    {state.loss, state}
  end

  defp since(start), do: (System.monotonic_time(:microsecond) - start) / 1.0e3

  defp donated(%{donate: true, forward: false}, state) do
    if function_exported?(Nx, :donatable, 1), do: apply(Nx, :donatable, [state]), else: state
  end

  defp donated(_, state), do: state

  defp median(list), do: Enum.at(Enum.sort(list), div(length(list), 2))

  defp explain(o, init, step) do
    args = traced_args(o, init)
    %{parts: parts} = NxVulkanGo.explain(step, args, [target: :gpu] ++ divided(o))
    params = bytes(List.to_tuple(args))
    kernels = Enum.flat_map(parts, & &1.kernels)
    report(parts, &sum(&1.kernels, fn k -> k.seconds end), o.top)

    line(o, %{
      parts: Enum.count(parts, &(&1.kernels != [])),
      dispatches: length(kernels),
      bytes: sum(kernels, & &1.bytes),
      flops: sum(kernels, & &1.flops),
      ms: 1000 * sum(kernels, & &1.seconds),
      params: params,
      live: params + Enum.max(Enum.map(parts, & &1.held)),
      live_donated: Enum.max(Enum.map(parts, &(&1.held + &1.params)))
    })
  end

  defp profile(o, init, step) do
    args = traced_args(o, init)
    %{parts: parts} = NxVulkanGo.explain(step, args, [profile: true] ++ divided(o))
    measured = Enum.filter(parts, & &1.measured)
    report(measured, & &1.measured, o.top)
    line(o, %{parts: length(measured), ms: 1000 * sum(measured, & &1.measured)})
  end

  # How data_parallel divides the data and the state, of which the arguments have the part of one device.
  defp divided(%{devices: 1}), do: []

  defp divided(o),
    do: [mesh: %Nx.Mesh{name: "data", shape: {o.devices}}, input_shardings: [%{0 => [0]}, %{}]]

  defp traced_args(o, init) do
    data = traced(fn -> data(o) end, [])
    [data, without_metrics(traced(init, [data, Axon.ModelState.empty()]))]
  end

  # The parts by their operations, those first that take the longest.
  defp report(parts, seconds, top) do
    parts
    |> Enum.filter(&(&1.kernels != []))
    |> Enum.group_by(&kind/1)
    |> Enum.map(fn {kind, parts} ->
      kernels = Enum.flat_map(parts, & &1.kernels)

      {1000 * sum(parts, seconds), length(parts), length(kernels), sum(kernels, & &1.bytes), kind}
    end)
    |> Enum.sort(:desc)
    |> Enum.take(top)
    |> Enum.each(fn {ms, parts, kernels, bytes, kind} ->
      IO.puts(
        :stderr,
        :io_lib.format("~8.3f ms ~5b parts ~5b dispatches ~10.1f MB  ~s", [
          ms,
          parts,
          kernels,
          bytes / 1.0e6,
          kind
        ])
      )
    end)
  end

  # The operations of a part and the types of what they give, without ids.
  defp kind(part) do
    text =
      part.instructions
      |> Enum.map(&Regex.replace(~r/%\d+:?/, &1, ""))
      |> Enum.map_join("; ", &(&1 |> String.replace(" = ", "=") |> String.trim()))

    if String.length(text) > 400,
      do: String.slice(text, 0, 400) <> "… (#{length(part.instructions)})",
      else: text
  end

  defp traced(fun, args), do: templates(Nx.Defn.debug_expr_apply(fun, args))

  defp templates(data), do: Nx.Defn.Composite.traverse(data, &Nx.to_template/1)

  defp bytes(data), do: sum(Nx.Defn.Composite.flatten_list([data]), &Nx.byte_size/1)

  defp sum(list, value), do: list |> Enum.map(value) |> Enum.sum()

  defp line(o, result) do
    o
    |> Map.drop([:explain, :profile, :runs, :top, :warm])
    |> Map.merge(result)
    |> Jason.encode!()
    |> IO.puts()
  end
end

Training.main(System.argv())
