# Measures attention and its gradient, written in plain Nx.
#
#     cd test/suites
#     NX_PATH=…/nx/nx mix run ../bench/models/attention.exs --type bf16 --length 2048
#
# NXVK_NODE is the node that runs it, or NXVK_TEST_SERVER and NXVK_TEST_COOKIE name a running one.
#
# Options:
#
#     --type     bf16, f16 or f32
#     --batch    8             --heads  16
#     --length   2048          --depth  64
#     --causal                 each query sees the keys up to its own position
#     --wide                   the gradient comes in f32, as Nx begins it, not in the type
#     --runs     10            timed runs of 10 calls each; the median counts
#     --profile                prints the parts of the gradient with the time of each on the device
#
# The result is one line of JSON: "forward" and "both", which is the forward pass with the gradients
# of queries, keys and values, in milliseconds a call.

defmodule Attention do
  @switches [
    type: :string,
    batch: :integer,
    heads: :integer,
    length: :integer,
    depth: :integer,
    causal: :boolean,
    wide: :boolean,
    runs: :integer,
    profile: :boolean
  ]

  @defaults %{
    type: "bf16",
    batch: 8,
    heads: 16,
    length: 2048,
    depth: 64,
    causal: false,
    wide: false,
    runs: 10,
    profile: false
  }

  @types %{"bf16" => :bf16, "f16" => :f16, "f32" => :f32}
  @calls 10

  def main(args) do
    {given, rest, wrong} = OptionParser.parse(args, strict: @switches)
    if rest != [] or wrong != [], do: raise("unknown arguments: #{inspect({rest, wrong})}")
    o = Map.merge(@defaults, Map.new(given))
    Nx.global_default_backend(NxVulkanGo.Backend)
    operands = for i <- 1..4, do: draw(o, i)
    if o.profile, do: profile(o, operands)

    o
    |> Map.drop([:runs, :profile])
    |> Map.merge(%{
      forward: time(o, &forward(o, &1, &2, &3, &4), operands),
      both: time(o, &both(o, &1, &2, &3, &4), operands)
    })
    |> Jason.encode!()
    |> IO.puts()
  end

  defp draw(o, i) do
    draw = fn ->
      {x, _} = Nx.Random.uniform(Nx.Random.key(i), -1.0, 1.0, shape: shape(o))
      Nx.as_type(x, @types[o.type])
    end

    Nx.Defn.jit(draw, compiler: NxVulkanGo).()
  end

  defp shape(o), do: {o.batch, o.heads, o.length, o.depth}

  defp forward(o, q, k, v, _), do: attention(o, q, k, v)

  defp both(o, q, k, v, cotangent) do
    Nx.Defn.value_and_grad({q, k, v}, fn {q, k, v} ->
      out = attention(o, q, k, v)
      out = if o.wide, do: Nx.as_type(out, :f32), else: out
      Nx.sum(Nx.multiply(out, cotangent))
    end)
  end

  defp attention(o, q, k, v) do
    weights = Nx.dot(q, [3], [0, 1], k, [3], [0, 1])
    weights = Nx.multiply(weights, Nx.tensor(1 / :math.sqrt(o.depth), type: Nx.type(q)))
    weights = if o.causal, do: mask(weights), else: weights
    weights = Nx.subtract(weights, Nx.reduce_max(weights, axes: [3], keep_axes: true))
    weights = Nx.exp(weights)
    weights = Nx.divide(weights, Nx.sum(weights, axes: [3], keep_axes: true))
    Nx.dot(weights, [3], [0, 1], v, [2], [0, 1])
  end

  defp mask(weights) do
    sees =
      Nx.greater_equal(Nx.iota(Nx.shape(weights), axis: 2), Nx.iota(Nx.shape(weights), axis: 3))

    Nx.select(sees, weights, Nx.Constants.min_finite(Nx.type(weights)))
  end

  defp time(o, fun, operands) do
    fun = Nx.Defn.jit(fun, compiler: NxVulkanGo)
    call = fn -> apply(fun, operands) end
    for _ <- 1..3, do: wait(call.())

    times =
      for _ <- 1..o.runs do
        start = System.monotonic_time(:microsecond)
        wait(for(_ <- 1..@calls, do: call.()) |> List.last())
        (System.monotonic_time(:microsecond) - start) / 1.0e3 / @calls
      end

    Enum.at(Enum.sort(times), div(o.runs, 2))
  end

  # A byte of a result is there when all before it has been computed.
  defp wait({value, _}), do: Nx.to_binary(value)

  defp wait(result),
    do: result |> Nx.reshape({Nx.size(result)}) |> Nx.slice([0], [1]) |> Nx.to_binary()

  defp profile(o, operands) do
    templates = Enum.map(operands, &Nx.to_template/1)
    %{parts: parts} = NxVulkanGo.explain(&both(o, &1, &2, &3, &4), templates, profile: true)

    for part <- parts, part.measured do
      text = Enum.map_join(part.instructions, "; ", &Regex.replace(~r/%\d+:?/, &1, ""))
      IO.puts("#{Float.round(part.measured * 1.0e3, 3)} ms  #{String.slice(text, 0, 300)}")
    end
  end
end

Attention.main(System.argv())
