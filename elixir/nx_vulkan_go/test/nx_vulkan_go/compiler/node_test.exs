defmodule NxVulkanGo.Compiler.NodeTest do
  # Compiled functions on a real server: that they compute what the evaluator does,
  # the first time and when they have been seen before, and what ends them.
  use ExUnit.Case, async: false

  import Nx.Defn
  import NxVulkanGo.Endless, only: [await_all: 0]
  alias NxVulkanGo.Compiler.Program
  alias NxVulkanGo.{Endless, Error, Graphs, Interpreter}

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    Nx.Defn.default_options(compiler: NxVulkanGo)
    :ok
  end

  defp host(fun), do: Nx.with_default_backend(Nx.BinaryBackend, fun)

  defp random(seed) do
    :rand.seed(:exsss, {seed, 1, 2})
    numbers = for _ <- 1..12, do: :rand.uniform(41) - 21
    host(fn -> numbers |> Nx.tensor(type: :s32) |> Nx.reshape(Graphs.shape()) end)
  end

  defp bytes(tuple), do: tuple |> Tuple.to_list() |> Enum.map(&Nx.to_binary/1)

  test "random functions give the evaluator's bits, thrice, and so does the interpreter" do
    for seed <- 1..60 do
      fun = Graphs.function(seed, 4 + rem(seed, 17))
      {x, y} = {random(seed), random(-seed)}

      expected =
        host(fn -> bytes(Nx.Defn.jit_apply(fun, [x, y], compiler: Nx.Defn.Evaluator)) end)

      program = fun |> Nx.Defn.debug_expr_apply([x, y]) |> Program.new()
      inputs = for i <- program.inputs, do: elem({x, y}, i)
      results = program |> Program.region() |> Interpreter.run(inputs) |> List.to_tuple()

      assert expected == for(at <- program.outs, do: Nx.to_binary(elem(results, at))),
             "seed #{seed}"

      # On the device, and as literals and small host tensors.
      jitted = Nx.Defn.jit(fun)
      there = Enum.map([x, y], &Nx.backend_copy(&1, NxVulkanGo.Backend))
      for _ <- 1..3, do: assert(bytes(apply(jitted, there)) == expected, "seed #{seed}")
      for _ <- 1..3, do: assert(bytes(jitted.(x, y)) == expected, "seed #{seed}")
    end
  end

  @tag :soak
  @tag timeout: 1_200_000
  test "100,000 functions leave no more behind than the first 20,000" do
    compile = fn numbers ->
      for n <- numbers do
        steps = Integer.digits(n + 4, 4)
        apply_step = fn d, x -> elem({x + n, x - n, max(x, n), min(x, n)}, d) end

        fun = fn x ->
          Enum.reduce(steps, x, fn d, x ->
            elem({Nx.add(x, n), Nx.subtract(x, n), Nx.max(x, n), Nx.min(x, n)}, d)
          end)
        end

        assert Nx.to_number(Nx.Defn.jit(fun).(3)) == Enum.reduce(steps, 3, apply_step)
      end

      :erlang.garbage_collect()
      {:erlang.memory(:total), :erlang.system_info(:atom_count)}
    end

    {bytes, atoms} = compile.(1..20_000)
    {last_bytes, last_atoms} = compile.(20_001..100_000)
    assert last_bytes < bytes + 64 * 1024 * 1024
    assert last_atoms < atoms + 100
  end

  test "scalars as arguments are told apart however often a function runs" do
    jitted = Nx.Defn.jit(fn a, b, c -> Nx.subtract(Nx.multiply(a, b), c) end)
    for i <- 1..8, do: assert(Nx.to_number(jitted.(i, 100, 3)) == i * 100 - 3)
    for i <- 1..8, do: assert(Nx.to_number(jitted.(2, i, i + 1)) == i - 1)
  end

  defn train(w, x, y) do
    {w, _} =
      while {w, {x, y, i = 0}}, i < 50 do
        g = grad(w, fn w -> Nx.mean((Nx.dot(x, w) - y) ** 2) end)
        {w - 0.1 * g, {x, y, i + 1}}
      end

    w
  end

  test "a training loop is one run" do
    x = Nx.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25], [-2.0, 1.0]])
    w = Nx.tensor([0.75, -1.5])
    trained = train(Nx.tensor([0.0, 0.0]), x, Nx.dot(x, w))

    for {a, b} <- Enum.zip(Nx.to_flat_list(trained), Nx.to_flat_list(w)),
        do: assert_in_delta(a, b, 1.0e-3)
  end

  defn hooked(n) do
    {_, total} =
      while {n, total = 0}, n > 0 do
        {hook(n - 1, :tick), total + n}
      end

    total
  end

  test "hooks and runtime calls" do
    total = Nx.Defn.jit_apply(&hooked/1, [4], hooks: %{tick: &send(self(), Nx.to_number(&1))})
    assert {:messages, [3, 2, 1, 0]} = Process.info(self(), :messages)
    assert Nx.to_number(total) == 10

    ask = fn x, fun -> Nx.runtime_call(Nx.template({2}, :f32), Nx.multiply(x, 2), [], fun) end

    double =
      Nx.Defn.jit_apply(fn x -> Nx.add(ask.(x, fn t, _ -> Nx.negate(t) end), 1) end, [
        Nx.tensor([1.0, 2.0])
      ])

    assert Nx.to_flat_list(double) == [-1.0, -3.0]

    assert_raise RuntimeError, "no", fn ->
      Nx.Defn.jit_apply(fn x -> ask.(x, fn _, _ -> raise "no" end) end, [Nx.tensor([1.0, 2.0])])
    end

    assert Nx.to_flat_list(Nx.add(double, 1)) == [0.0, -2.0]
  end

  test "a loop without end ends with its caller, and holds up nobody" do
    test = self()
    hook = fn _ -> send(test, :turned) end

    {caller, ref} =
      spawn_monitor(fn ->
        Nx.Defn.jit_apply(&Endless.turning/1, [1], compiler: NxVulkanGo, hooks: %{turn: hook})
      end)

    assert_receive :turned
    assert Nx.to_number(Nx.add(Nx.iota({3}), 1)[2]) == 3
    Process.exit(caller, :kill)
    assert_receive {:DOWN, ^ref, _, _, :killed}
    await_all()
  end

  test "a loop without end and hooks ends when nobody has its result" do
    sent = [:nx_vulkan_go, :run, :stop]
    tell = fn _, _, _, test -> send(test, {:sent, self()}) end
    :telemetry.attach(__MODULE__, sent, tell, self())
    on_exit(fn -> :telemetry.detach(__MODULE__) end)

    {caller, ref} =
      spawn_monitor(fn ->
        Nx.to_number(Nx.Defn.jit_apply(&Endless.sine/1, [1.0], compiler: NxVulkanGo))
      end)

    assert_receive {:sent, ^caller}
    Process.exit(caller, :kill)
    assert_receive {:DOWN, ^ref, _, _, :killed}
    await_all()
  end

  test "each device is a partition of a serving" do
    devices = NxVulkanGo.devices()
    partitions = NxVulkanGo.__partitions_options__(max_concurrency: 1)
    assert partitions == for(%{index: i} <- devices, do: [device: i, max_concurrency: 1])

    double = Nx.Serving.jit(&Nx.multiply(&1, 2), compiler: NxVulkanGo)
    name = __MODULE__.Serving
    start_supervised!({Nx.Serving, serving: double, name: name, batch_size: 2, partitions: true})
    batch = Nx.Batch.stack([Nx.tensor([1, 2]), Nx.tensor([3, 4])])
    result = Nx.Serving.batched_run(name, batch)
    assert %NxVulkanGo.Backend{} = result.data
    assert Nx.to_flat_list(result) == [2, 4, 6, 8]
  end

  test "an error of the device is raised where a result is read" do
    singular = Nx.tensor([[1.0, 2.0], [2.0, 4.0]])
    result = Nx.Defn.jit(&Nx.LinAlg.solve/2).(singular, Nx.tensor([1.0, 2.0]))
    assert %Error{} = catch_error(Nx.to_binary(result))
  end

  test "functions of eager reductions run on the node" do
    :telemetry.attach(
      __MODULE__,
      [:nx_vulkan_go, :fallback],
      fn _, _, m, pid -> send(pid, m) end,
      self()
    )

    on_exit(fn -> :telemetry.detach(__MODULE__) end)
    t = Nx.iota({3, 4})

    assert Nx.to_flat_list(
             Nx.reduce(t, 0, [axes: [1]], fn x, acc -> Nx.max(Nx.multiply(acc, 2), x) end)
           ) == [4, 32, 64]

    assert Nx.to_flat_list(Nx.window_reduce(t, 0, {2, 2}, &Nx.max/2)) == [5, 6, 7, 9, 10, 11]

    evaluated =
      Nx.Defn.jit(&Nx.reduce(&1, 0, fn x, y -> Nx.add(x, y) end), compiler: Nx.Defn.Evaluator)

    assert Nx.to_number(evaluated.(t)) == 66
    refute_received %{op: _}

    # One that looks at values is computed in this VM.
    assert Nx.to_number(Nx.reduce(t, 0, fn x, acc -> Nx.add(Nx.to_number(x), acc) end)) == 66
    assert_received %{op: :reduce, reason: "its function cannot be traced" <> _}
  end
end
