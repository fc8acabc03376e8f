# The two models of nx_vulkan_go's bench/sampler.exs through eXMC: one chain, 1,000
# draws (or the given number) after as many draws of warm-up. It prints the effective
# draws a second of the worst parameter, by the same estimator. In a checkout of eXMC,
# set up as README.md says:
#
#     EXMC_COMPILER=none mix run ~/src/nxvk/test/exmc/bench.exs schools|regimes [DRAWS]
#
# none is Nx.BinaryBackend; vulkan is the node.

alias Exmc.Builder
alias Exmc.Dist.{Custom, HalfCauchy, Normal}
alias NxVulkanGo.Sampler.Diagnostics

number = &Nx.tensor(&1, type: :f64)

normal = fn ir, name, mu, sigma ->
  Builder.rv(ir, name, Normal, %{mu: number.(mu), sigma: number.(sigma)})
end

ys = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
sigmas = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]

schools =
  Builder.new_ir()
  |> normal.("mu", 0.0, 5.0)
  |> Builder.rv("tau", HalfCauchy, %{scale: number.(5.0)})

schools =
  [ys, sigmas]
  |> Enum.zip()
  |> Enum.with_index()
  |> Enum.reduce(schools, fn {{y, sigma}, i}, ir ->
    ir
    |> Builder.rv("theta#{i}", Normal, %{mu: "mu", sigma: "tau"})
    |> Builder.rv("y#{i}", Normal, %{mu: "theta#{i}", sigma: number.(sigma)})
    |> Builder.obs("y#{i}_obs", "y#{i}", number.(y))
  end)

:rand.seed(:exsss, {1, 2, 3})

returns =
  for i <- 1..200 do
    {mean, sd} = Enum.at([{-2.0, 0.7}, {0.0, 0.4}, {1.5, 0.9}], rem(i, 3))
    mean + sd * :rand.normal()
  end

likelihood = fn _x, p ->
  second = Nx.add(p.mu, Nx.exp(p.gap0))
  means = Nx.stack([p.mu, second, Nx.add(second, Nx.exp(p.gap1))])
  logs = Nx.stack([p.log_sigma0, p.log_sigma1, p.log_sigma2])
  logits = Nx.stack([p.weight0, p.weight1, number.(0.0)])
  z = Nx.divide(Nx.subtract(Nx.new_axis(p.__obs_data, 1), means), Nx.exp(logs))
  weights = Nx.subtract(logits, Nx.logsumexp(logits))

  Nx.multiply(z, z)
  |> Nx.multiply(number.(-0.5))
  |> Nx.subtract(logs)
  |> Nx.add(weights)
  |> Nx.logsumexp(axes: [1])
  |> Nx.sum()
end

names = ~w(mu gap0 gap1 log_sigma0 log_sigma1 log_sigma2 weight0 weight1)

priors =
  [{-2.0, 2.0}, {0.0, 1.0}, {0.0, 1.0}] ++
    List.duplicate({-0.5, 0.5}, 3) ++ [{0.0, 1.0}, {0.0, 1.0}]

regimes =
  [names, priors]
  |> Enum.zip()
  |> Enum.reduce(Builder.data(Builder.new_ir(), number.(returns)), fn {name, {mu, sigma}}, ir ->
    normal.(ir, name, mu, sigma)
  end)
  |> Custom.rv(
    "likelihood",
    Custom.new(likelihood, support: :real),
    Map.new(["__obs_data" | names], &{String.to_atom(&1), &1})
  )
  |> Builder.obs("likelihood_obs", "likelihood", number.(0.0))

models = %{
  "schools" => {schools, true, %{}},
  "regimes" => {regimes, false, Map.new(names, &{&1, 0.0})}
}

[name | rest] = System.argv()
{ir, ncp, init} = Map.fetch!(models, name)
draws = rest |> List.first("1000") |> String.to_integer()
compiler = String.to_existing_atom(System.get_env("EXMC_COMPILER", "none"))
Application.put_env(:exmc, :compiler, compiler)
Nx.default_backend(Exmc.JIT.backend())

{micros, {trace, stats}} =
  :timer.tc(fn ->
    Exmc.NUTS.Sampler.sample(ir, init, num_warmup: draws, num_samples: draws, seed: 42, ncp: ncp)
  end)

worst =
  trace |> Map.values() |> Enum.map(&Diagnostics.ess_bulk([Nx.to_flat_list(&1)])) |> Enum.min()

IO.puts(
  "#{name}, #{compiler}: #{draws} draws in #{Float.round(micros / 1.0e6, 2)} s, #{stats[:divergences]} divergent, " <>
    "#{Float.round(worst / micros * 1.0e6, 2)} effective draws a second"
)
