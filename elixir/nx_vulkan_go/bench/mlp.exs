# Measures programs from a BEAM: a step of gradient descent on a perceptron 784-128-10 with
# cross-entropy and batches of 128, compiled and operation by operation; and a tiny program
# with a read of its result, compared with Nx.BinaryBackend.
#
#     mix run bench/mlp.exs [steps]
#
# The weights of a step are the operands of the next one, and only the last are read.
# Nx.Defn.Evaluator runs the step operation by operation: with Nx.Defn.jit it traces the
# function and its gradient at every call, with Nx.Defn.compile once. A backend that computes
# nothing shows how much of that is the work of Nx itself. Times are medians of rounds that
# alternate. The second column is the time of the calls; the rest is the wait for results.

Code.require_file("support/nothing.exs", __DIR__)

defmodule Perceptron do
  import Nx.Defn
  alias NxVulkanGo.Bench.Nothing

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

  def inputs({Nothing, _}) do
    t = &Nothing.tensor(&1, :f32)
    {{t.({784, 128}), t.({128}), t.({128, 10}), t.({10})}, t.({128, 784}), t.({128, 10})}
  end

  def inputs(_backend) do
    key = Nx.Random.key(1)
    {w1, key} = Nx.Random.normal(key, 0, 0.05, shape: {784, 128}, type: :f32)
    {w2, key} = Nx.Random.normal(key, 0, 0.05, shape: {128, 10}, type: :f32)
    {x, key} = Nx.Random.uniform(key, shape: {128, 784}, type: :f32)
    {classes, _} = Nx.Random.randint(key, 0, 10, shape: {128, 1})
    y = Nx.equal(classes, Nx.iota({1, 10})) |> Nx.as_type(:f32)
    {{w1, Nx.broadcast(0.0, {128}), w2, Nx.broadcast(0.0, {10})}, x, y}
  end

  # A function of a number of steps that does so many, from where it was, and gives the
  # microseconds until all were sent.
  def training(backend, function) do
    Nx.default_backend(backend)
    {params, x, y} = inputs(backend)
    step = function.(&Perceptron.step/3, [params, x, y])
    here = make_ref()
    Process.put(here, params)

    fn steps ->
      Nx.default_backend(backend)

      {sent, params} =
        :timer.tc(fn ->
          Enum.reduce(1..steps, Process.get(here), fn _, params -> step.(params, x, y) end)
        end)

      Nx.to_binary(elem(params, 3))
      Process.put(here, params)
      sent
    end
  end

  # The same for calls of the tiny program, each with a read, which gives nothing.
  def calling(backend, function) do
    Nx.default_backend(backend)
    x = Nx.divide(Nx.iota({64}, type: :f32), 64)
    tiny = function.(&Perceptron.tiny/1, [x])

    fn calls ->
      Nx.default_backend(backend)
      for _ <- 1..calls, do: Nx.to_number(tiny.(x))
      nil
    end
  end
end

steps =
  case System.argv() do
    [steps | _] -> String.to_integer(steps)
    [] -> 2000
  end

ours = {NxVulkanGo.Backend, []}
nothing = {NxVulkanGo.Bench.Nothing, []}
jit = fn compiler -> fn fun, _args -> Nx.Defn.jit(fun, compiler: compiler) end end
compile = fn compiler -> &Nx.Defn.compile(&1, &2, compiler: compiler) end
few = max(1, div(steps, 10))

cases = [
  {"a step, compiled", steps, Perceptron.training(ours, jit.(NxVulkanGo))},
  {"a step, op by op, traced at each call", few,
   Perceptron.training(ours, jit.(Nx.Defn.Evaluator))},
  {"  of that, by Nx", few, Perceptron.training(nothing, jit.(Nx.Defn.Evaluator))},
  {"a step, op by op, traced once", few, Perceptron.training(ours, compile.(Nx.Defn.Evaluator))},
  {"  of that, by Nx", few, Perceptron.training(nothing, compile.(Nx.Defn.Evaluator))},
  {"50 operations on 64 elements, and a read", 100, Perceptron.calling(ours, jit.(NxVulkanGo))},
  {"the same on Nx.BinaryBackend", 20,
   Perceptron.calling({Nx.BinaryBackend, []}, jit.(Nx.Defn.Evaluator))}
]

# The node compiles a program that it has seen several times.
for _ <- 1..2, {_, count, round} <- cases, do: round.(count)
Process.sleep(1000)
for {_, count, round} <- cases, do: round.(count)

rounds =
  for _ <- 1..5 do
    for {_, count, round} <- cases do
      {micros, sent} = :timer.tc(fn -> round.(count) end)
      {micros / count, sent && sent / count}
    end
  end

median = &(&1 |> Enum.sort() |> Enum.at(2) |> Float.round(1))

for {{what, _, _}, times} <- Enum.zip(cases, Enum.zip_with(rounds, & &1)) do
  {whole, sent} = Enum.unzip(times)
  calls = if hd(sent), do: ", #{median.(sent)} us to call", else: ""
  IO.puts("#{String.pad_trailing(what, 44)} #{median.(whole)} us#{calls}")
end
