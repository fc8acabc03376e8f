defmodule NxVulkanGo.Sampler.DiagnosticsTest do
  use ExUnit.Case, async: true

  alias NxVulkanGo.Sampler.{Diagnostics, Summary}

  # Autoregressions of pseudo-random numbers that any language computes alike: the
  # numbers below are those of the functions of the R package posterior, written out
  # in Python.
  defp chains(seeds, count, phi, apart \\ 0.0) do
    for seed <- seeds do
      {chain, _} =
        Enum.map_reduce(1..count, {0.0, seed}, fn _, {x, state} ->
          {noise, state} = noise(state)
          x = phi * x + noise
          {x + apart * seed, {x, state}}
        end)

      chain
    end
  end

  defp noise(state) do
    {sum, state} =
      Enum.reduce(1..4, {0, state}, fn _, {sum, state} ->
        state = rem(1_103_515_245 * state + 12_345, 2 ** 31)
        {sum + Bitwise.bsr(state, 7) / 2 ** 24, state}
      end)

    {sum - 2.0, state}
  end

  test "reference values" do
    for {name, chains, want} <- [
          {"mixed", chains([1, 2, 3, 4], 200, 0.5),
           [
             rhat: 1.0236476680476976,
             ess_bulk: 274.2313810514233,
             ess_tail: 501.8353336065865,
             mcse: 0.04088753433685646,
             mean: -0.0533523469835482,
             sd: 0.6779415394364784,
             q05: -1.1516826622885534
           ]},
          {"slow", chains([5, 6, 7], 151, 0.95),
           [
             rhat: 1.274647916214676,
             ess_bulk: 9.328283951434555,
             ess_tail: 21.153097779061657,
             mcse: 0.7340202560341703,
             mean: 0.48429829238939315,
             sd: 2.0684161223972617,
             q05: -2.6833573758562004
           ]},
          {"apart", chains([1, 2, 3, 4], 100, 0.0, 0.4),
           [
             rhat: 1.2452287439831242,
             ess_bulk: 13.432610185260858,
             ess_tail: 335.93557729179713,
             mcse: 0.20922763273723022,
             mean: 0.9404198205471047,
             sd: 0.7565758633066754,
             q05: -0.2574640470743179
           ]},
          {"anti", chains([8, 9], 120, -0.6),
           [
             rhat: 1.0028757400818236,
             ess_bulk: 571.2506980107854,
             ess_tail: 223.1391124396415,
             mcse: 0.03215317318725283,
             mean: -0.03487840560378858,
             sd: 0.7684882146331142,
             q05: -1.400343592959558
           ]},
          {"one", chains([11], 60, 0.3),
           [
             rhat: 0.9990324222082951,
             ess_bulk: 46.96566103050479,
             ess_tail: 50.38383838383841,
             mcse: 0.08566325115492857,
             mean: -0.13465715210804136,
             sd: 0.5685018252849713,
             q05: -1.145552960124721
           ]}
        ] do
      got = Diagnostics.summary(chains)

      for {key, value} <- want do
        assert abs(got[key] - value) < 1.0e-9 * (1 + abs(value)),
               "#{key} of #{name}: #{got[key]}, must be #{value}"
      end

      assert Diagnostics.summary(Nx.tensor(chains, type: :f64)) == got
    end
  end

  test "independent draws are worth themselves, and an autoregression what is known" do
    :rand.seed(:exsss, {1, 2, 3})
    chain = fn phi -> Enum.scan(1..4000, 0.0, fn _, x -> phi * x + :rand.normal() end) end

    for phi <- [0.0, 0.5, 0.9] do
      draws = for _ <- 1..4, do: chain.(phi)
      # The sum of the autocorrelations, phi^|t|.
      want = 16_000 * (1 - phi) / (1 + phi)
      assert_in_delta Diagnostics.ess_mean(draws) / want, 1, 0.15
      assert_in_delta Diagnostics.ess_bulk(draws) / want, 1, 0.15
      assert Diagnostics.rhat(draws) < 1.01
    end
  end

  test "chains of another place, or of another width, are told apart" do
    :rand.seed(:exsss, {4, 5, 6})
    normal = fn mean, sd -> for _ <- 1..500, do: mean + sd * :rand.normal() end
    assert Diagnostics.rhat([normal.(0, 1), normal.(0, 1), normal.(2, 1)]) > 1.2
    # Only the distance from the median shows this.
    assert Diagnostics.rhat([normal.(0, 1), normal.(0, 1), normal.(0, 3)]) > 1.1
    # Ranks do not care for tails without a mean.
    cauchy =
      for _ <- 1..4, do: for(_ <- 1..500, do: :math.tan(:math.pi() * (:rand.uniform() - 0.5)))

    assert Diagnostics.rhat(cauchy) < 1.02
    assert_in_delta Diagnostics.ess_bulk(cauchy), 2000, 500
  end

  test "what cannot be told is nil" do
    constant = [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]

    assert %{rhat: nil, ess_bulk: nil, ess_tail: nil, mcse: nil, sd: +0.0} =
             Diagnostics.summary(constant)

    assert Diagnostics.rhat([[1, 2, 3, 4, 5]]) == nil
    assert Diagnostics.rhat(Nx.tensor([[1.0, 2.0, :nan, 4.0, 5.0, 6.0]])) == nil
    assert Diagnostics.ess_bulk(Nx.tensor([[1.0, 2.0, :infinity, 4.0, 5.0, 6.0]])) == nil
    assert_raise ArgumentError, fn -> Diagnostics.rhat(Nx.tensor([1.0])) end
    assert_raise ArgumentError, fn -> Diagnostics.rhat([[1, 2, 3, 4, 5, 6], [1, 2]]) end
  end

  test "tensors of many parameters" do
    draws = Nx.tensor(chains([1, 2], 50, 0.1), type: :f64)
    both = Nx.stack([draws, Nx.multiply(draws, 2)], axis: -1)
    assert [one, two] = Diagnostics.summary(Nx.reshape(both, {2, 50, 1, 2}))
    assert one == Diagnostics.summary(draws)
    assert two.rhat == one.rhat
  end

  test "a result prints as a table" do
    :rand.seed(:exsss, {1, 2, 3})

    draws = fn shape ->
      size = Tuple.product(shape)
      Nx.reshape(Nx.tensor(for(_ <- 1..size, do: :rand.normal()), type: :f64), shape)
    end

    result = %{
      draws: %{mu: draws.({2, 100}), tau: {draws.({2, 100, 2, 1}), Nx.broadcast(1.0e9, {2, 100})}},
      stats: %{divergent: Nx.tensor([[0, 1, 1], [0, 0, 1]])}
    }

    assert %Summary{chains: 2, draws: 100, divergent: 3, rows: rows} =
             summary = Diagnostics.summary(result)

    assert Enum.map(rows, & &1.name) == ["mu", "tau.0[0, 0]", "tau.0[1, 0]", "tau.1"]
    assert Map.delete(hd(rows), :name) == Diagnostics.summary(result.draws.mu)
    text = inspect(summary)
    assert text == to_string(summary)

    assert [header, _, _, _, constant, "2 chains of 100 draws, 3 divergent"] =
             String.split(text, "\n")

    assert String.split(header) ==
             ~w(parameter mean sd mcse 5% median 95% bulk tail rhat)

    assert ["tau.1", "1.00e+09", "0", "-", _, _, _, "-", "-", "-"] = String.split(constant)
    assert inspect(summary, limit: 1) =~ "and 3 parameters more"
    assert_raise ArgumentError, fn -> Diagnostics.summary(%{draws: nil, stats: nil}) end
  end

  test "more draws than a request takes" do
    draws = Nx.iota({2, 1_000, 1_100}, type: :f64, axis: 1)
    all = Diagnostics.summary(draws)
    assert length(all) == 1_100
    assert Enum.all?(all, &(&1 == hd(all)))
    assert_in_delta hd(all).mean, 499.5, 1.0e-9
  end
end
