defmodule NxVulkanGo.SamplerTest do
  use ExUnit.Case, async: true

  alias NxVulkanGo.{Error, Sampler}
  alias NxVulkanGo.Sampler.Diagnostics

  defp half_square(x), do: Nx.multiply(-0.5, Nx.multiply(x, x))

  defp normal(template \\ Nx.template({2}, :f64), opts \\ []),
    do: Sampler.compile(&Nx.sum(half_square(&1)), template, [], opts)

  # Draws of one parameter must have this mean and variance, within four standard errors.
  defp assert_moments(draws, mean, variance) do
    assert_mean(draws, mean)
    assert_mean(Nx.pow(Nx.subtract(draws, mean), 2), variance)
    assert Diagnostics.rhat(draws) < 1.02
  end

  defp assert_mean(draws, mean) do
    %{mean: got, mcse: mcse} = Diagnostics.summary(draws)
    assert abs(got - mean) < 4 * mcse, "mean #{got}, must be #{mean} within 4 of #{mcse}"
  end

  describe "nuts/2" do
    test "a standard normal, over seeds" do
      model = normal(Nx.template({}, :f64))

      for seed <- 1..6 do
        %{draws: draws} = Sampler.nuts(model, seed: seed, draws: 500, warmup: 500)
        assert draws.shape == {4, 500}
        assert_moments(draws, 0.0, 1.0)
      end
    end

    test "a conjugate normal with data" do
      y = Nx.tensor([4.1, 5.3, 4.7, 5.9, 5.0], type: :f64)

      # Prior N(0, 10²), noise 1: the posterior is normal.
      model =
        Sampler.compile(
          fn %{mu: mu}, y ->
            Nx.add(half_square(Nx.divide(mu, 10)), Nx.sum(half_square(Nx.subtract(y, mu))))
          end,
          %{mu: Nx.template({}, :f64)},
          y
        )

      precision = 5 + 0.01
      %{draws: %{mu: mu}} = Sampler.nuts(model, seed: 3, warmup: 500)
      assert_moments(mu, 25.0 / precision, 1 / precision)
    end

    test "an exponential and a half-normal on their logarithms" do
      # Density of x, times dx/dq.
      model =
        Sampler.compile(
          fn {e, h} ->
            Nx.add(
              Nx.subtract(e, Nx.multiply(2, Nx.exp(e))),
              Nx.add(h, half_square(Nx.exp(h)))
            )
          end,
          {Nx.template({}, :f64), Nx.template({}, :f64)}
        )

      %{draws: {e, h}} = Sampler.nuts(model, seed: 1)
      assert_moments(Nx.exp(e), 0.5, 0.25)
      assert_moments(Nx.exp(h), 0.797885, 0.363380)
    end

    test "a correlated normal of 50 dimensions" do
      # An autoregression: x_1 and the differences x_i - 0.9 x_(i-1) are independent.
      d = 50
      sigma = :math.sqrt(1 - 0.81)

      model =
        Sampler.compile(
          fn x ->
            noise = Nx.divide(Nx.subtract(x[1..-1//1], Nx.multiply(0.9, x[0..-2//1])), sigma)
            Nx.add(half_square(x[0]), Nx.sum(half_square(noise)))
          end,
          Nx.template({d}, :f64)
        )

      %{draws: draws, metric: metric} =
        Sampler.nuts(model, seed: 2, chains: 2, warmup: 300, draws: 300)

      assert draws.shape == {2, 300, d}
      assert metric.shape == {2, d}
      for i <- [0, 24, 49], do: assert_moments(draws[[.., .., i]], 0.0, 1.0)
    end

    test "eight schools, against published posterior means" do
      y = Nx.tensor([28, 8, -3, 7, -1, 1, 18, 12], type: :f64)
      sigma = Nx.tensor([15, 10, 16, 11, 9, 11, 10, 18], type: :f64)
      one = Nx.template({}, :f64)

      # mu ~ N(0, 5), tau ~ half-Cauchy(5), and the effects not centred: posteriordb has
      # mean 4.42 and standard deviation 3.32 of mu, 3.60 and 3.21 of tau.
      model =
        Sampler.compile(
          fn %{mu: mu, log_tau: log_tau, z: z}, {y, sigma} ->
            tau = Nx.exp(log_tau)
            theta = Nx.add(mu, Nx.multiply(tau, z))
            prior = Nx.subtract(log_tau, Nx.log1p(Nx.pow(Nx.divide(tau, 5), 2)))

            [half_square(Nx.divide(mu, 5)), prior, Nx.sum(half_square(z))]
            |> Enum.reduce(
              Nx.sum(half_square(Nx.divide(Nx.subtract(y, theta), sigma))),
              &Nx.add/2
            )
          end,
          %{mu: one, log_tau: one, z: Nx.template({8}, :f64)},
          {y, sigma}
        )

      %{draws: draws, stats: stats} =
        Sampler.nuts(model, seed: 4, target: 0.9, warmup: 400, draws: 400)

      assert_mean(draws.mu, 4.42)
      assert_mean(Nx.exp(draws.log_tau), 3.60)
      assert Nx.to_number(Nx.sum(stats.divergent)) < 20
    end

    test "Neal's funnel: its neck is hard, and that is seen" do
      model =
        Sampler.compile(
          fn %{v: v, x: x} ->
            scaled = Nx.multiply(x, Nx.exp(Nx.multiply(-0.5, v)))
            width = Nx.multiply(Nx.axis_size(x, 0) * -0.5, v)
            Nx.add(half_square(Nx.divide(v, 3)), Nx.add(width, Nx.sum(half_square(scaled))))
          end,
          %{v: Nx.template({}, :f64), x: Nx.template({9}, :f64)}
        )

      %{draws: %{v: v}, stats: stats} = Sampler.nuts(model, seed: 1, warmup: 400, draws: 400)
      slow = Diagnostics.summary(v)
      # Chains that move freely would have one effective draw a draw.
      assert slow.ess_bulk < 400
      assert Nx.to_number(Nx.sum(stats.divergent)) > 0 or slow.rhat > 1.01
      assert abs(slow.mean) < 2
    end

    test "the same seed gives the same bits, another others" do
      model = normal()

      bits = fn options ->
        Nx.to_binary(Sampler.nuts(model, [warmup: 50, draws: 50] ++ options).draws)
      end

      first = bits.(seed: 7)
      assert bits.(seed: 7) == first
      assert bits.(seed: 7) == first
      # Chunks are how draws travel, no more.
      assert bits.(seed: 7, chunk: 7) == first
      refute bits.(seed: 8) == first
      assert bits.(seed: 2 ** 64 - 1) != first
    end

    test "statistics, warm-up and progress" do
      me = self()

      result =
        Sampler.nuts(normal(),
          chains: 2,
          warmup: 60,
          draws: 50,
          chunk: 25,
          warmup_draws: true,
          progress: &send(me, {:progress, &1})
        )

      assert %{draws: draws, stats: stats, step_size: step, warmup: warmup} = result
      assert draws.shape == {2, 50, 2}
      assert warmup.draws.shape == {2, 60, 2}
      assert warmup.stats.energy.shape == {2, 60}

      for {name, type} <- [
            log_density: {:f, 64},
            accept: {:f, 64},
            depth: {:s, 64},
            divergent: {:u, 8}
          ] do
        assert stats[name].shape == {2, 50}
        assert stats[name].type == type
      end

      want = draws |> half_square() |> Nx.sum(axes: [2])
      assert Nx.to_number(Nx.all_close(stats.log_density, want, rtol: 1.0e-12)) == 1
      assert Nx.to_binary(stats.step_size[[.., 49]]) == Nx.to_binary(step)
      steps = Nx.to_flat_list(stats.steps)

      for {n, depth} <- Enum.zip(steps, Nx.to_flat_list(stats.depth)),
          do: assert(n < 2 ** (depth + 1))

      assert_received {:progress,
                       %{chain: 0, phase: :warmup, draws: 25, divergent: _, step_size: _}}

      assert_received {:progress,
                       %{chain: 1, phase: :draws, draws: 50, divergent: 0, step_size: size}}

      assert size > 0
      refute_received {_pid, {:draws, _, _, _, _, _}}
    end

    test "f32, thinned draws, given metric, step and beginning" do
      model = normal(Nx.template({}, :f64), type: :f32)

      %{draws: draws, step_size: step, metric: metric} =
        Sampler.nuts(model,
          chains: 3,
          warmup: 0,
          draws: 30,
          thin: 2,
          adapt: false,
          step: 0.5,
          metric: 2.0,
          init: Nx.tensor([0.0, 1.0, 2.0])
        )

      assert {3, _} = draws.shape
      assert Nx.to_flat_list(step) == [0.5, 0.5, 0.5]
      assert Nx.to_flat_list(metric) == [2.0, 2.0, 2.0]
    end

    test "a session keeps the data for many runs" do
      y = Nx.iota({1000}, type: :f64)
      model = Sampler.compile(fn mu, y -> Nx.sum(half_square(Nx.subtract(y, mu))) end, 0, y)
      session = Sampler.session(model)
      run = fn -> Sampler.nuts(session, draws: 20, warmup: 100, chains: 1).draws end
      first = run.()
      assert_in_delta Nx.to_number(Nx.mean(first)), 499.5, 0.2
      assert Nx.to_binary(run.()) == Nx.to_binary(first)
    end

    test "large tensors that the function has captured" do
      y = Nx.iota({100}, type: :f64)
      model = Sampler.compile(fn mu -> Nx.sum(half_square(Nx.subtract(y, mu))) end, 0)

      assert_in_delta Nx.to_number(Nx.mean(Sampler.nuts(model, draws: 50, warmup: 100).draws)),
                      49.5,
                      0.2
    end
  end

  describe "bad input of nuts/2" do
    test "options" do
      model = normal()

      for bad <- [
            [chains: 0],
            [draws: -1],
            [target: 1],
            [target: "much"],
            [max_depth: 21],
            [seed: 2 ** 64],
            [step: -1.0],
            [progress: :yes],
            [adapt: false],
            [metric: Nx.tensor([1.0, -1.0])],
            [metric: Nx.tensor([1.0])],
            [init: Nx.tensor([0.0, :nan])],
            [init: Nx.tensor([[0.0, 0.0]])],
            [nonsense: 1]
          ] do
        assert_raise ArgumentError, fn -> Sampler.nuts(model, bad) end
      end
    end

    test "densities" do
      q = Nx.template({2}, :f64)
      assert_raise ArgumentError, ~r/scalar/, fn -> Sampler.compile(&half_square/1, q) end
      assert_raise ArgumentError, ~r/depend/, fn -> Sampler.compile(fn _ -> 1.0 end, q) end
      assert_raise ArgumentError, ~r/function/, fn -> Sampler.compile(:normal, q) end
      assert_raise ArgumentError, ~r/no parameters/, fn -> Sampler.compile(& &1, {}) end

      assert_raise ArgumentError, ~r/:type/, fn ->
        Sampler.compile(&Nx.sum/1, q, [], type: :s32)
      end
    end

    test "a density that is nowhere finite" do
      model = Sampler.compile(&Nx.log(Nx.multiply(0, Nx.sum(&1))), Nx.template({2}, :f64))
      error = assert_raise Error, fn -> Sampler.nuts(model) end
      assert error.kind == :bad_argument
      refute_received {_pid, _}
      # Others go on.
      assert %{draws: _} = Sampler.nuts(normal(), draws: 10, warmup: 10)
    end
  end

  test "stream/2 gives the draws of nuts/2, and may be left" do
    session = Sampler.session(normal())
    options = [chains: 2, warmup: 20, draws: 30, chunk: 7, seed: 5]
    %{draws: draws, stats: stats} = Sampler.nuts(session, options)
    chunks = Enum.to_list(Sampler.stream(session, options))

    for chain <- 0..1 do
      mine = Enum.filter(chunks, &(&1.chain == chain))
      assert Enum.all?(mine, &(&1.phase == :draws))
      assert Enum.map(mine, &Nx.axis_size(&1.draws, 0)) == [7, 7, 7, 7, 2]
      assert Nx.concatenate(Enum.map(mine, & &1.draws)) == draws[chain]
      assert Nx.concatenate(Enum.map(mine, & &1.stats.energy)) == stats.energy[chain]
    end

    label = "chains of #{node()} #{inspect(self())}"
    assert [%{chain: _}] = Enum.take(Sampler.stream(session, draws: 1_000_000, chunk: 5), 1)
    assert over?(label)
    refute_received {_pid, _}
  end

  test "a caller that dies ends its run" do
    model = normal()
    me = self()

    pid =
      spawn(fn ->
        Sampler.nuts(model,
          draws: 1_000_000,
          chains: 2,
          chunk: 10,
          progress: fn _ -> send(me, :on) end
        )
      end)

    assert_receive :on
    label = "chains of #{node()} #{inspect(pid)}"
    assert session?(label)
    Process.exit(pid, :kill)
    assert over?(label)
  end

  defp session?(label), do: Enum.any?(NxVulkanGo.sessions(), &(&1.label == label))

  # Soon the server has no session of this label.
  defp over?(label),
    do: Enum.any?(1..3000, fn _ -> not session?(label) or Process.sleep(10) == :never end)

  describe "leapfrog/5" do
    # The same steps, in the same order, by Nx.BinaryBackend.
    defp host(q, p, eps, k) do
      Enum.map_reduce(1..k, {q, p}, fn _, {q, p} ->
        half = Nx.add(p, Nx.multiply(Nx.divide(eps, 2), Nx.negate(q)))
        q = Nx.add(q, Nx.multiply(Nx.multiply(eps, Nx.tensor([1.0, 1.0], type: :f64)), half))
        p = Nx.add(half, Nx.multiply(Nx.divide(eps, 2), Nx.negate(q)))
        {{q, p}, {q, p}}
      end)
      |> elem(0)
      |> Enum.unzip()
    end

    test "of a normal density is that of the host, bit for bit" do
      session = Sampler.session(normal())
      Nx.default_backend(Nx.BinaryBackend)
      q = Nx.tensor([1.0, -0.5], type: :f64)
      p = Nx.tensor([0.3, 2.0], type: :f64)
      eps = Nx.tensor(0.1, type: :f64)
      {qs, ps} = host(q, p, eps, 32)
      assert {:ok, rows} = Sampler.leapfrog(session, q, p, 0.1, 32)
      assert Nx.to_binary(rows.q) == Nx.to_binary(Nx.stack(qs))
      assert Nx.to_binary(rows.p) == Nx.to_binary(Nx.stack(ps))
      assert Nx.to_binary(rows.grad) == Nx.to_binary(Nx.negate(Nx.stack(qs)))
      assert Nx.shape(rows.log_density) == {32}
      {:ok, short} = Sampler.leapfrog(session, q, p, 0.1, 3)
      assert Nx.to_binary(short.q) == Nx.to_binary(rows.q[0..2])
    end

    test "of a mixture of three regimes is that of the host, to the last digits" do
      Nx.default_backend(Nx.BinaryBackend)
      y = Nx.tensor(for(i <- 1..200, do: :math.sin(i * i) * 3), type: :f64)

      density = fn %{mu: mu, log_sigma: log_sigma, weights: weights}, y ->
        z = Nx.divide(Nx.subtract(Nx.new_axis(y, 1), mu), Nx.exp(log_sigma))
        weights = Nx.subtract(weights, Nx.logsumexp(weights))
        by_regime = Nx.add(Nx.subtract(weights, log_sigma), half_square(z))
        Nx.add(Nx.sum(Nx.logsumexp(by_regime, axes: [1])), Nx.sum(half_square(weights)))
      end

      three = Nx.template({3}, :f64)
      model = Sampler.compile(density, %{mu: three, log_sigma: three, weights: three}, y)
      q = Nx.tensor(for(i <- 1..9, do: :math.cos(i)), type: :f64)
      p = Nx.tensor(for(i <- 1..9, do: :math.sin(i)), type: :f64)
      {:ok, rows} = Sampler.leapfrog(Sampler.session(model), q, p, 0.01, 16)

      at = fn q ->
        Nx.Defn.jit_apply(
          &Sampler.Model.value_and_gradient(model.fun, model.layout, &1, &2),
          [q, y],
          compiler: Nx.Defn.Evaluator
        )
      end

      {_, grad} = at.(q)

      Enum.reduce(0..15, {q, p, grad}, fn i, {q, p, grad} ->
        half = Nx.add(p, Nx.multiply(Nx.tensor(0.005, type: :f64), grad))
        q = Nx.add(q, Nx.multiply(Nx.tensor(0.01, type: :f64), half))
        {logp, grad} = at.(q)
        p = Nx.add(half, Nx.multiply(Nx.tensor(0.005, type: :f64), grad))

        for {name, want} <- [q: q, p: p, grad: grad, log_density: logp] do
          got = Nx.backend_copy(rows[name][i], Nx.BinaryBackend)

          assert Nx.to_number(Nx.all_close(got, want, rtol: 1.0e-12, atol: 1.0e-13)) == 1,
                 "#{name} of step #{i}"
        end

        {q, p, grad}
      end)
    end

    test "goes back where it came from, with containers, data and a metric" do
      model =
        Sampler.compile(
          fn %{a: a, b: b}, y -> Nx.sum(half_square(Nx.subtract(Nx.add(a, b), y))) end,
          %{a: 0, b: Nx.template({2}, :f64)},
          Nx.tensor([1.0, 2.0], type: :f64)
        )

      session = Sampler.session(model, metric: %{a: 0.5, b: Nx.tensor([1.0, 2.0])})
      q = %{a: 0.1, b: Nx.tensor([0.2, 0.3])}
      {:ok, there} = Sampler.leapfrog(session, q, %{a: 1.0, b: Nx.tensor([0.0, 0.5])}, 0.05, 10)
      {:ok, back} = Sampler.leapfrog(session, there.q[9], there.p[9], -0.05, 10)
      assert_in_delta Nx.to_number(back.q[9][0]), Nx.to_number(Nx.tensor(0.1)), 1.0e-12
    end

    test "bad input is an error in words" do
      session = Sampler.session(normal())
      q = Nx.tensor([1.0, 2.0])

      for {q, p, eps, k, words} <- [
            {Nx.tensor([1.0]), q, 0.1, 1, ~r/position has the shapes/},
            {q, Nx.tensor([1.0, 2.0, 3.0]), 0.1, 1, ~r/momentum/},
            {Nx.tensor([1.0, :nan]), q, 0.1, 1, ~r/not finite/},
            {q, q, 0, 1, ~r/step size/},
            {q, q, 0.0, 1, ~r/step size/},
            {q, q, :nan, 1, ~r/step size/},
            {q, q, 0.1, 0, ~r/at least one step/}
          ] do
        assert {:error, text} = Sampler.leapfrog(session, q, p, eps, k)
        assert text =~ words
      end
    end
  end
end
