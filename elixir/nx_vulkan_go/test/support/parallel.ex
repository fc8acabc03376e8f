defmodule NxVulkanGo.Parallel do
  @moduledoc false
  # Functions with `data_parallel:`, in a VM whose server has several devices.

  @doc "Steps of Adam for a drawn network, whole and over devices; returns the greatest difference, and where the result is."
  def train(seed, devices, steps, rows, options \\ []) do
    key = Nx.Random.key(seed)
    {w, key} = Nx.Random.normal(key, shape: {5, 4})
    {b, key} = Nx.Random.normal(key, shape: {4})
    zero = fn t -> Nx.broadcast(0.0, t) end

    state = %{
      w: w,
      b: b,
      m: {zero.(w), zero.(b)},
      v: {zero.(w), zero.(b)},
      loss: Nx.tensor(0.0),
      out: Nx.broadcast(0.0, {rows, 4})
    }

    batches =
      Enum.scan(1..steps, {nil, key}, fn _, {_, key} ->
        {x, key} = Nx.Random.normal(key, shape: {rows, 5})
        {%{x: x, y: Nx.sin(Nx.dot(x, Nx.broadcast(0.5, {5, 4}))), step: Nx.tensor(1)}, key}
      end)

    [want, got] =
      for options <- [
            [compiler: Nx.Defn.Evaluator],
            [compiler: NxVulkanGo, data_parallel: devices] ++ options
          ] do
        step = Nx.Defn.jit(&step/2, options)
        Enum.reduce(batches, state, fn {batch, _}, state -> step.(batch, state) end)
      end

    difference =
      Enum.zip_with(flatten(want), flatten(got), fn a, b ->
        b = Nx.backend_copy(b, Nx.BinaryBackend)
        true = a.shape == b.shape
        Nx.subtract(a, b) |> Nx.abs() |> Nx.reduce_max() |> Nx.to_number()
      end)
      |> Enum.max()

    {difference, got.w.data.session.device, length(got.w.data.replicas)}
  end

  defp flatten(state), do: Nx.Defn.Composite.flatten_list([state])

  defp step(%{x: x, y: y}, %{w: w, b: b, m: {mw, mb}, v: {vw, vb}}) do
    {{loss, out}, {gw, gb}} =
      Nx.Defn.value_and_grad(
        {w, b},
        fn {w, b} ->
          out = Nx.tanh(Nx.add(Nx.dot(x, w), b))
          {Nx.mean(Nx.pow(Nx.subtract(out, y), 2)), out}
        end,
        &elem(&1, 0)
      )

    {w, mw, vw} = adam(w, gw, mw, vw)
    {b, mb, vb} = adam(b, gb, mb, vb)
    %{w: w, b: b, m: {mw, mb}, v: {vw, vb}, loss: loss, out: out}
  end

  defp adam(p, g, m, v) do
    m = Nx.add(Nx.multiply(0.9, m), Nx.multiply(0.1, g))
    v = Nx.add(Nx.multiply(0.99, v), Nx.multiply(0.01, Nx.multiply(g, g)))
    {Nx.subtract(p, Nx.divide(Nx.multiply(0.05, m), Nx.add(Nx.sqrt(v), 0.1))), m, v}
  end

  @doc "Bytes that devices import from each other in calls after the first one."
  def imported(rounds) do
    w = Nx.iota({200, 200}, type: :f32)

    step =
      Nx.Defn.jit(fn x, w -> Nx.add(w, Nx.dot(Nx.transpose(x), x)) end,
        compiler: NxVulkanGo,
        data_parallel: 2
      )

    x = Nx.iota({4, 200}, type: :f32, backend: Nx.BinaryBackend)
    w = step.(x, w)
    before = count()
    w = Enum.reduce(1..rounds, w, fn _, w -> step.(x, w) end)
    Nx.to_number(w[0][0])
    count() - before
  end

  defp count, do: NxVulkanGo.metrics().imported_bytes_total |> Map.values() |> Enum.max()

  @doc "Calls with a number of rows; returns the sum and the number of devices that had a part."
  def rows(rows, options) do
    sum = Nx.Defn.jit(&Nx.add(Nx.sum(&1), &2), [compiler: NxVulkanGo] ++ options)
    t = sum.(Nx.iota({rows}), Nx.tensor([1, 2]))
    {Nx.to_flat_list(t), t.data.session.device, 1 + length(t.data.replicas)}
  rescue
    error -> {error.__struct__, Exception.message(error)}
  end

  @doc "Random numbers over devices and by one; whether they are the same."
  def random?(devices) do
    noise = fn x, key -> elem(Nx.Random.uniform(key, shape: Nx.shape(x)), 0) |> Nx.add(x) end
    args = [Nx.iota({8, 3}, type: :f32), Nx.Random.key(3)]

    [one, many] =
      for options <- [[], [data_parallel: devices]],
          do:
            noise
            |> Nx.Defn.jit([compiler: NxVulkanGo] ++ options)
            |> apply(args)
            |> Nx.to_binary()

    one == many
  end

  @doc "Buffers of each device after steps whose results are dropped."
  def left(steps) do
    for _ <- 1..steps, do: rows(8, data_parallel: 2)
    :erlang.garbage_collect()

    for device <- [0, 1] do
      NxVulkanGo.sweep(device: device)
      NxVulkanGo.memory(device: device).session.buffers
    end
  end
end
