defmodule NxVulkanGo.Sampler.Diagnostics do
  @moduledoc """
  Whether chains have mixed, and how much their draws are worth.

  Rank-normalised split R-hat and effective sample sizes of bulk and tail, as Vehtari,
  Gelman, Simpson, Carpenter and Bürkner (2021) define them and the R package `posterior`
  computes them: the autocovariances of Geyer's initial monotone sequence, over the halves
  of all chains. Draws are a tensor `{chains, draws}`, or a list of lists. Values are `nil`
  where draws are constant, not finite, or fewer than six a chain.

  R-hat should be below 1.01, and both effective sizes above 100 a chain.
  """

  alias NxVulkanGo.Sampler.Normal

  @type draws :: Nx.Tensor.t() | [[number]]
  @type value :: float | nil

  @doc """
  All of it: `:mean`, `:sd`, `:mcse` of the mean, `:q05`, `:median`, `:q95`, `:ess_bulk`,
  `:ess_tail` and `:rhat`.

  Of a tensor with axes after these two, the list for each element, row by row.
  """
  @spec summary(draws) :: map | [map]
  def summary(%Nx.Tensor{shape: shape} = draws) when tuple_size(shape) > 2 do
    [chains, count | _] = Tuple.to_list(shape)
    table = Nx.reshape(draws, {chains, count, :auto}, names: [nil, nil, nil])
    for i <- 0..(Nx.axis_size(table, 2) - 1), do: summary(table[[.., .., i]])
  end

  def summary(draws) do
    sorted = draws |> chains() |> sorted()

    %{
      mean: mean(sorted),
      sd: sd(sorted),
      mcse: mcse(draws),
      q05: quantile(sorted, 0.05),
      median: quantile(sorted, 0.5),
      q95: quantile(sorted, 0.95),
      ess_bulk: ess_bulk(draws),
      ess_tail: ess_tail(draws),
      rhat: rhat(draws)
    }
  end

  @doc "Rank-normalised split R-hat: the larger one of the draws and of their distance from the median."
  @spec rhat(draws) :: value
  def rhat(draws) do
    with_halves(draws, fn halves, sorted ->
      median = quantile(sorted, 0.5)
      folded = map(halves, &abs(&1 - median))

      case {plain_rhat(scores(halves)), plain_rhat(scores(folded))} do
        {nil, _} -> nil
        {bulk, nil} -> bulk
        {bulk, tail} -> max(bulk, tail)
      end
    end)
  end

  @doc "The effective sample size of rank-normalised draws: of estimates of the centre."
  @spec ess_bulk(draws) :: value
  def ess_bulk(draws), do: with_halves(draws, fn halves, _ -> ess(scores(halves)) end)

  @doc "The effective sample size of estimates of the quantiles of 5 and 95 %, the smaller one."
  @spec ess_tail(draws) :: value
  def ess_tail(draws) do
    with_halves(draws, fn halves, sorted ->
      [0.05, 0.95]
      |> Enum.map(fn p ->
        bound = quantile(sorted, p)
        halves |> map(&if(&1 <= bound, do: 1.0, else: 0.0)) |> ess()
      end)
      |> Enum.min(fn a, b -> is_nil(a) or (b != nil and a <= b) end)
    end)
  end

  @doc "The effective sample size of estimates of the mean."
  @spec ess_mean(draws) :: value
  def ess_mean(draws), do: with_halves(draws, fn halves, _ -> ess(halves) end)

  @doc "The Monte-Carlo standard error of the mean."
  @spec mcse(draws) :: value
  def mcse(draws) do
    with ess when ess != nil <- ess_mean(draws),
         do: (draws |> chains() |> Enum.concat() |> sd()) / :math.sqrt(ess)
  end

  ## Chains

  defp chains(%Nx.Tensor{shape: {_, _}} = draws), do: draws |> Nx.to_list() |> map(&number/1)

  defp chains([[_ | _] = first | rest] = draws) do
    unless Enum.all?(rest, &(length(&1) == length(first))) do
      raise ArgumentError, "all chains must have as many draws"
    end

    map(draws, &number/1)
  end

  defp chains(other) do
    raise ArgumentError, "draws are a tensor {chains, draws} or lists, got: #{inspect(other)}"
  end

  defp number(x) when is_number(x), do: x * 1.0
  defp number(other), do: other

  defp sorted(chains), do: chains |> Enum.concat() |> Enum.sort()

  defp map(chains, fun), do: Enum.map(chains, &Enum.map(&1, fun))

  # The halves of all chains, of an odd number of draws without the middle one, and all
  # draws in order.
  defp with_halves(draws, fun) do
    chains = chains(draws)
    half = div(length(hd(chains)), 2)

    if half >= 3 and Enum.all?(chains, fn chain -> Enum.all?(chain, &is_float/1) end),
      do:
        chains
        |> Enum.flat_map(&[Enum.take(&1, half), Enum.take(&1, -half)])
        |> fun.(sorted(chains))
  end

  # The normal scores of ranks; equal draws have the mean of theirs.
  defp scores(chains) do
    all = Enum.concat(chains)
    count = length(all)

    score =
      all
      |> Enum.sort()
      |> Enum.with_index(1)
      |> Enum.group_by(&elem(&1, 0), &elem(&1, 1))
      |> Map.new(fn {x, ranks} ->
        rank = Enum.sum(ranks) / length(ranks)
        {x, Normal.quantile((rank - 0.375) / (count + 0.25))}
      end)

    map(chains, &Map.fetch!(score, &1))
  end

  ## Estimates

  defp plain_rhat(chains) do
    n = length(hd(chains))
    within = chains |> Enum.map(&variance/1) |> mean()
    between = chains |> Enum.map(&mean/1) |> variance()
    if within > 0, do: :math.sqrt(((n - 1) / n * within + between) / within)
  end

  defp ess(chains) do
    n = length(hd(chains))
    means = Enum.map(chains, &mean/1)
    centred = Enum.zip_with(chains, means, fn chain, mean -> Enum.map(chain, &(&1 - mean)) end)
    within = autocovariance(centred, 0, n) * n / (n - 1)
    total = within * (n - 1) / n + if(length(chains) > 1, do: variance(means), else: 0.0)

    if total > 0 do
      rho = fn t -> 1 - (within - autocovariance(centred, t, n)) / total end
      size = length(chains) * n
      size / max(autocorrelation_time(rho, n), 1 / :math.log10(size))
    end
  end

  # The mean over chains, of which the mean has been taken away.
  defp autocovariance(centred, lag, n) do
    centred |> Enum.map(&(products(&1, Enum.drop(&1, lag), 0.0) / n)) |> mean()
  end

  defp products([x | xs], [y | ys], sum), do: products(xs, ys, sum + x * y)
  defp products(_xs, [], sum), do: sum

  # Pairs of autocorrelations as long as their sums are positive, none larger than the
  # one before; what follows the last adds half as much.
  defp autocorrelation_time(rho, n) do
    {pairs, last} = pairs(rho, 0, {1.0, rho.(1)}, n, [])
    {_, sum} = Enum.reduce(pairs, {nil, 0.0}, &monotone/2)
    -1 + 2 * sum + max(last, 0.0)
  end

  # The first pair counts whatever it is.
  defp pairs(rho, t, {even, odd}, n, pairs) do
    if t < n - 5 and even + odd > 0,
      do: pairs(rho, t + 2, {rho.(t + 2), rho.(t + 3)}, n, [{even, odd} | pairs]),
      else: {Enum.reverse(pairs), even}
  end

  defp monotone({even, odd}, {before, sum}) do
    pair = if before, do: min(even + odd, before), else: even + odd
    {pair, sum + pair}
  end

  ## Moments

  defp mean(xs), do: Enum.sum(xs) / length(xs)

  defp variance([_]), do: 0.0

  defp variance(xs) do
    mean = mean(xs)
    Enum.reduce(xs, 0.0, fn x, sum -> sum + (x - mean) * (x - mean) end) / (length(xs) - 1)
  end

  defp sd(xs), do: :math.sqrt(variance(xs))

  # Between the two nearest draws, linearly.
  defp quantile(sorted, p) do
    at = p * (length(sorted) - 1)
    below = floor(at)

    case Enum.drop(sorted, below) do
      [low, high | _] -> low + (at - below) * (high - low)
      [last] -> last
    end
  end
end
