# Measures the inference of stock models of Bumblebee and Axon with random weights: milliseconds of the
# first call and of later ones, and memory.
#
#     cd test/suites
#     NX_PATH=…/nx/nx mix run ../bench/models/inference.exs --models bert,vit --type bf16
#
# Bumblebee and what it needs are checkouts beside NX_PATH, or where the variables of
# test/suites/mix.exs say; nothing is downloaded. NXVK_NODE is the node that runs it, or
# NXVK_TEST_SERVER and NXVK_TEST_COOKIE name a running one. The node's flag --cache-dir (in
# NXVK_NODE_ARGS) decides which kernels the first call finds compiled.
#
# Options:
#
#     --models   names, separated by commas: all of inference_models.exs if the option is not given
#     --type     f32, bf16 or f16: weights and arithmetic
#     --scale    base or tiny
#     --drawn    0             how many models with drawn sizes are measured besides
#     --seed     1             of what is drawn
#     --warm     3             seconds of calls before the timed ones, after the first ten
#     --runs     10            timed calls
#     --check                  compares each result with that of Nx.BinaryBackend as well
#     --explain                prints how a GPU would carry out each model instead, and runs nothing
#     --profile                prints the parts of a call with the time that each takes on the device
#     --trace                  prints how long tracing and explaining take, and runs nothing
#     --top      20            how many kinds of parts --explain and --profile list
#     --list                   prints the descriptions of the models
#
# The result is a line of JSON for each model. It has the description, from which
# inference_torch.py builds the same model for PyTorch. Measured, in milliseconds: "cold", the first
# call, tracing included; "tenth", the tenth; "read", the median of later calls; and "ms", a call in
# a row of them. Each call but those of the row has one element of its result read. "peak" is the most
# bytes of the device's memory that were used, "parameters" those of the parameters.

Code.require_file("inference_models.exs", __DIR__)

defmodule Inference do
  @switches [
    models: :string,
    type: :string,
    scale: :string,
    drawn: :integer,
    seed: :integer,
    warm: :integer,
    runs: :integer,
    check: :boolean,
    explain: :boolean,
    profile: :boolean,
    trace: :boolean,
    top: :integer,
    list: :boolean
  ]

  @defaults %{
    models: nil,
    type: "f32",
    scale: "base",
    drawn: 0,
    seed: 1,
    warm: 3,
    runs: 10,
    check: false,
    explain: false,
    profile: false,
    trace: false,
    top: 20,
    list: false
  }

  @types %{"f32" => :f32, "bf16" => :bf16, "f16" => :f16}

  def main(args) do
    {given, rest, wrong} = OptionParser.parse(args, strict: @switches)
    if rest != [] or wrong != [], do: raise("unknown arguments: #{inspect({rest, wrong})}")
    o = Map.merge(@defaults, Map.new(given))
    models = chosen(Inference.Models.list(o.scale), o.models)
    models = models ++ Inference.Models.draw(o.scale, o.seed, o.drawn)

    if o.list,
      do: Enum.each(models, &IO.puts(Jason.encode!(&1))),
      else: Enum.each(models, &one(o, &1))
  end

  defp chosen(models, nil), do: models

  defp chosen(models, names) do
    names = String.split(names, ",", trim: true)
    unknown = names -- Enum.map(models, & &1.name)
    if unknown != [], do: raise("no models of the names #{inspect(unknown)}")
    Enum.filter(models, &(&1.name in names))
  end

  # A process for each model, so that its tensors are garbage afterwards. A model that fails leaves the
  # others alone.
  defp one(o, description) do
    task =
      Task.async(fn ->
        try do
          {model, inputs} = Inference.Models.build(description, Map.fetch!(@types, o.type))
          run(o, model, inputs)
        rescue
          error ->
            IO.puts(:stderr, Exception.format(:error, error, __STACKTRACE__))
            %{error: error |> Exception.message() |> String.slice(0, 300)}
        end
      end)

    result = Task.await(task, :infinity)
    unless o.explain or o.trace, do: restart()

    %{type: o.type, scale: o.scale}
    |> Map.merge(description)
    |> Map.merge(result)
    |> Jason.encode!()
    |> IO.puts()
  end

  # The next model has a node of its own, whose memory's peak is that of the model.
  defp restart do
    if System.get_env("NXVK_TEST_SERVER") do
      NxVulkanGo.sweep()
    else
      Application.stop(:nx_vulkan_go)
      {:ok, _} = Application.ensure_all_started(:nx_vulkan_go)
    end
  end

  defp run(%{explain: true} = o, model, inputs), do: explain(o, model, inputs)
  defp run(%{profile: true} = o, model, inputs), do: profile(o, model, inputs)
  defp run(%{trace: true} = o, model, inputs), do: trace(o, model, inputs)
  defp run(o, model, inputs), do: measure(o, model, inputs)

  defp measure(o, model, inputs) do
    Nx.default_backend(NxVulkanGo.Backend)
    data = Nx.Defn.jit_apply(fn -> draw(inputs) end, [], compiler: NxVulkanGo)
    {init, predict} = Axon.build(model, seed: 1)

    parameters =
      Nx.Defn.jit_apply(init, [data, Axon.ModelState.empty()], compiler: NxVulkanGo)

    NxVulkanGo.sync()
    call = Nx.Defn.jit(predict, compiler: NxVulkanGo)

    # Until its fusions are compiled, a program runs one instruction after the other.
    [cold | first] = for _ <- 1..10, do: time(call, parameters, data)
    warm(call, parameters, data, System.monotonic_time(:second) + o.warm)
    read = for _ <- 1..o.runs, do: time(call, parameters, data)

    result = %{
      cold: cold,
      tenth: List.last(first),
      read: median(read),
      ms: row(o, call, parameters, data),
      peak: NxVulkanGo.memory().device.peak,
      parameters: bytes(parameters)
    }

    if o.check,
      do: Map.put(result, :difference, difference(call, predict, parameters, data)),
      else: result
  end

  # Floats are standard normal; the mask, drawn below one, leaves nothing out.
  defp draw(inputs) do
    {data, _} =
      Enum.map_reduce(inputs, Nx.Random.key(1), fn
        {name, {shape, type, 1}}, key ->
          {{name, Nx.broadcast(Nx.tensor(1, type: type), shape)}, key}

        {name, {shape, type, bound}}, key ->
          {x, key} =
            if bound,
              do: Nx.Random.randint(key, 0, bound, shape: shape, type: type),
              else: Nx.Random.normal(key, shape: shape, type: type)

          {{name, x}, key}
      end)

    Map.new(data)
  end

  # Calls in a row, of which the last is read.
  defp row(o, call, parameters, data) do
    start = System.monotonic_time(:microsecond)
    result = Enum.reduce(1..o.runs, nil, fn _, _ -> call.(parameters, data) end)
    read(result)
    since(start) / o.runs
  end

  defp warm(call, parameters, data, until) do
    time(call, parameters, data)
    if System.monotonic_time(:second) < until, do: warm(call, parameters, data, until)
  end

  defp time(call, parameters, data) do
    start = System.monotonic_time(:microsecond)
    read(call.(parameters, data))
    since(start)
  end

  defp read(result), do: result |> Nx.flatten() |> Nx.slice([0], [1]) |> Nx.to_binary()

  defp since(start), do: (System.monotonic_time(:microsecond) - start) / 1.0e3

  defp median(list), do: Enum.at(Enum.sort(list), div(length(list), 2))

  # The greatest difference from what Nx.BinaryBackend computes, over the greatest magnitude.
  defp difference(call, predict, parameters, data) do
    copy = &Nx.backend_copy(&1, Nx.BinaryBackend)
    actual = copy.(call.(parameters, data))
    {parameters, data} = {copy.(parameters), copy.(data)}

    Nx.with_default_backend(Nx.BinaryBackend, fn ->
      expected = predict.(parameters, data) |> Nx.as_type(:f64)
      difference = Nx.reduce_max(Nx.abs(Nx.subtract(expected, actual)))
      Nx.to_number(Nx.divide(difference, Nx.reduce_max(Nx.abs(expected))))
    end)
  end

  defp explain(o, model, inputs) do
    {predict, args} = traced_args(model, inputs)
    %{parts: parts} = NxVulkanGo.explain(predict, args, target: :gpu)
    kernels = Enum.flat_map(parts, & &1.kernels)
    report(parts, &sum(&1.kernels, fn k -> k.seconds end), o.top)
    params = bytes(args)

    %{
      parts: Enum.count(parts, &(&1.kernels != [])),
      dispatches: length(kernels),
      bytes: sum(kernels, & &1.bytes),
      flops: sum(kernels, & &1.flops),
      ms: 1000 * sum(kernels, & &1.seconds),
      params: params,
      live: params + Enum.max(Enum.map(parts, & &1.held))
    }
  end

  defp profile(o, model, inputs) do
    {predict, args} = traced_args(model, inputs)
    %{parts: parts} = NxVulkanGo.explain(predict, args, profile: true)
    measured = Enum.filter(parts, & &1.measured)
    report(measured, & &1.measured, o.top)
    %{parts: length(measured), ms: 1000 * sum(measured, & &1.measured)}
  end

  # How long a first call takes in the VM, and how long the node plans the program.
  defp trace(_, model, inputs) do
    {predict, args} = traced_args(model, inputs)
    {graph, _} = :timer.tc(fn -> Nx.Defn.debug_expr_apply(predict, args) end)
    {all, _} = :timer.tc(fn -> NxVulkanGo.explain(predict, args, target: :gpu) end)
    %{graph: graph / 1000, explained: all / 1000}
  end

  defp traced_args(model, inputs) do
    data = Map.new(inputs, fn {name, {shape, type, _}} -> {name, Nx.template(shape, type)} end)
    {init, predict} = Axon.build(model, seed: 1)
    {predict, [templates(Nx.Defn.debug_expr_apply(init, [data, Axon.ModelState.empty()])), data]}
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
      values = [ms, parts, kernels, bytes / 1.0e6, kind]
      format = "~8.3f ms ~5b parts ~5b dispatches ~10.1f MB  ~s"
      IO.puts(:stderr, :io_lib.format(format, values))
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

  defp templates(data), do: Nx.Defn.Composite.traverse(data, &Nx.to_template/1)

  defp bytes(data) when is_list(data), do: bytes(List.to_tuple(data))
  defp bytes(data), do: sum(Nx.Defn.Composite.flatten_list([data]), &Nx.byte_size/1)

  defp sum(list, value), do: list |> Enum.map(value) |> Enum.sum()
end

Inference.main(System.argv())
