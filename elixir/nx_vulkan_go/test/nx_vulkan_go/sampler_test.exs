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

    test "a run goes on by what another has found" do
      model = normal(Nx.template({3}, :f64))
      found = Sampler.nuts(model, chains: 3, warmup: 200, draws: 20, seed: 1)
      assert Nx.to_flat_list(found.starts) == [1, 1, 1]
      assert Nx.to_flat_list(found.failures) == [0, 0, 0]
      keep = [adapt: false, warmup: 0, step: found.step_size, metric: found.metric]
      last = found.draws[[.., -1]]
      more = Sampler.nuts(model, [chains: 3, draws: 20, init: last] ++ keep)
      assert more.step_size == found.step_size
      assert more.metric == found.metric
      assert more.stats.step_size == Nx.broadcast(Nx.reshape(found.step_size, {3, 1}), {3, 20})
      # A number and a metric of all are as before.
      assert %{draws: _} =
               Sampler.nuts(
                 model,
                 [chains: 2, draws: 5] ++
                   [adapt: false, step: found.step_size[0], metric: found.metric[0]]
               )

      assert_raise ArgumentError, ~r/:step must be .* 2 chains/, fn ->
        Sampler.nuts(model, [chains: 2] ++ keep)
      end

      assert_raise ArgumentError, ~r/:metric/, fn ->
        Sampler.nuts(model, chains: 2, metric: found.metric)
      end
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
            [step: Nx.tensor([0.1, -0.1, 0.1, 0.1])],
            [step: Nx.tensor(:nan)],
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

      assert_raise ArgumentError, ~r/must be real/, fn ->
        Sampler.compile(&Nx.sum(Nx.abs(&1)), Nx.template({3}, :c64))
      end

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
end
