# Measures small work beside Nx.BinaryBackend, in one run: single operations with and without
# a read, compiled functions, and loops that Nx.Defn.Evaluator runs round by round.
#
#     mix run bench/small.exs [--server NAME --cookie COOKIE] [--node-args="ARGS"] [pattern]
#
# For example with --node-args="--device host". The rounds of both backends alternate, and a
# time is the median of them, in microseconds. A ratio above 1 says that the node is faster.

defmodule Small do
  import Nx.Defn

  defn line(x), do: x * 2 + 1

  defn count(n) do
    {i, _} = while {i = 0, n}, i < n, do: {i + 1, n}
    i
  end

  # A root by Newton's method, until it does not change.
  defn root(a) do
    {x, _, _} =
      while {x = a, a, change = Nx.Constants.infinity(:f32)}, change > 1.0e-6 do
        next = 0.5 * (x + a / x)
        {next, a, Nx.reduce_max(Nx.abs(next - x))}
      end

    x
  end

  # Power iteration, with a matrix.
  defn power(a) do
    {x, _, _} =
      while {x = Nx.sum(a, axes: [1]), a, i = 0}, i < 20 do
        y = Nx.dot(a, x)
        {y / Nx.sqrt(Nx.sum(y * y)), a, i + 1}
      end

    x
  end

  # Positions below the diagonal of a matrix of n x n, one after another: a branch a round.
  defn triangle(n) do
    {found, _} =
      while {found = Nx.broadcast(Nx.s64(0), {28}), {i = 0, j = 0, n}}, i < n ** 2 do
        {found, j} =
          if Nx.remainder(i, n) < Nx.quotient(i, n) do
            {Nx.indexed_put(found, Nx.new_axis(j, -1), i), j + 1}
          else
            {found, j}
          end

        {found, {i + 1, j, n}}
      end

    found
  end

  # Name, arguments, and what the function of a backend is.
  def cases do
    hundred = fn -> [Nx.iota({100}, type: :f32)] end
    positive = fn n -> fn -> [Nx.add(Nx.iota({n}, type: :f32), 1)] end end
    two = fn -> hundred.() ++ hundred.() end
    matrix = fn -> [Nx.divide(Nx.add(Nx.iota({10, 10}, type: :f32), Nx.eye(10)), 100)] end

    [
      {"read of 100", hundred, fn _ -> &Nx.to_binary/1 end},
      {"add of 100, read", two, fn _ -> &Nx.to_binary(Nx.add(&1, &2)) end},
      {"sum of 100, read", hundred, fn _ -> &Nx.to_number(Nx.sum(&1)) end},
      {"100 adds, one read", two, fn _ -> fn x, y -> repeat(x, y, 100) |> Nx.to_binary() end end},
      {"tensor of 100, add, read", fn -> [] end,
       fn _ ->
         list = Enum.map(1..100, &(&1 / 1))
         fn -> list |> Nx.tensor(type: :f32) |> Nx.add(1) |> Nx.to_binary() end
       end},
      {"one line compiled, read", hundred,
       fn compiler ->
         f = Nx.Defn.compile(&line/1, hundred.(), compiler: compiler)
         &Nx.to_binary(f.(&1))
       end},
      {"one line jitted, read", hundred,
       fn compiler ->
         f = Nx.Defn.jit(&line/1, compiler: compiler)
         &Nx.to_binary(f.(&1))
       end},
      {"one line evaluated, read", hundred, evaluated(&line/1, hundred)},
      {"loop: 100 counted", fn -> [Nx.tensor(100)] end,
       evaluated(&count/1, fn -> [Nx.tensor(100)] end)},
      {"loop: roots of 10", positive.(10), evaluated(&root/1, positive.(10))},
      {"loop: roots of 100", positive.(100), evaluated(&root/1, positive.(100))},
      {"loop: power iteration", matrix, evaluated(&power/1, matrix)},
      {"loop: triangle of 8", fn -> [Nx.tensor(8)] end,
       evaluated(&triangle/1, fn -> [Nx.tensor(8)] end)}
    ]
  end

  defp evaluated(function, args) do
    fn _ ->
      f = Nx.Defn.compile(function, args.(), compiler: Nx.Defn.Evaluator)
      fn arg -> Nx.to_binary(f.(arg)) end
    end
  end

  defp repeat(x, _y, 0), do: x
  defp repeat(x, y, n), do: repeat(Nx.add(x, y), y, n - 1)

  # A function that makes `calls` calls, and gives microseconds for each.
  def prepare({backend, compiler}, {_, args, make}) do
    Nx.default_backend(backend)
    args = args.()
    function = make.(compiler)

    fn calls ->
      Nx.default_backend(backend)
      {us, _} = :timer.tc(fn -> for _ <- 1..calls, do: apply(function, args) end)
      us / calls
    end
  end

  def measure(a, b, rounds) do
    calls = fn f -> max(1, round(20_000 / max(1, min(f.(3), f.(3))))) end
    {na, nb} = {calls.(a), calls.(b)}
    times = for _ <- 1..rounds, do: {a.(na), b.(nb)}
    {as, bs} = Enum.unzip(times)
    {median(as), median(bs)}
  end

  defp median(list), do: Enum.at(Enum.sort(list), div(length(list), 2))
end

{options, rest} =
  OptionParser.parse!(System.argv(),
    strict: [server: :string, cookie: :string, node_args: :string, rounds: :integer]
  )

if server = options[:server] do
  Application.put_env(:nx_vulkan_go, :server, String.to_atom(server))
  Application.put_env(:nx_vulkan_go, :cookie, options[:cookie])
end

Application.put_env(:nx_vulkan_go, :node_args, String.split(options[:node_args] || ""))
only = Regex.compile!(List.first(rest) || "")
IO.puts("work\tnode us\tbinary us\tratio")

for {name, _, _} = work <- Small.cases(), name =~ only do
  node = Small.prepare({NxVulkanGo.Backend, NxVulkanGo}, work)
  binary = Small.prepare({Nx.BinaryBackend, Nx.Defn.Evaluator}, work)
  {node, binary} = Small.measure(node, binary, options[:rounds] || 15)
  us = &:erlang.float_to_binary(&1, decimals: 1)
  ratio = :erlang.float_to_binary(binary / node, decimals: 2)
  IO.puts(Enum.join([name, us.(node), us.(binary), ratio], "\t"))
end
