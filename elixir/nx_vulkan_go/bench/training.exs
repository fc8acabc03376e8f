# A step of gradient descent on Dense(4 -> 32, tanh) -> Dense(1), compiled, op by
# op on the device, and on Nx.BinaryBackend, by batch size:
#
#     mix run bench/training.exs [batch size ...]
#
# Each time is the median of rounds of steps that take turns, the weights of each step
# going into the next, with one read at the end of a round.

defmodule Training do
  import Nx.Defn

  defn loss({w1, b1, w2, b2}, x, y) do
    hidden = Nx.tanh(Nx.dot(x, w1) + b1)
    error = Nx.dot(hidden, w2) + b2 - y
    Nx.mean(error * error)
  end

  defn step(params, x, y) do
    {w1, b1, w2, b2} = params
    {g1, h1, g2, h2} = grad(params, &loss(&1, x, y))
    {w1 - 0.05 * g1, b1 - 0.05 * h1, w2 - 0.05 * g2, b2 - 0.05 * h2}
  end

  def params(backend) do
    weights = fn shape ->
      size = Tuple.product(shape)
      values = for i <- 0..(size - 1), do: :math.sin(i) / 4
      Nx.tensor(values, type: :f32, backend: backend) |> Nx.reshape(shape)
    end

    {weights.({4, 32}), weights.({32}), weights.({32, 1}), weights.({1})}
  end

  def data(batch, backend) do
    x = for i <- 0..(batch * 4 - 1), do: :math.cos(i)
    x = Nx.tensor(x, type: :f32, backend: backend) |> Nx.reshape({batch, 4})
    {x, Nx.sum(x, axes: [1], keep_axes: true)}
  end

  @doc "A function of a number of steps that does so many, from where it was, and its time for one."
  def rounds(backend, compiler, batch) do
    Nx.default_backend(backend)
    {x, y} = data(batch, backend)
    step = Nx.Defn.jit(&Training.step/3, compiler: compiler)
    here = make_ref()
    Process.put(here, params(backend))

    fn steps ->
      Nx.default_backend(backend)

      {micros, params} =
        :timer.tc(fn ->
          params = Enum.reduce(1..steps, Process.get(here), fn _, p -> step.(p, x, y) end)
          Nx.to_binary(elem(params, 3))
          params
        end)

      Process.put(here, params)
      micros / steps
    end
  end

  @doc "The median time of a step of each."
  def times(cases) do
    # The node compiles a program that it has seen several times.
    for {round, _steps} <- cases, _ <- 1..3, do: round.(3)
    Process.sleep(1000)
    for {round, steps} <- cases, do: round.(steps)

    for(_ <- 1..5, do: for({round, steps} <- cases, do: round.(steps)))
    |> Enum.zip_with(fn times -> Enum.at(Enum.sort(times), 2) end)
  end
end

batches =
  case System.argv() do
    [] -> for i <- 0..10, do: 2 ** i
    sizes -> Enum.map(sizes, &String.to_integer/1)
  end

IO.puts("batch\tcompiled\teager\tBinaryBackend (us a step)\tratio\teager's")

for batch <- batches do
  [compiled, eager, host] =
    Training.times([
      {Training.rounds(NxVulkanGo.Backend, NxVulkanGo, batch), 50},
      {Training.rounds(NxVulkanGo.Backend, Nx.Defn.Evaluator, batch), 20},
      {Training.rounds(Nx.BinaryBackend, Nx.Defn.Evaluator, batch), 2}
    ])

  times = Enum.map([batch, compiled, eager, host], &round/1)
  ratios = Enum.map([host / compiled, host / eager], &Float.round(&1, 1))
  IO.puts(Enum.join(times ++ ratios, "\t"))
end
