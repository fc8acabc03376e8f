# A regression with Axon: Dense(4 → 32, tanh) and Dense(1), 100 steps of gradient descent, on
# Nx.BinaryBackend and on NxVulkanGo, eagerly and compiled, and on EXLA where it is there.
# It prints the losses beside each other and ends with PASS, or with FAIL and status 1,
# where they differ by more than 1e-4 of the first loss.
#
#     elixir examples/axon_training_loop.exs     # installs the packages from Hex first
#     mix run axon_training_loop.exs             # in a project that has them
#
# STEPS and POINTS in the environment change the size.

unless Code.ensure_loaded?(Axon),
  do: Mix.install([{:nx_vulkan_go, "~> 0.2"}, {:axon, "~> 0.8"}])

defmodule AxonTrainingLoop do
  import Nx.Defn

  @rate 0.05

  def model do
    Axon.input("x", shape: {nil, 4}) |> Axon.dense(32, activation: :tanh) |> Axon.dense(1)
  end

  defn loss(params, x, y), do: Nx.mean((predict(params, x) - y) ** 2)

  deftransformp predict(params, x) do
    {_init, predict} = Axon.build(model())
    predict.(Axon.ModelState.new(params), x)
  end

  defn step(params, x, y) do
    {loss, gradient} = value_and_grad(params, &loss(&1, x, y))
    {loss, descend(params, gradient)}
  end

  deftransformp descend(params, gradient) do
    Map.new(params, fn {layer, weights} ->
      {layer, Map.new(weights, fn {name, w} -> {name, descend_one(w, gradient[layer][name])} end)}
    end)
  end

  defnp descend_one(w, gradient), do: w - @rate * gradient

  # Drawn on Nx.BinaryBackend, so that all backends begin with the same numbers.
  def start(points) do
    Nx.default_backend(Nx.BinaryBackend)
    {x, _} = Nx.Random.normal(Nx.Random.key(42), 0.0, 1.0, shape: {points, 4})
    y = Nx.tanh(Nx.dot(x, Nx.tensor([[0.5], [-1.0], [0.25], [1.5]])))
    {init, _} = Axon.build(model(), seed: 11)
    {init.(Nx.template({1, 4}, :f32), Axon.ModelState.empty()).data, x, y}
  end

  # The losses of all steps, and seconds. They are read at the end, so that no step waits.
  def train({backend, compiler}, {params, x, y}, steps) do
    Nx.default_backend(backend)

    place = fn container ->
      Nx.Defn.Composite.traverse(container, &Nx.backend_copy(&1, backend))
    end

    {params, x, y} = {place.(params), place.(x), place.(y)}
    step = Nx.Defn.jit(&step/3, compiler: compiler)

    {microseconds, losses} =
      :timer.tc(fn ->
        {losses, _} = Enum.map_reduce(1..steps, params, fn _, params -> step.(params, x, y) end)
        Enum.map(losses, &Nx.to_number/1)
      end)

    {losses, microseconds / 1.0e6}
  end

  def backends do
    exla =
      if Code.ensure_loaded?(EXLA),
        do: [{"EXLA", {Module.concat(EXLA, Backend), EXLA}}],
        else: []

    [
      {"Nx.BinaryBackend", {Nx.BinaryBackend, Nx.Defn.Evaluator}},
      {"NxVulkanGo, eager", {NxVulkanGo.Backend, Nx.Defn.Evaluator}},
      {"NxVulkanGo, compiled", {NxVulkanGo.Backend, NxVulkanGo}}
    ] ++ exla
  end

  def row(cells), do: cells |> Enum.map_join("  ", &String.pad_leading(&1, 21)) |> IO.puts()
end

[steps, points] =
  for {name, default} <- [{"STEPS", "100"}, {"POINTS", "512"}],
      do: name |> System.get_env(default) |> String.to_integer()

start = AxonTrainingLoop.start(points)

results =
  for {name, place} <- AxonTrainingLoop.backends(),
      do: {name, AxonTrainingLoop.train(place, start, steps)}

AxonTrainingLoop.row(["step" | Enum.map(results, &elem(&1, 0))])

for step <- Enum.uniq([0, div(steps, 4), div(steps, 2), steps - 1]) do
  losses =
    for {_, {losses, _}} <- results, do: losses |> Enum.at(step) |> Float.round(6) |> to_string()

  AxonTrainingLoop.row(["#{step + 1}" | losses])
end

seconds = for {_, {_, seconds}} <- results, do: "#{Float.round(seconds, 2)}"
AxonTrainingLoop.row(["seconds" | seconds])

[{_, {expected, _}} | others] = results
tolerance = 1.0e-4 * hd(expected)

difference =
  for {_, {losses, _}} <- others, {e, a} <- Enum.zip(expected, losses), reduce: 0.0 do
    worst -> max(worst, abs(e - a))
  end

learnt? = List.last(expected) < hd(expected)
verdict = if difference <= tolerance and learnt?, do: "PASS", else: "FAIL"
IO.puts("#{verdict}: losses differ by #{difference} at most, #{tolerance} are allowed")
if verdict == "FAIL", do: System.halt(1)
