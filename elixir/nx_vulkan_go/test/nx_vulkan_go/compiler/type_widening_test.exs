defmodule NxVulkanGo.Compiler.TypeWideningTest do
  # Loops that Nx writes itself, with a state whose type the body does not keep.
  use ExUnit.Case, async: true

  import Nx.Defn

  defp compiled(fun, args), do: Nx.Defn.jit(fun, compiler: NxVulkanGo) |> apply(args)

  # The sum of x / n^k for k below 4, and what is carried along besides.
  defn series(x, n) do
    {sum, _, _, _} =
      while {sum = x * 0, term = x, k = 0, n}, k < 4 do
        {sum + term, term / n, k + 1, n}
      end

    sum
  end

  # The same, in a loop of loops.
  defn nested(x, n) do
    {sum, _, _, _} =
      while {sum = x * 0, i = 0, x, n}, i < 3 do
        {sum + series(x, n), i + 1, x, n}
      end

    sum
  end

  defn in_branch(x, n), do: if(x > 0, do: series(x, n), else: nested(x, n))

  @factor 1 + 1 / 3 + 1 / 9 + 1 / 27

  test "gradients of loops are as precise as their bodies" do
    n = Nx.tensor(3, type: :f64)

    for {fun, factor} <- [
          {&series/2, @factor},
          {&nested/2, 3 * @factor},
          {&in_branch/2, @factor}
        ],
        x <- [0.7, 2.5] do
      x = Nx.tensor(x, type: :f64)
      got = compiled(fn x, n -> grad(x, &fun.(&1, n)) end, [x, n])
      assert got.type == {:f, 64}
      assert_in_delta Nx.to_number(got), factor, 1.0e-14
      {value, got} = compiled(fn x, n -> value_and_grad(x, &fun.(&1, n)) end, [x, n])
      assert_in_delta Nx.to_number(value), factor * Nx.to_number(x), 1.0e-13
      assert_in_delta Nx.to_number(got), factor, 1.0e-14
    end
  end

  test "vectors, and floats that are not wider" do
    x = Nx.tensor([1.0, -2.0, 3.0], type: :f64)
    n = Nx.tensor(3, type: :f64)
    got = compiled(fn x, n -> grad(x, &Nx.sum(series(&1, n))) end, [x, n])
    assert got.shape == {3}
    for g <- Nx.to_flat_list(got), do: assert_in_delta(g, @factor, 1.0e-14)

    single = compiled(fn x, n -> grad(x, &Nx.sum(series(&1, n))) end, [Nx.as_type(x, :f32), 3])
    assert single.type == {:f, 32}
    for g <- Nx.to_flat_list(single), do: assert_in_delta(g, @factor, 1.0e-6)
  end
end
