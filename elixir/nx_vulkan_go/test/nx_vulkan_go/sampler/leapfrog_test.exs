defmodule NxVulkanGo.Sampler.LeapfrogTest do
  use ExUnit.Case, async: true

  alias NxVulkanGo.Sampler

  defp half_square(x), do: Nx.multiply(-0.5, Nx.multiply(x, x))

  defp normal, do: Sampler.compile(&Nx.sum(half_square(&1)), Nx.template({2}, :f64))

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

          assert Nx.to_number(Nx.all_close(got, want, rtol: 1.0e-13, atol: 1.0e-14)) == 1,
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
