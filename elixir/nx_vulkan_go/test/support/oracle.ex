defmodule NxVulkanGo.Oracle do
  @moduledoc false
  # Runs a function on Nx.BinaryBackend and on the backend under test, and compares.

  import ExUnit.Assertions

  @integers for kind <- [:u, :s], size <- [2, 4, 8, 16, 32, 64], do: {kind, size}
  @floats [f: 8, f8_e4m3fn: 8, f: 16, bf: 16, f: 32, f: 64]
  @complex [c: 64, c: 128]

  def integers, do: @integers
  def floats, do: @floats
  def complex, do: @complex
  def types, do: @integers ++ @floats ++ @complex

  @doc "A host tensor of random elements; `domain` is :any, :positive, :unit, :above_one or :small."
  def random(type, shape, domain \\ :any) do
    numbers = for _ <- 1..Tuple.product(shape)//1, do: number(type, domain)
    t = Nx.tensor(numbers, type: type, backend: Nx.BinaryBackend)
    Nx.with_default_backend(Nx.BinaryBackend, fn -> Nx.reshape(t, shape) end)
  end

  defp number({:u, size}, domain), do: below(limit(domain, 2 ** size))

  defp number({:s, size}, domain) do
    n = below(limit(domain, 2 ** (size - 1)))
    if domain in [:any, :small] and :rand.uniform(2) == 1, do: -n, else: n
  end

  defp number({:c, _}, domain), do: Complex.new(real(domain), real(domain))
  defp number(_float, domain), do: real(domain)

  defp limit(:small, n), do: min(n, 5)
  defp limit(_, n), do: n

  defp below(n), do: :rand.uniform(n) - 1

  defp real(:positive), do: :rand.uniform() * 4 + 0.125
  defp real(:unit), do: :rand.uniform() * 1.8 - 0.9
  defp real(:above_one), do: :rand.uniform() * 4 + 1.0
  defp real(_), do: :rand.uniform() * 8 - 4

  @doc """
  The same result from both backends, within so many units in the last place of the result,
  or of `least` where that is larger: sums of numbers of both signs are as exact as their
  terms. Where the oracle refuses, nothing is compared.
  """
  def same!(label, tensors, fun, ulps \\ 4, least \\ 0) do
    expected =
      Nx.with_default_backend(Nx.BinaryBackend, fn ->
        try do
          {:ok, apply(fun, tensors)}
        rescue
          _ -> :refused
        end
      end)

    with {:ok, expected} <- expected do
      Nx.with_default_backend(NxVulkanGo.Backend, fn ->
        actual = apply(fun, Enum.map(tensors, &Nx.backend_copy(&1, NxVulkanGo.Backend)))

        compare!(expected, actual, {ulps, least}, fn ->
          "#{label} of #{inspect(tensors, limit: 300)}"
        end)
      end)
    end
  end

  defp compare!(expected, actual, bound, label) do
    assert {actual.type, actual.shape, actual.names} ==
             {expected.type, expected.shape, expected.names},
           label.()

    pairs = Enum.zip(Nx.to_flat_list(expected), Nx.to_flat_list(actual))

    for {{e, a}, i} <- Enum.with_index(pairs), not close?(e, a, expected.type, bound) do
      flunk("#{label.()}: element #{i} is #{inspect(a)}, expected #{inspect(e)}")
    end
  end

  defp close?(e, e, _type, _bound), do: true
  defp close?(e, a, {kind, _}, _bound) when kind in [:s, :u], do: e == a
  defp close?(%Complex{} = e, %Complex{} = a, type, bound), do: near?(e, a, type, bound)

  defp close?(e, a, type, bound) when is_number(e) and is_number(a),
    do: near?(e, a, type, bound)

  defp close?(_, _, _, _), do: false

  defp near?(%Complex{} = e, %Complex{} = a, type, {ulps, least}) do
    if Enum.all?([e.re, e.im, a.re, a.im], &is_number/1),
      do:
        Complex.abs(Complex.subtract(e, a)) <=
          tolerance(type, ulps) * Enum.max([Complex.abs(e), least, 1.0e-30]),
      else: {e.re, e.im} == {a.re, a.im}
  end

  defp near?(e, a, type, {ulps, least}),
    do: abs(e - a) <= tolerance(type, ulps) * Enum.max([abs(e), least, tiny(type)])

  defp tolerance({:f, 8}, _), do: 0.25
  defp tolerance({:f8_e4m3fn, 8}, _), do: 0.125
  defp tolerance({:bf, 16}, _), do: 0.0079
  defp tolerance({:f, 16}, _), do: 0.00098
  defp tolerance({:f, 32}, ulps), do: ulps * 1.2e-7
  defp tolerance({:f, 64}, ulps), do: ulps * 2.3e-16
  defp tolerance({:c, 64}, ulps), do: ulps * 2.4e-7
  defp tolerance({:c, 128}, ulps), do: ulps * 4.5e-16

  # Below these a unit in the last place no longer shrinks.
  defp tiny({:f, 8}), do: 6.2e-5
  defp tiny({:f8_e4m3fn, 8}), do: 0.0157
  defp tiny({:f, 16}), do: 6.2e-5
  defp tiny({_, _}), do: 1.2e-38
end
