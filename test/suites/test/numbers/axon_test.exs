defmodule Suites.AxonNumbersTest do
  # A network of Axon, Dense(16, sigmoid) and Dense(1), under the mean of the squared
  # errors: its gradient and 100 steps of gradient descent, beside Nx.BinaryBackend. The
  # layers are of a size that devices compute.
  use ExUnit.Case, async: false

  import Suites.Numbers

  @rate 0.1

  defp model do
    Axon.input("x", shape: {nil, 4})
    |> Axon.dense(16, activation: :sigmoid)
    |> Axon.dense(1)
  end

  # What a network starts with, on Nx.BinaryBackend.
  defp start(type) do
    on({Nx.BinaryBackend, Nx.Defn.Evaluator}, fn ->
      {x, _} = Nx.Random.uniform(Nx.Random.key(7), -1.0, 1.0, shape: {512, 4}, type: type)
      y = x |> Nx.dot(Nx.tensor([0.5, -1.0, 2.0, 0.1], type: type)) |> Nx.new_axis(-1)
      {init, _} = Axon.build(model(), seed: 11)
      state = init.(Nx.template({1, 4}, type), Axon.ModelState.empty())
      params = Nx.Defn.Composite.traverse(state.data, &Nx.as_type(&1, type))
      {params, x, y}
    end)
  end

  defp loss(params, x, y) do
    {_, predict} = Axon.build(model())
    Axon.Losses.mean_squared_error(y, predict.(Axon.ModelState.new(params), x), reduction: :mean)
  end

  defp loss_and_gradient(params, x, y), do: Nx.Defn.value_and_grad(params, &loss(&1, x, y))

  defp descend(params, x, y) do
    {loss, gradient} = loss_and_gradient(params, x, y)
    {loss, Suites.Numbers.zip(params, gradient, &Nx.subtract(&1, Nx.multiply(@rate, &2)))}
  end

  defp train({params, x, y}) do
    step = Nx.Defn.jit(&descend/3)
    {losses, _} = Enum.map_reduce(1..100, params, fn _, params -> step.(params, x, y) end)
    Enum.map(losses, &Nx.to_number/1)
  end

  for compiler <- [Nx.Defn.Evaluator, NxVulkanGo] do
    test "the gradient by #{inspect(compiler)}" do
      # The sum of all parts, of f64: a digit of f32 is larger than what may differ.
      sum = fn {params, x, y} ->
        {_, gradient} = Nx.Defn.jit_apply(&loss_and_gradient/3, [params, x, y])
        gradient |> leaves() |> Enum.map(&Nx.to_number(Nx.sum(&1))) |> Enum.sum()
      end

      {expected, actual} = both(unquote(compiler), start(:f64), sum)
      assert_in_delta expected, actual, 1.0e-8
      assert abs(expected) > 1.0e-3
    end

    test "a hundred steps by #{inspect(compiler)}" do
      {expected, actual} = both(unquote(compiler), start(:f32), &train/1)
      for {e, a} <- Enum.zip(expected, actual), do: assert_in_delta(e, a, 2.0e-6)
      assert_in_delta List.last(expected), List.last(actual), 4.0e-7
      assert List.last(actual) < hd(actual) / 10
    end
  end

  # Blocks of dense layers, each a layer of Axon whose function `wrap` has wrapped.
  defp blocks(wrap) do
    block = fn x, w1, w2, _opts ->
      x |> Axon.Layers.dense(w1) |> Axon.Activations.gelu() |> Axon.Layers.dense(w2) |> Nx.add(x)
    end

    one = fn i, x ->
      w1 = Axon.param("w1", fn {_, n} -> {n, 32} end, initializer: :glorot_uniform)
      w2 = Axon.param("w2", fn {_, n} -> {32, n} end, initializer: :glorot_uniform)
      Axon.layer(wrap.(block), [x, w1, w2], name: "block_#{i}", op_name: :block)
    end

    Enum.reduce(1..4, Axon.input("x", shape: {nil, 8}), one) |> Axon.dense(1)
  end

  test "layers whose values are computed again for the gradient" do
    on({Nx.BinaryBackend, Nx.Defn.Evaluator}, fn ->
      {x, _} = Nx.Random.normal(Nx.Random.key(3), shape: {64, 8})
      {init, _} = Axon.build(blocks(& &1), seed: 11)
      state = init.(Nx.template({1, 8}, :f32), Axon.ModelState.empty())

      gradient = fn wrap, compiler ->
        {_, predict} = Axon.build(blocks(wrap), mode: :train)

        fun = fn params, x ->
          Nx.Defn.value_and_grad(params, fn params ->
            %{prediction: y} = predict.(Axon.ModelState.new(params), x)
            Nx.mean(Nx.multiply(y, y))
          end)
        end

        {loss, gradient} = Nx.Defn.jit_apply(fun, [state.data, x], compiler: compiler)

        parts =
          if compiler == NxVulkanGo, do: NxVulkanGo.explain(fun, [state.data, x]).parts, else: []

        {[loss | leaves(gradient)], parts |> Enum.map(& &1.held) |> Enum.max(fn -> 0 end)}
      end

      {expected, _} = gradient.(& &1, Nx.Defn.Evaluator)
      {_, kept} = gradient.(& &1, NxVulkanGo)

      for compiler <- [Nx.Defn.Evaluator, NxVulkanGo] do
        {actual, held} = gradient.(&NxVulkanGo.checkpoint/1, compiler)
        assert held < kept

        for {e, a} <- Enum.zip(expected, actual) do
          [e, a] = for t <- [e, a], do: Nx.backend_copy(t, Nx.BinaryBackend)
          difference = Nx.to_number(Nx.reduce_max(Nx.abs(Nx.subtract(e, a))))
          assert difference <= 1.0e-5 * Nx.to_number(Nx.reduce_max(Nx.abs(e)))
        end
      end
    end)
  end
end
