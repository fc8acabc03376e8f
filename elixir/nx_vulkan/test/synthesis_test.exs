defmodule Nx.Vulkan.SynthesisTest do
  # As eXMC's notebook on chains has it.
  use ExUnit.Case, async: false

  alias Nx.Vulkan.{ChainShaderSpecs, Native, Node, Synthesis}

  setup do
    dir = Path.join(System.tmp_dir!(), "nx_vulkan_#{System.unique_integer([:positive])}")
    Application.put_env(:nx_vulkan, :shader_cache, dir)

    on_exit(fn ->
      Application.delete_env(:nx_vulkan, :shader_cache)
      File.rm_rf!(dir)
    end)

    {:ok, dir: dir}
  end

  test "a density is compiled once, by the hash of its source", %{dir: dir} do
    spec = ChainShaderSpecs.beta()
    assert {:ok, path, glsl} = Synthesis.compile_with_source(spec)
    assert <<0x07230203::32-little, _::binary>> = File.read!(path)
    assert glsl =~ "sigmoid(q)"
    assert File.ls!(dir) == [Path.basename(path)]
    File.write!(path, "mark")
    assert {:ok, ^path} = Synthesis.compile(spec)
    assert File.read!(path) == "mark"
    assert {:ok, other} = Synthesis.compile(ChainShaderSpecs.gamma())
    assert other != path
    assert :ok = Synthesis.clear_cache()
    assert File.ls!(dir) == []
  end

  test "a density that is no GLSL is an error, and leaves nothing", %{dir: dir} do
    broken = %{ChainShaderSpecs.beta() | name: "broken", gradient: "digamma(q)"}
    assert {:error, {:glslang, text}} = Synthesis.compile(broken)
    assert text =~ "digamma"
    assert File.ls!(dir) == []
  end

  # Log density and gradient of one parameter, with the constant.
  defp at(:beta, q, a, b, c) do
    s = 1 / (1 + :math.exp(-q))
    {c + a * :math.log(s) + b * :math.log(1 - s), a - (a + b) * s}
  end

  defp at(:gamma, q, a, b, c), do: {c + a * q - b * :math.exp(q), a - b * :math.exp(q)}

  defp at(:lognormal, q, mu, sigma, c),
    do: {c - 0.5 * ((q - mu) / sigma) ** 2, (mu - q) / sigma ** 2}

  defp floats(values), do: for(x <- values, into: <<>>, do: <<x::float-32-little>>)
  defp read(binary), do: for(<<x::float-32-little <- binary>>, do: x)

  for name <- [:beta, :gamma, :lognormal] do
    test "steps of #{name} are those of the host" do
      {k, eps, q, p, mass} = {8, 0.1, [0.4, -0.8], [0.3, 1.0], [1.0, 0.5]}
      {a, b, c} = {2.0, 5.0, 1.5}
      {:ok, path} = Synthesis.compile(apply(ChainShaderSpecs, unquote(name), []))
      push = apply(ChainShaderSpecs, unquote(:"#{name}_push"), [2, k, eps, a, b, c])

      assert {:ok, {qs, ps, grads, logps}} =
               Node.with_node(fn ->
                 Native.leapfrog_chain_synth(floats(q), floats(p), floats(mass), push, k, path)
               end)

      {rows, _} =
        Enum.map_reduce(1..k, {q, p}, fn _, {q, p} ->
          grad = fn q -> Enum.map(q, &elem(at(unquote(name), &1, a, b, c), 1)) end
          kick = fn p, q -> Enum.zip_with(p, grad.(q), &(&1 + eps / 2 * &2)) end
          half = kick.(p, q)
          q = Enum.zip_with([q, half, mass], fn [q, p, m] -> q + eps * m * p end)
          p = kick.(half, q)
          logp = q |> Enum.map(&elem(at(unquote(name), &1, a, b, c), 0)) |> Enum.sum()
          {{q, p, grad.(q), [logp]}, {q, p}}
        end)

      for {got, column} <- Enum.with_index([qs, ps, grads, logps]) do
        want = Enum.flat_map(rows, &elem(&1, column))
        assert length(want) == byte_size(got) |> div(4)
        for {x, y} <- Enum.zip(read(got), want), do: assert_in_delta(x, y, 1.0e-4)
      end
    end
  end

  test "numbers may also come before the metric, and are needed" do
    {:ok, path} = Synthesis.compile(ChainShaderSpecs.gamma())
    push = ChainShaderSpecs.gamma_push(1, 1, 0.1, 2.0, 3.0, 0.0)
    one = floats([1.0])
    run = &Native.leapfrog_chain_synth(one, one, &1, &2, 1, path)
    assert {:ok, rows} = run.(one, push)
    assert run.(floats([2.0, 3.0, 0.0, 1.0]), binary_part(push, 0, 20)) == {:ok, rows}
    assert run.(one, binary_part(push, 0, 28)) == {:error, :size_mismatch}
  end
end
