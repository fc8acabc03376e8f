# Operations, small models and what goes wrong, on every backend that is there: Nx.BinaryBackend,
# NxVulkanGo, and EXLA where it is installed. It prints a table of milliseconds, the median
# of some repetitions after one that warms up, and how far results are from those of
# Nx.BinaryBackend.
#
#     mix run examples/full_bench.exs
#     elixir examples/full_bench.exs     # installs the package from Hex first
#
# SIZES (default 16,64,256) are the sides of matrices, REPEAT (5) is the number of repetitions.
# Nx.BinaryBackend takes minutes for a product of 512 × 512; it is left out of sizes
# above BINARY_LIMIT (256).

unless Code.ensure_loaded?(NxVulkanGo), do: Mix.install([{:nx_vulkan_go, "~> 0.2"}])

defmodule FullBench do
  import Nx.Defn

  defn softmax(x, _y) do
    e = Nx.exp(x - Nx.reduce_max(x, axes: [1], keep_axes: true))
    e / Nx.sum(e, axes: [1], keep_axes: true)
  end

  defn layer(x, y), do: Nx.sum(grad(y, &Nx.sum(Nx.tanh(Nx.dot(x, &1)))), axes: [0])

  defn loop(x, y) do
    {x, _, _} =
      while {x, y, i = 0}, i < 20 do
        {Nx.tanh(x + y), y, i + 1}
      end

    x
  end

  @doc "What is measured: functions of two matrices with elements between -1 and 1."
  def cases do
    [
      {"add", &Nx.add/2},
      {"multiply, exp, sum", fn x, y -> Nx.sum(Nx.exp(Nx.multiply(x, y)), axes: [1]) end},
      {"transpose", fn x, _ -> Nx.transpose(x) end},
      {"sum", fn x, _ -> Nx.sum(x) end},
      {"argmax", fn x, _ -> Nx.argmax(x, axis: 1) end},
      {"sort", fn x, _ -> Nx.sort(x, axis: 1) end},
      {"dot", &Nx.dot/2},
      {"softmax of rows", &softmax/2},
      {"solve",
       fn x, y ->
         Nx.LinAlg.solve(
           Nx.add(x, Nx.multiply(Nx.axis_size(x, 0), Nx.eye(Nx.axis_size(x, 0)))),
           y
         )
       end},
      {"a layer and its gradient", &layer/2},
      {"a loop of 20 rounds", &loop/2}
    ]
  end

  def backends do
    exla =
      if Code.ensure_loaded?(EXLA), do: [{"EXLA", Module.concat(EXLA, Backend), EXLA}], else: []

    [
      {"BinaryBackend", Nx.BinaryBackend, Nx.Defn.Evaluator},
      {"eager", NxVulkanGo.Backend, Nx.Defn.Evaluator},
      {"compiled", NxVulkanGo.Backend, NxVulkanGo}
    ] ++ exla
  end

  def operands(n) do
    Nx.default_backend(Nx.BinaryBackend)
    {x, key} = Nx.Random.uniform(Nx.Random.key(n), -1.0, 1.0, shape: {n, n})
    {y, _} = Nx.Random.uniform(key, -1.0, 1.0, shape: {n, n})
    {x, y}
  end

  @doc "Milliseconds of a call with the read of its result, and the result."
  def measure(fun, {x, y}, {_name, backend, compiler}, repeat) do
    Nx.default_backend(backend)
    {x, y} = {Nx.backend_copy(x, backend), Nx.backend_copy(y, backend)}
    jitted = Nx.Defn.jit(fun, compiler: compiler)
    call = fn -> jitted.(x, y) |> Nx.backend_transfer(Nx.BinaryBackend) end
    result = call.()
    times = for _ <- 1..repeat, do: elem(:timer.tc(call), 0)
    {times |> Enum.sort() |> Enum.at(div(repeat, 2)) |> Kernel./(1000), result}
  end

  @doc "The largest difference of two results, relative to the largest element."
  def difference(a, b) do
    Nx.default_backend(Nx.BinaryBackend)
    [a, b] = for t <- [a, b], do: Nx.as_type(t, :f64)
    scale = a |> Nx.abs() |> Nx.reduce_max() |> Nx.to_number() |> max(1.0e-30)
    (Nx.subtract(a, b) |> Nx.abs() |> Nx.reduce_max() |> Nx.to_number()) / scale
  end

  @doc "What must hold whatever happens: an error that is caught, memory that is given back."
  def robust do
    Nx.default_backend(NxVulkanGo.Backend)

    error =
      try do
        Nx.to_list(Nx.take(Nx.iota({1000}), Nx.broadcast(5000, {1000})))
      rescue
        error in NxVulkanGo.Error -> error.kind
      end

    NxVulkanGo.sweep()
    before = NxVulkanGo.memory().session.bytes

    # The backend of a process that is started is the global one, so it is named.
    work = fn -> Nx.to_number(Nx.sum(Nx.iota({10_000}, backend: NxVulkanGo.Backend))) end

    for {pid, monitor} <- for(_ <- 1..20, do: spawn_monitor(work)) do
      receive do: ({:DOWN, ^monitor, _, ^pid, _} -> :ok)
    end

    NxVulkanGo.sweep()
    freed? = NxVulkanGo.memory().session.bytes <= before
    on? = Nx.to_number(Nx.sum(Nx.iota({1000}))) == 499_500

    [
      {"an index out of bounds is an error, and work goes on", error == :bad_argument and on?},
      {"tensors of processes that ended are freed", freed?}
    ]
  end

  def row([first | cells]),
    do:
      IO.puts(String.pad_trailing(first, 26) <> Enum.map_join(cells, &String.pad_leading(&1, 15)))
end

number = fn name, default -> name |> System.get_env(default) |> String.to_integer() end

sizes =
  "SIZES" |> System.get_env("16,64,256") |> String.split(",") |> Enum.map(&String.to_integer/1)

{repeat, binary_limit} = {number.("REPEAT", "5"), number.("BINARY_LIMIT", "256")}
backends = FullBench.backends()
[%{name: device} | _] = NxVulkanGo.devices()
IO.puts("#{device}; milliseconds of a call and the read of its result, median of #{repeat}\n")

worst =
  for n <- sizes, reduce: 0.0 do
    worst ->
      operands = FullBench.operands(n)
      FullBench.row(["#{n} × #{n}" | Enum.map(backends, &elem(&1, 0))] ++ ["difference"])

      for {name, fun} <- FullBench.cases(), reduce: worst do
        worst ->
          measured =
            for {title, _, _} = backend <- backends,
                do:
                  if(title == "BinaryBackend" and n > binary_limit,
                    do: nil,
                    else: FullBench.measure(fun, operands, backend, repeat)
                  )

          [{_, expected} | others] = Enum.reject(measured, &is_nil/1)

          difference =
            others |> Enum.map(&FullBench.difference(expected, elem(&1, 1))) |> Enum.max()

          cells =
            for cell <- measured,
                do: if(cell, do: :erlang.float_to_binary(elem(cell, 0), decimals: 3), else: "-")

          FullBench.row([name | cells] ++ [:erlang.float_to_binary(difference, scientific: 1)])
          max(worst, difference)
      end
      |> tap(fn _ -> IO.puts("") end)
  end

robust = FullBench.robust()
for {what, holds?} <- robust, do: IO.puts("#{if holds?, do: "PASS", else: "FAIL"}: #{what}")
agree? = worst < 1.0e-3

IO.puts(
  "#{if agree?, do: "PASS", else: "FAIL"}: results agree to #{:erlang.float_to_binary(worst, scientific: 1)} of the largest element"
)

unless agree? and Enum.all?(robust, &elem(&1, 1)), do: System.halt(1)
