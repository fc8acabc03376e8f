defmodule NxVulkanGo.Backend.AnyOptionsTest do
  # Functions of Nx with any combination of their options against Nx.BinaryBackend,
  # an operation at a time and compiled.
  use ExUnit.Case, async: false

  alias NxVulkanGo.AnyOptions

  @calls 40

  for name <- AnyOptions.functions() do
    test "#{name} with any options" do
      seed = ExUnit.configuration()[:seed]
      :rand.seed(:exsss, {seed, 7, :erlang.phash2(unquote(name))})
      for _ <- 1..@calls, do: unquote(name) |> AnyOptions.call() |> same!()
    end
  end

  test "argmax and argmin of all elements of vectorized tensors keep the axes" do
    t = Nx.tensor([[[1, 5, 2], [7, 0, 3]], [[4, 4, 9], [8, 9, -1]]], backend: NxVulkanGo.Backend)
    vectors = Nx.vectorize(t, :v)

    for {name, flat} <- [argmax: [3, 2], argmin: [4, 5]],
        compiler <- [Nx.Defn.Evaluator, NxVulkanGo] do
      fun = fn t -> apply(Nx, name, [t, [keep_axis: true]]) end
      result = Nx.Defn.jit_apply(fun, [vectors], compiler: compiler)
      assert {result.vectorized_axes, result.shape} == {[v: 2], {1, 1}}
      assert Nx.to_flat_list(result) == flat
    end
  end

  # Where Nx.BinaryBackend refuses, or gives fewer elements than there are (of a window
  # that does not fit), nothing is compared.
  defp same!({text, tensors, fun}) do
    with {:ok, expected} <- AnyOptions.results(Nx.BinaryBackend, tensors, fun),
         true <- Enum.all?(expected, &AnyOptions.whole?/1) do
      compare!(text, expected, AnyOptions.results(NxVulkanGo.Backend, tensors, fun))
      listed = fn t -> fun.(Tuple.to_list(t)) end
      compiled = &Nx.Defn.jit_apply(listed, [List.to_tuple(&1)], compiler: NxVulkanGo)
      actual = AnyOptions.results(NxVulkanGo.Backend, tensors, compiled)
      compare!("compiled #{text}", expected, actual)
    end
  end

  defp compare!(text, expected, {:error, error}),
    do: flunk("#{text} raises: #{Exception.message(error)}; expected #{inspect(expected)}")

  defp compare!(text, expected, {:ok, actual}) do
    for {e, a} <- Enum.zip(expected, actual) do
      assert {a.type, a.shape, a.names, a.vectorized_axes} ==
               {e.type, e.shape, e.names, e.vectorized_axes},
             text

      numbers = Enum.zip(Nx.to_flat_list(e), Nx.to_flat_list(a))

      for {x, y} <- numbers,
          do: assert(near?(x, y), "#{text}: #{inspect(a)}, expected #{inspect(e)}")
    end
  end

  defp near?(x, x), do: true
  defp near?(x, y) when is_number(x) and is_number(y), do: abs(x - y) <= 1.0e-5 * max(1, abs(x))

  defp near?(%Complex{} = x, %Complex{} = y),
    do: Complex.abs(Complex.subtract(x, y)) <= 1.0e-5 * max(1, Complex.abs(x))

  defp near?(_, _), do: false
end
