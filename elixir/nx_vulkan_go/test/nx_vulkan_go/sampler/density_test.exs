defmodule NxVulkanGo.Sampler.DensityTest do
  # Densities that loop, branch, have no value at places, or lose digits.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Nx.Defn

  alias NxVulkanGo.Sampler
  alias NxVulkanGo.Sampler.Diagnostics

  @one Nx.template({}, :f64)

  defp half_square(x), do: Nx.multiply(-0.5, Nx.multiply(x, x))

  defp nuts(density, template \\ @one, options \\ []) do
    options = Keyword.merge([chains: 2, warmup: 300, draws: 300, seed: 1], options)
    density |> Sampler.compile(template) |> Sampler.nuts(options)
  end

  defp assert_normal(%{draws: draws}, mean \\ 0.0) do
    %{mean: got, mcse: mcse, sd: sd} = Diagnostics.summary(draws)
    assert abs(got - mean) < 4 * mcse
    assert_in_delta sd, 1, 0.15
  end

  # x, as a sum of fifths.
  defn fifths(x) do
    {sum, _, _} =
      while {sum = x * 0, i = 0, x}, i < 5 do
        {sum + x / 5, i + 1, x}
      end

    sum
  end

  # x, doubled while it is small and halved as often: how often only the run knows.
  defn there_and_back(x) do
    {x, n} =
      while {x, n = 0}, Nx.abs(x) < 10 and n < 40 do
        {x * 2, n + 1}
      end

    {x, _} =
      while {x, n}, n > 0 do
        {x / 2, n - 1}
      end

    x
  end

  defn by_parts(x) do
    cond do
      x > 1 -> -0.5 * x * x
      x > 0 -> -0.5 * Nx.pow(x, 2)
      true -> -0.5 * x * fifths(x)
    end
  end

  test "loops and branches, on the host and by their gradients" do
    assert_normal(nuts(&half_square(fifths(&1))))
    assert_normal(nuts(&half_square(there_and_back(&1))))
    assert_normal(nuts(&by_parts/1))
    vector = nuts(&Nx.sum(half_square(fifths(&1))), Nx.template({3}, :f64))
    assert_normal(%{draws: vector.draws[[.., .., 1]]})
  end

  test "the gradient of a loop has the precision of what it computes" do
    for x <- [0.3, -2.0, 7.7] do
      x = Nx.tensor(x, type: :f64)
      grad = Nx.Defn.jit(fn x -> grad(x, &half_square(fifths(&1))) end, compiler: NxVulkanGo)
      assert grad.(x).type == {:f, 64}
      assert_in_delta Nx.to_number(grad.(x)), -Nx.to_number(x), 1.0e-13

      inner =
        Nx.Defn.jit(fn x -> grad(x, &half_square(there_and_back(&1))) end, compiler: NxVulkanGo)

      assert_in_delta Nx.to_number(inner.(x)), -Nx.to_number(x), 1.0e-13
    end
  end

  test "hooks and calls are refused when the density is compiled" do
    hooked = fn x -> half_square(Nx.Defn.Kernel.hook(x, :seen, fn _ -> :ok end)) end

    assert_raise ArgumentError, ~r/hooks or runtime calls/, fn ->
      Sampler.compile(hooked, @one)
    end
  end

  test "a singular matrix rejects the step, and the result says how often" do
    # Where x is below 0 the matrix has a zero on its diagonal.
    density = fn x ->
      matrix = Nx.multiply(Nx.eye(2, type: :f64), Nx.max(x, 0))
      solved = Nx.LinAlg.triangular_solve(matrix, Nx.tensor([0.0, 0.0], type: :f64))
      Nx.add(half_square(Nx.subtract(x, 1)), Nx.sum(solved))
    end

    log =
      capture_log(fn ->
        result = nuts(density)
        failures = Nx.to_number(Nx.sum(result.failures))
        assert failures > 0
        divergent = Nx.to_number(Nx.sum(result.stats.divergent))
        assert divergent in 1..failures
        assert Nx.to_number(Nx.reduce_min(result.draws)) > 0
        assert result.starts.shape == {2}
      end)

    assert log =~ "had no value at"
    assert log =~ "singular matrix"
  end

  test "a covariance that stops to be positive definite" do
    density = fn x ->
      off = Nx.tensor([[0.0, 0.5], [0.5, 0.0]], type: :f64)
      factor = Nx.eye(2, type: :f64) |> Nx.multiply(x) |> Nx.add(off) |> Nx.LinAlg.cholesky()

      factor
      |> Nx.take_diagonal()
      |> Nx.log()
      |> Nx.sum()
      |> Nx.add(half_square(Nx.subtract(x, 2)))
    end

    capture_log(fn ->
      result = nuts(density)
      assert Nx.to_number(Nx.reduce_min(result.draws)) > 0.5
    end)
  end

  test "scales, borders and plateaus: only what is improper ends a run" do
    scaled = fn scale -> fn x -> half_square(Nx.divide(x, scale)) end end

    for density <- [
          scaled.(1.0e-30),
          scaled.(1.0e30),
          &Nx.subtract(Nx.log(&1), &1),
          &half_square(Nx.floor(&1)),
          fn x ->
            Nx.select(Nx.less(Nx.abs(x), 0.1), 0.0, Nx.Constants.neg_infinity(:f64))
            |> Nx.add(Nx.multiply(x, 0))
          end,
          &Nx.negate(Nx.sqrt(Nx.abs(&1)))
        ],
        type <- [:f64, :f32] do
      unless type == :f32 and density in [scaled.(1.0e30)] do
        model = Sampler.compile(density, @one, [], type: type)

        assert %{draws: %{shape: {2, 50}}} =
                 Sampler.nuts(model, chains: 2, warmup: 100, draws: 50)
      end
    end

    error = assert_raise NxVulkanGo.Error, fn -> nuts(&Nx.multiply(&1, 0)) end
    assert Exception.message(error) =~ "check that its integral is finite"
  end

  describe "precision" do
    # The caller is a frame of the stack: compiling is not the last thing that it does.
    defp logged(density, data \\ [], options \\ []) do
      capture_log(fn ->
        model = Sampler.compile(density, @one, data, options)
        assert model.layout.dim == 1
      end)
    end

    test "what is computed with fewer digits is told of, with the place" do
      log = logged(&Nx.add(half_square(&1), Nx.log(2)))
      assert log =~ "0.6931471824645996"
      assert log =~ "sampler/density_test.exs:"

      log =
        logged(fn x, y -> Nx.add(half_square(x), Nx.sum(Nx.exp(y))) end, Nx.tensor([0.1, 0.2]))

      assert log =~ "exp is computed as f32"
    end

    test "numbers and data that lose nothing are not" do
      data = Nx.tensor([0.1, 0.2])
      short = [0.1, 2 ** -30, 1.0e-9, 28.1, :math.pi(), 3, 1.0e300]

      for number <- short do
        assert logged(&Nx.add(half_square(&1), Nx.multiply(number, &1))) == ""
      end

      assert logged(fn x, y -> Nx.sum(half_square(Nx.subtract(x, y[0..1]))) end, data) == ""
      assert logged(&Nx.add(half_square(&1), Nx.log(Nx.tensor(2, type: :f64)))) == ""
      assert logged(&Nx.add(half_square(&1), Nx.log(2)), [], type: :f32) == ""
    end
  end
end
