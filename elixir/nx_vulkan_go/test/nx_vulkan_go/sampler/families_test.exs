defmodule NxVulkanGo.Sampler.FamiliesTest do
  use ExUnit.Case, async: true

  alias NxVulkanGo.Sampler.Families

  @params %{
    normal: [0.7, 1.3],
    student_t: [4.0, 0.5, 2.0],
    cauchy: [-0.3, 0.8],
    exponential: [1.7],
    half_normal: [1.4],
    weibull: [1.8, 2.2],
    gamma: [2.5, 1.5],
    lognormal: [0.4, 0.6],
    beta: [2.0, 3.5]
  }
  @points [-1.5, -0.2, 0.4, 1.1]

  # The densities of the variables themselves, from textbooks, with factorials and
  # half-integer gamma functions by hand: Γ(5/2) = 3√π/4, Γ(2.5 + 3) = 945√π/32.
  defp density(:normal, x, [m, s]),
    do: :math.exp(-((x - m) ** 2) / (2 * s * s)) / (s * :math.sqrt(2 * :math.pi()))

  defp density(:student_t, x, [4.0, m, s]), do: 3 / 8 * (1 + ((x - m) / s) ** 2 / 4) ** -2.5 / s
  defp density(:cauchy, x, [m, s]), do: 1 / (:math.pi() * s * (1 + ((x - m) / s) ** 2))
  defp density(:exponential, x, [r]), do: r * :math.exp(-r * x)
  defp density(:half_normal, x, [s]), do: 2 * density(:normal, x, [0.0, s])
  defp density(:weibull, x, [k, l]), do: k / l * (x / l) ** (k - 1) * :math.exp(-((x / l) ** k))

  defp density(:gamma, x, [2.5, r]) do
    r ** 2.5 * x ** 1.5 * :math.exp(-r * x) / (0.75 * :math.sqrt(:math.pi()))
  end

  defp density(:lognormal, x, params), do: density(:normal, :math.log(x), params) / x

  # B(2, 3.5) = Γ(2) Γ(3.5) / Γ(5.5) = 1 / (4.5 · 3.5).
  defp density(:beta, x, [2.0, 3.5]), do: x * (1 - x) ** 2.5 * 4.5 * 3.5

  # What q stands for, and how fast that grows with q.
  defp variable(family, q) when family in [:normal, :student_t, :cauchy], do: {q, 1.0}

  defp variable(:beta, q) do
    x = 1 / (1 + :math.exp(-q))
    {x, x * (1 - x)}
  end

  defp variable(_positive, q), do: {:math.exp(q), :math.exp(q)}

  defp log_density(family, q), do: Families.log_density(family, f64(q), @params[family])
  defp f64(x), do: Nx.tensor(x, type: :f64, backend: Nx.BinaryBackend)

  setup do
    Nx.default_backend(Nx.BinaryBackend)
    :ok
  end

  test "each is the density of its variable, times how fast that grows" do
    assert Enum.sort(Map.keys(@params)) == Keyword.keys(Families.families())

    for {family, params} <- @params, q <- @points do
      {x, growth} = variable(family, q)
      want = :math.log(density(family, x, params) * growth)
      got = Nx.to_number(log_density(family, q))

      assert abs(got - want) < 1.0e-12 * (1 + abs(want)),
             "#{family} at #{q}: #{got}, must be #{want}"

      assert_in_delta Nx.to_number(Families.value(family, f64(q))), x, 1.0e-14 * (1 + abs(x))
    end
  end

  test "their integrals are 1" do
    for {family, _} <- @params, family not in [:cauchy, :student_t] do
      q = Nx.linspace(-40, 12, n: 52_001, type: :f64)
      sum = Families.log_density(family, q, @params[family]) |> Nx.exp() |> Nx.sum()
      assert_in_delta Nx.to_number(sum) * 0.001, 1, 1.0e-6, "#{family}"
    end
  end

  test "gradients are those of differences, on the device" do
    h = 1.0e-5

    for {family, params} <- @params do
      grad =
        Nx.Defn.jit(
          fn q -> Nx.Defn.grad(q, &Nx.sum(Families.log_density(family, &1, params))) end,
          compiler: NxVulkanGo
        ).(f64(@points))

      for {q, got} <- Enum.zip(@points, Nx.to_flat_list(grad)) do
        [above, below] = for x <- [q + h, q - h], do: Nx.to_number(log_density(family, x))
        assert_in_delta got, (above - below) / (2 * h), 1.0e-7, "#{family} at #{q}"
      end
    end
  end

  test "parameters can be tensors, and have gradients" do
    grad =
      Nx.Defn.grad(f64(2.5), fn shape ->
        Families.log_density(:gamma, f64(0.3), [shape, f64(1.5)])
      end)

    # q + log rate - digamma(5/2); digamma(5/2) = 8/3 - 2 log 2 - Euler's constant
    want = 0.3 + :math.log(1.5) - (8 / 3 - 2 * :math.log(2) - 0.5772156649015329)
    assert_in_delta Nx.to_number(grad), want, 1.0e-12
  end

  test "lgamma" do
    for {x, want} <- [
          {1.0, 0.0},
          {2.0, 0.0},
          {0.5, :math.log(:math.sqrt(:math.pi()))},
          {1.0e-3, 6.907178885383853},
          {10.0, :math.log(362_880)},
          {171.0, 706.5730622457874}
        ] do
      assert_in_delta Nx.to_number(Families.lgamma(f64(x))), want, 2.0e-14 * (1 + abs(want))
    end
  end

  test "large q of both signs" do
    for q <- [-700.0, 700.0] do
      assert is_float(Nx.to_number(log_density(:beta, q)))
    end
  end

  test "bad calls" do
    assert_raise ArgumentError, ~r/no family/, fn ->
      Families.log_density(:gauss, f64(0.0), [])
    end

    assert_raise ArgumentError, ~r/2 parameters/, fn ->
      Families.log_density(:normal, f64(0.0), [1.0])
    end
  end
end
