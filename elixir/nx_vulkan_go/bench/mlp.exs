# What a training loop costs from the VM: a step of gradient descent on a perceptron
# 784-128-10 with cross-entropy, batches of 128, compiled and op by op; and a tiny
# program with a read of its result, beside Nx.BinaryBackend.
#
#     mix run bench/mlp.exs [steps]
#
# A step's weights go into the next one, and nothing is read before the last. Times
# are medians of rounds.

defmodule Perceptron do
  import Nx.Defn

  defn loss({w1, b1, w2, b2}, x, y) do
    hidden = Nx.max(Nx.dot(x, w1) + b1, 0)
    logits = Nx.dot(hidden, w2) + b2
    Nx.mean(Nx.logsumexp(logits, axes: [1]) - Nx.sum(y * logits, axes: [1]))
  end

  defn step({w1, b1, w2, b2} = params, x, y) do
    {_, {g1, h1, g2, h2}} = value_and_grad(params, &loss(&1, x, y))
    {w1 - 0.05 * g1, b1 - 0.05 * h1, w2 - 0.05 * g2, b2 - 0.05 * h2}
  end

  # Fifty operations on 64 elements.
  def tiny(x) do
    1..12
    |> Enum.reduce(x, fn _, x ->
      x |> Nx.multiply(0.5) |> Nx.add(0.25) |> Nx.tanh() |> Nx.subtract(0.125)
    end)
    |> Nx.exp()
    |> Nx.sum()
  end

  def inputs do
    key = Nx.Random.key(1)
    {w1, key} = Nx.Random.normal(key, 0, 0.05, shape: {784, 128}, type: :f32)
    {w2, key} = Nx.Random.normal(key, 0, 0.05, shape: {128, 10}, type: :f32)
    {x, key} = Nx.Random.uniform(key, shape: {128, 784}, type: :f32)
    {classes, _} = Nx.Random.randint(key, 0, 10, shape: {128, 1})
    y = Nx.equal(classes, Nx.iota({1, 10})) |> Nx.as_type(:f32)
    {{w1, Nx.broadcast(0.0, {128}), w2, Nx.broadcast(0.0, {10})}, x, y}
  end

  # The median time of a step in rounds of so many, in microseconds.
  def time(compiler, steps, rounds) do
    {params, x, y} = inputs()
    step = Nx.Defn.jit(&Perceptron.step/3, compiler: compiler)

    round = fn params ->
      params = Enum.reduce(1..steps, params, fn _, params -> step.(params, x, y) end)
      Nx.to_binary(elem(params, 3))
      params
    end

    params = round.(round.(params))
    Process.sleep(1000)
    params = round.(params)
    median(fn -> round.(params) end, rounds) / steps
  end

  def tiny_time(compiler, calls) do
    x = Nx.divide(Nx.iota({64}, type: :f32), 64)
    tiny = Nx.Defn.jit(&Perceptron.tiny/1, compiler: compiler)
    round = fn -> for _ <- 1..calls, do: Nx.to_number(tiny.(x)) end
    for _ <- 1..3, do: round.()
    Process.sleep(1000)
    median(round, 5) / calls
  end

  defp median(round, rounds) do
    times = for _ <- 1..rounds, do: elem(:timer.tc(round), 0)
    Enum.at(Enum.sort(times), div(rounds, 2))
  end
end

report = fn what, micros ->
  IO.puts("#{String.pad_trailing(what, 44)} #{Float.round(micros, 1)} us")
end

steps =
  case System.argv() do
    [steps | _] -> String.to_integer(steps)
    [] -> 2000
  end

Nx.default_backend(NxVulkanGo.Backend)
report.("50 operations on 64 elements, and a read", Perceptron.tiny_time(NxVulkanGo, 100))
report.("a step, compiled", Perceptron.time(NxVulkanGo, steps, 3))
report.("a step, op by op", Perceptron.time(Nx.Defn.Evaluator, max(1, div(steps, 10)), 3))
Nx.default_backend(Nx.BinaryBackend)
report.("50 operations on Nx.BinaryBackend", Perceptron.tiny_time(Nx.Defn.Evaluator, 20))
