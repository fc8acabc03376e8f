# Measures the sampler with two models: the time of a run, and the effective draws of the
# worst parameter in a second. A run has one chain, 1,000 iterations of warm-up and 1,000
# draws. Also measures 32 leapfrog steps with all rows read: the median of 200 calls.
#
#     mix run bench/sampler.exs [chains]

alias NxVulkanGo.Sampler
alias NxVulkanGo.Sampler.{Diagnostics, Families}

chains =
  case System.argv() do
    [count | _] -> String.to_integer(count)
    [] -> 1
  end

one = Nx.template({}, :f64)
normal = &Families.log_density(:normal, &1, [&2, &3])

# Eight schools, the effects not centred.
schools = fn %{mu: mu, log_tau: log_tau, z: z}, {y, sigma} ->
  effects = Nx.add(mu, Nx.multiply(Nx.exp(log_tau), z))
  half_cauchy = Nx.subtract(log_tau, Nx.log1p(Nx.pow(Nx.divide(Nx.exp(log_tau), 5), 2)))

  [normal.(mu, 0, 5), half_cauchy, Nx.sum(normal.(z, 0, 1)), Nx.sum(normal.(y, effects, sigma))]
  |> Enum.reduce(&Nx.add/2)
end

schools_data =
  {Nx.tensor([28, 8, -3, 7, -1, 1, 18, 12], type: :f64),
   Nx.tensor([15, 10, 16, 11, 9, 11, 10, 18], type: :f64)}

# Three regimes: means in order, deviations, and weights of which one follows.
regimes = fn %{mu: mu, gaps: gaps, log_sigma: log_sigma, weights: weights}, y ->
  second = Nx.add(mu, Nx.exp(gaps[0]))
  means = Nx.stack([mu, second, Nx.add(second, Nx.exp(gaps[1]))])
  logits = Nx.concatenate([weights, Nx.tensor([0.0], type: :f64)])
  logits = Nx.subtract(logits, Nx.logsumexp(logits))
  by_regime = Nx.add(logits, normal.(Nx.new_axis(y, 1), means, Nx.exp(log_sigma)))

  [
    normal.(mu, -2, 2),
    Nx.sum(normal.(gaps, 0, 1)),
    Nx.sum(normal.(log_sigma, -0.5, 0.5)),
    Nx.sum(normal.(weights, 0, 1)),
    Nx.sum(Nx.logsumexp(by_regime, axes: [1]))
  ]
  |> Enum.reduce(&Nx.add/2)
end

# Normal numbers from two Weyl sequences, which other programs can have too.
normal_at = fn i ->
  [u, v] = for step <- [0.6180339887498949, 0.7548776662466927], do: i * step - trunc(i * step)
  :math.sqrt(-2 * :math.log(u)) * :math.cos(2 * :math.pi() * v)
end

returns =
  for i <- 1..200 do
    {mean, sd} = Enum.at([{-2.0, 0.7}, {0.0, 0.4}, {1.5, 0.9}], rem(i, 3))
    mean + sd * normal_at.(i)
  end

models = [
  {"eight schools", schools, %{mu: one, log_tau: one, z: Nx.template({8}, :f64)}, schools_data},
  {"three regimes", regimes,
   %{
     mu: one,
     gaps: Nx.template({2}, :f64),
     log_sigma: Nx.template({3}, :f64),
     weights: Nx.template({2}, :f64)
   }, Nx.tensor(returns, type: :f64)}
]

for {name, density, template, data} <- models do
  {micros, session} =
    :timer.tc(fn -> Sampler.session(Sampler.compile(density, template, data)) end)

  dim = [template] |> Nx.Defn.Composite.flatten_list() |> Enum.map(&Nx.size/1) |> Enum.sum()
  q = Nx.broadcast(Nx.tensor(0.1, type: :f64, backend: Nx.BinaryBackend), {dim})

  steps = fn ->
    {:ok, rows} = Sampler.leapfrog(session, q, q, 0.01, 32)
    Enum.each([rows.q, rows.p, rows.grad, rows.log_density], &Nx.to_binary/1)
  end

  for _ <- 1..100, do: steps.()
  Process.sleep(500)
  calls = for _ <- 1..200, do: elem(:timer.tc(steps), 0)
  IO.puts("#{name}: 32 leapfrog steps in #{Enum.at(Enum.sort(calls), 100)} us")

  Sampler.nuts(session, chains: 1, warmup: 20, draws: 5)

  {time, result} =
    :timer.tc(fn -> Sampler.nuts(session, chains: chains, seed: 1, progress: false) end)

  rows =
    [result.draws]
    |> Nx.Defn.Composite.flatten_list()
    |> Enum.flat_map(&List.wrap(Diagnostics.summary(&1)))

  worst = rows |> Enum.map(& &1.ess_bulk) |> Enum.min()
  rhat = rows |> Enum.map(& &1.rhat) |> Enum.max()
  steps = result.stats.steps |> Nx.sum() |> Nx.to_number()
  divergent = result.stats.divergent |> Nx.sum() |> Nx.to_number()

  IO.puts(
    "#{name}: compiled in #{div(micros, 1000)} ms; #{chains} chains in #{Float.round(time / 1.0e6, 2)} s, " <>
      "#{steps} steps after warm-up, #{divergent} divergent, rhat #{Float.round(rhat, 4)}, " <>
      "#{Float.round(worst / time * 1.0e6, 1)} effective draws a second"
  )
end
