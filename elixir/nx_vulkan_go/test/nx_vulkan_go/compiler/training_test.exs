defmodule NxVulkanGo.Compiler.TrainingTest do
  # 100 steps of gradient descent in plain Nx.Defn, Dense(4 -> 32, tanh) -> Dense(1),
  # on both backends.
  use ExUnit.Case, async: false

  import Nx.Defn

  defn predict({w1, b1, w2, b2}, x) do
    x |> Nx.dot(w1) |> Nx.add(b1) |> Nx.tanh() |> Nx.dot(w2) |> Nx.add(b2)
  end

  defn loss(params, x, y), do: Nx.mean((predict(params, x) - y) ** 2)

  defn step({w1, b1, w2, b2} = params, x, y) do
    {loss, {g1, h1, g2, h2}} = value_and_grad(params, &loss(&1, x, y))
    {loss, {w1 - 0.05 * g1, b1 - 0.05 * h1, w2 - 0.05 * g2, b2 - 0.05 * h2}}
  end

  defp data do
    Nx.with_default_backend(Nx.BinaryBackend, fn ->
      key = Nx.Random.key(7)
      {x, key} = Nx.Random.uniform(key, -1.0, 1.0, shape: {64, 4})
      {w1, key} = Nx.Random.uniform(key, -0.5, 0.5, shape: {4, 32})
      {w2, _} = Nx.Random.uniform(key, -0.3, 0.3, shape: {32, 1})
      y = x |> Nx.multiply(Nx.tensor([0.5, -1.0, 2.0, 0.1])) |> Nx.sum(axes: [1], keep_axes: true)
      {x, y, {w1, Nx.broadcast(0.0, {32}), w2, Nx.broadcast(0.0, {1})}}
    end)
  end

  defp train(backend, {x, y, params}) do
    Nx.with_default_backend(backend, fn ->
      {x, y, params} = Nx.backend_copy({x, y, params}, backend)

      {losses, params} =
        Enum.map_reduce(1..100, params, fn _, params -> step(params, x, y) end)

      {Enum.map(losses, &Nx.to_number/1), Nx.backend_copy(params, Nx.BinaryBackend)}
    end)
  end

  test "the trajectories of the loss are equal within 2.0e-6" do
    data = data()
    {expected, params} = train(Nx.BinaryBackend, data)
    {actual, params_here} = train(NxVulkanGo.Backend, data)

    for {e, a} <- Enum.zip(expected, actual), do: assert_in_delta(e, a, 2.0e-6)
    assert List.last(actual) < hd(actual) / 10
    assert_in_delta List.last(expected), List.last(actual), 4.0e-7

    for {e, a} <- Enum.zip(Tuple.to_list(params), Tuple.to_list(params_here)) do
      difference =
        Nx.with_default_backend(Nx.BinaryBackend, fn ->
          Nx.reduce_max(Nx.abs(Nx.subtract(e, a)))
        end)

      assert Nx.to_number(difference) < 2.0e-6
    end
  end

  defn gradient(w, x),
    do: w |> grad(fn w -> x |> Nx.dot(w) |> Nx.sigmoid() |> Nx.sum() end) |> Nx.sum()

  test "the gradient of a sigmoid network is that of Nx.BinaryBackend" do
    [expected, actual] =
      for backend <- [Nx.BinaryBackend, NxVulkanGo.Backend] do
        Nx.with_default_backend(backend, fn ->
          x = Nx.tensor([[0.1, 0.9], [0.5, -0.5], [-0.3, 0.2]], type: :f64)
          Nx.to_number(gradient(Nx.tensor([[0.3, -0.2], [0.1, 0.7]], type: :f64), x))
        end)
      end

    assert_in_delta expected, actual, 1.0e-8
  end
end
