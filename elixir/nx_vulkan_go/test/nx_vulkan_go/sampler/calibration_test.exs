defmodule NxVulkanGo.Sampler.CalibrationTest do
  # Simulation-based calibration (Talts et al. 2018): parameters from the prior, data
  # from them, draws from the posterior. Of the draws, so many are less than the
  # parameter; that number is equally often each, if the draws are right.
  use ExUnit.Case, async: true

  alias NxVulkanGo.Sampler
  alias NxVulkanGo.Sampler.Families

  @moduletag :soak
  @moduletag timeout: 600_000

  @simulations 240
  # Every twentieth draw is nearly independent of the one before.
  @draws 400
  @every 20
  @bins 7

  # 1e-4 of a chi-squared variable of @bins - 1 degrees of freedom is above this.
  @bound 27.86

  defp ranks(simulate, density) do
    for i <- 1..@simulations do
      {truth, data} = simulate.()
      model = Sampler.compile(density, Nx.template({}, :f64), Nx.tensor(data, type: :f64))
      options = [chains: 1, warmup: 300, draws: @draws, chunk: @draws, seed: i]
      draws = Sampler.nuts(model, options).draws |> Nx.to_flat_list() |> Enum.take_every(@every)
      Enum.count(draws, &(&1 < truth)) / (length(draws) + 1)
    end
  end

  # Ranks are 0 to 20, three in each bin.
  defp assert_uniform(ranks) do
    counts = Enum.frequencies_by(ranks, &floor(&1 * @bins))
    want = length(ranks) / @bins

    chi_squared =
      Enum.sum(for bin <- 0..(@bins - 1), do: (Map.get(counts, bin, 0) - want) ** 2 / want)

    assert chi_squared < @bound, "ranks are not uniform: #{inspect(counts)}"
  end

  test "a mean" do
    :rand.seed(:exsss, {7, 8, 9})

    simulate = fn ->
      mu = 2.0 * :rand.normal()
      {mu, for(_ <- 1..5, do: mu + :rand.normal())}
    end

    density = fn mu, y ->
      Nx.add(
        Families.log_density(:normal, mu, [0, 2]),
        Nx.sum(Families.log_density(:normal, y, [mu, 1]))
      )
    end

    simulate |> ranks(density) |> assert_uniform()
  end

  test "a rate, on its logarithm, of counts of waiting times" do
    :rand.seed(:exsss, {10, 11, 12})
    exponential = fn rate -> -:math.log(:rand.uniform()) / rate end

    # A gamma variable of shape 2 is the sum of two exponential ones.
    simulate = fn ->
      rate = exponential.(1.5) + exponential.(1.5)
      {:math.log(rate), for(_ <- 1..4, do: :math.log(exponential.(rate)))}
    end

    density = fn q, y ->
      Nx.add(
        Families.log_density(:gamma, q, [2, 1.5]),
        Nx.sum(Families.log_density(:exponential, y, [Nx.exp(q)]))
      )
    end

    simulate |> ranks(density) |> assert_uniform()
  end
end
