defmodule NxVulkanGo.Sampler.Families do
  @moduledoc """
  Log densities of common distributions, to build models.

  They are functions of an unconstrained `q`, element by element. `q` is the logarithm of a
  positive variable, and the logit of one between 0 and 1; the density includes the Jacobian
  of that transformation. Parameters are numbers, tensors or expressions. Numbers have the
  precision of `q`.

      Families.log_density(:gamma, q, [2.0, rate])
      Families.value(:gamma, q)                     # the variable, exp(q)

  | family | parameters | q is |
  |---|---|---|
  | `:normal` | mean, deviation | the variable |
  | `:student_t` | degrees of freedom, centre, scale | the variable |
  | `:cauchy` | centre, scale | the variable |
  | `:exponential` | rate | its logarithm |
  | `:half_normal` | scale | its logarithm |
  | `:weibull` | shape, scale | its logarithm |
  | `:gamma` | shape, rate | its logarithm |
  | `:lognormal` | mean and deviation of the logarithm | its logarithm |
  | `:beta` | two shapes | its logit |
  """

  import Kernel, except: [abs: 1]

  import Nx,
    only: [
      abs: 1,
      add: 2,
      divide: 2,
      exp: 1,
      log: 1,
      log1p: 1,
      multiply: 2,
      negate: 1,
      subtract: 2
    ]

  # What q stands for, and the density of q by its parameters.
  @table %{
    normal: {:real, 2},
    student_t: {:real, 3},
    cauchy: {:real, 2},
    exponential: {:log, 1},
    half_normal: {:log, 1},
    weibull: {:log, 2},
    gamma: {:log, 2},
    lognormal: {:log, 2},
    beta: {:logit, 2}
  }

  @doc "Returns the names of the families, with the number of their parameters."
  @spec families :: [{atom, pos_integer}]
  def families, do: Enum.sort(for {name, {_space, count}} <- @table, do: {name, count})

  @doc "Computes the log density of a family at `q`."
  @spec log_density(atom, Nx.Tensor.t(), [Nx.Tensor.t() | number]) :: Nx.Tensor.t()
  def log_density(family, q, params) do
    {_space, count} = row!(family)

    if length(params) != count do
      raise ArgumentError, "#{inspect(family)} has #{count} parameters, got #{length(params)}"
    end

    density(family, q, Enum.map(params, &like(&1, q)))
  end

  @doc "Computes the variable from `q`."
  @spec value(atom, Nx.Tensor.t()) :: Nx.Tensor.t()
  def value(family, q) do
    case row!(family) do
      {:real, _} -> q
      {:log, _} -> exp(q)
      {:logit, _} -> Nx.sigmoid(q)
    end
  end

  defp row!(family) do
    case @table do
      %{^family => row} ->
        row

      _ ->
        raise ArgumentError,
              "there is no family #{inspect(family)}; there are #{inspect(Map.keys(@table))}"
    end
  end

  # A number would be an f32.
  defp like(number, q) when is_number(number),
    do: Nx.tensor(number, type: Nx.type(q), backend: Nx.BinaryBackend)

  defp like(tensor, _q), do: tensor

  defp density(:normal, q, [mu, sigma]) do
    z = divide(subtract(q, mu), sigma)

    q
    |> like_constant(-0.5 * :math.log(2 * :math.pi()))
    |> subtract(log(sigma))
    |> add(half_square(z))
  end

  defp density(:student_t, q, [nu, mu, sigma]) do
    z = divide(subtract(q, mu), sigma)
    half = divide(add(nu, 1), 2)

    constant =
      lgamma(half)
      |> subtract(lgamma(divide(nu, 2)))
      |> subtract(divide(log(multiply(nu, like(:math.pi(), q))), 2))
      |> subtract(log(sigma))

    subtract(constant, multiply(half, log1p(divide(multiply(z, z), nu))))
  end

  defp density(:cauchy, q, [centre, scale]) do
    z = divide(subtract(q, centre), scale)
    negate(add(log(multiply(like(:math.pi(), q), scale)), log1p(multiply(z, z))))
  end

  defp density(:exponential, q, [rate]),
    do: add(log(rate), subtract(q, multiply(rate, exp(q))))

  defp density(:half_normal, q, [sigma]) do
    z = divide(exp(q), sigma)

    q
    |> like_constant(0.5 * :math.log(2 / :math.pi()))
    |> subtract(log(sigma))
    |> add(q)
    |> add(half_square(z))
  end

  # (e^q / scale)^shape, of the logarithm.
  defp density(:weibull, q, [shape, scale]) do
    power = multiply(shape, subtract(q, log(scale)))
    add(log(shape), subtract(power, exp(power)))
  end

  defp density(:gamma, q, [shape, rate]) do
    multiply(shape, add(q, log(rate)))
    |> subtract(multiply(rate, exp(q)))
    |> subtract(lgamma(shape))
  end

  defp density(:lognormal, q, params), do: density(:normal, q, params)

  defp density(:beta, q, [a, b]) do
    multiply(a, log_sigmoid(q))
    |> add(multiply(b, log_sigmoid(negate(q))))
    |> add(lgamma(add(a, b)))
    |> subtract(add(lgamma(a), lgamma(b)))
  end

  defp like_constant(q, number), do: like(number, q)

  defp half_square(z), do: divide(multiply(z, z), -2)

  # Good for large q of both signs.
  defp log_sigmoid(q), do: subtract(Nx.min(q, 0), log1p(exp(negate(abs(q)))))

  # Lanczos, with Godfrey's coefficients for g = 7.
  @lanczos [
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7
  ]

  @doc "Computes the logarithm of the gamma function of positive numbers."
  @spec lgamma(Nx.Tensor.t() | number) :: Nx.Tensor.t()
  def lgamma(x) do
    x = Nx.to_tensor(x)
    base = add(x, like(7.5, x))

    series =
      @lanczos
      |> Enum.with_index(1)
      |> Enum.reduce(like(0.99999999999980993, x), fn {c, i}, sum ->
        add(sum, divide(like(c, x), add(x, i)))
      end)

    # Of x + 1, and so good near 0 too.
    multiply(add(x, like(0.5, x)), log(base))
    |> subtract(base)
    |> add(add(log(series), like(0.5 * :math.log(2 * :math.pi()), x)))
    |> subtract(log(x))
  end
end
