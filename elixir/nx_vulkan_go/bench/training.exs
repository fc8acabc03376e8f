# A step of gradient descent on Dense(4 -> 32, tanh) -> Dense(1), compiled, op by
# op on the device, and on Nx.BinaryBackend, by batch size:
#
#     mix run bench/training.exs
#
# Each time is the median of rounds of steps, the weights of each step going into the
# next, with one read at the end of a round.

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

  def time(backend, compiler, batch, steps) do
    Nx.default_backend(backend)
    {x, y} = data(batch, backend)
    step = Nx.Defn.jit(&Training.step/3, compiler: compiler)

    round = fn params, steps ->
      params = Enum.reduce(1..steps, params, fn _, params -> step.(params, x, y) end)
      Nx.to_binary(elem(params, 3))
      params
    end

    params = round.(round.(round.(params(backend), 3), 3), 3)
    Process.sleep(1000)
    params = round.(params, steps)

    {times, _} =
      Enum.map_reduce(1..5, params, fn _, params ->
        :timer.tc(fn -> round.(params, steps) end)
      end)

    Enum.at(Enum.sort(times), 2) / steps
  end
end

binary = Nx.BinaryBackend
ours = NxVulkanGo.Backend
IO.puts("batch   compiled   eager   BinaryBackend   (microseconds a step)   ratio")

for batch <- [1, 16, 128, 1024] do
  compiled = Training.time(ours, NxVulkanGo, batch, 50)
  eager = Training.time(ours, Nx.Defn.Evaluator, batch, 20)
  host = Training.time(binary, Nx.Defn.Evaluator, batch, 2)
  row = [batch | Enum.map([compiled, eager, host], &round/1)]

  IO.puts(
    Enum.map_join(row, "\t", &to_string/1) <>
      "\t" <> Float.to_string(Float.round(host / compiled, 1))
  )
end
