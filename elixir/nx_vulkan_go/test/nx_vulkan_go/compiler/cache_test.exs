defmodule NxVulkanGo.Compiler.CacheTest do
  # How often functions are compiled, by which process, and the events that this emits.
  use NxVulkanGo.FakeCase, async: false

  import Nx.Testing
  alias NxVulkanGo.Compiler.Cache
  alias NxVulkanGo.Error

  setup :compiling

  # A process that asks the cache for something that another one compiles: the cache has
  # its request when this returns.
  defp start_waiting(fun) do
    cache = Process.whereis(Cache)
    :erlang.trace(cache, true, [:receive])
    task = Task.async(fun)
    pid = task.pid
    assert_receive {:trace, ^cache, :receive, {:"$gen_call", {^pid, _}, {:claim, _, _}}}
    :erlang.trace(cache, false, [:receive])
    task
  end

  test "callers of the same function at the same time compile it once", %{place: place} do
    test = self()

    {counter, fun} =
      traced(fn a, b ->
        send(test, {:compiling, self()})
        receive do: (:go -> Nx.add(a, b))
      end)

    callers =
      for i <- 1..20 do
        Task.async(fn ->
          send(test, :calling)
          Nx.to_number(Nx.Defn.jit_apply(fun, [i, 1], [compiler: NxVulkanGo] ++ place))
        end)
      end

    for _ <- callers, do: assert_receive(:calling)
    assert_receive {:compiling, first}
    send(first, :go)
    assert Task.await_many(callers, 30_000) == Enum.to_list(2..21)
    assert :counters.get(counter, 1) == 1
  end

  test "an exception goes to the caller with its stack, and the next one tries again",
       %{place: place} do
    fun = fn _ -> raise ArgumentError, "no such thing" end

    for _ <- 1..2 do
      assert_raise ArgumentError, "no such thing", fn -> Nx.Defn.jit(fun).(1) end
    end

    # One that dies compiling lets the next one go on.
    test = self()
    options = [compiler: NxVulkanGo] ++ place

    slow = fn x ->
      send(test, {:compiling, self()})
      receive do: (:go -> Nx.add(x, 1))
    end

    {dying, ref} = spawn_monitor(fn -> Nx.Defn.jit_apply(slow, [1], options) end)
    assert_receive {:compiling, ^dying}
    waiting = start_waiting(fn -> Nx.to_number(Nx.Defn.jit_apply(slow, [1], options)) end)
    Process.exit(dying, :kill)
    assert_receive {:DOWN, ^ref, _, _, :killed}
    assert_receive {:compiling, next} when next == waiting.pid
    send(next, :go)
    assert Task.await(waiting) == 2
  end

  test "the oldest go when there are many" do
    limit = Cache.limit(2)
    on_exit(fn -> Cache.limit(limit) end)
    {counter, fun} = traced(&Nx.add/2)
    Nx.Defn.jit(fun).(1, 2)
    for i <- 1..2, do: Nx.Defn.jit(fn x -> Nx.add(x, i) end).(1)
    assert Cache.size() == 2
    assert_equal(Nx.Defn.jit(fun).(1, 2), Nx.tensor(3))
    assert :counters.get(counter, 1) == 2
  end

  # A table compares a key with its own, and copies it: some milliseconds for this one.
  test "a call takes as long whatever the function captures", %{place: place} do
    [small, large] =
      for n <- [1, 1_000_000] do
        list = Enum.to_list(1..n)
        {counter, fun} = traced(fn a, b -> if hd(list) == 1, do: Nx.add(a, b) end)
        compiled = Nx.Defn.jit(fun, [compiler: NxVulkanGo] ++ place)

        times =
          for i <- 1..30, do: :timer.tc(fn -> assert Nx.to_number(compiled.(i, 1)) == i + 1 end)

        assert :counters.get(counter, 1) == 1
        times |> Enum.map(&elem(&1, 0)) |> Enum.min()
      end

    assert large < 20 * small + 500
  end

  test "a process forgets the programs that are dropped" do
    {counter, fun} = traced(&Nx.add/2)
    for _ <- 1..3, do: Nx.Defn.jit(fun).(1, 2)
    Cache.clear()
    for _ <- 1..3, do: Nx.Defn.jit(fun).(1, 2)
    assert :counters.get(counter, 1) == 2
  end

  test "a function is compiled again when a module is replaced, not when one is added" do
    define = fn name, factor ->
      Code.compile_string("""
      defmodule #{inspect(name)} do
        def f(x), do: Nx.multiply(x, #{factor})
      end
      """)
    end

    on_exit(fn -> Code.compiler_options(ignore_module_conflict: false) end)
    Code.compiler_options(ignore_module_conflict: true)
    [used, other] = for name <- ~w(Used Other), do: Module.concat(__MODULE__, name)
    define.(used, 2)
    {counter, fun} = traced(fn a, _b -> used.f(a) end)
    compiled = Nx.Defn.jit(fun)
    assert Nx.to_number(compiled.(5, 0)) == 10
    define.(other, 1)
    define.(used, 2)
    assert Nx.to_number(compiled.(5, 0)) == 10
    assert :counters.get(counter, 1) == 1
    define.(used, 3)
    assert Nx.to_number(compiled.(5, 0)) == 15
    assert Nx.to_number(compiled.(5, 0)) == 15
    assert :counters.get(counter, 1) == 2
    :code.purge(used)
    :code.delete(used)
    define.(used, 4)
    assert Nx.to_number(compiled.(5, 0)) == 20
    assert Cache.size() == 1
  end

  test "what the node does not know is left to the evaluator, and that is told" do
    test = self()
    event = [:nx_vulkan_go, :compiler, :fallback]
    :telemetry.attach(__MODULE__, event, fn _, _, m, _ -> send(test, m) end, nil)
    on_exit(fn -> :telemetry.detach(__MODULE__) end)
    future = fn x -> put_in(Nx.exp(x).data.op, :from_the_future) end

    # The evaluator asks the backend, which does not know it either.
    assert %UndefinedFunctionError{function: :from_the_future} =
             catch_error(Nx.Defn.jit(future).(Nx.iota({3})))

    assert_received %{function: ^future, reason: "from_the_future: " <> _}
    assert "#{NxVulkanGo.explain(future, [1])}" =~ "run by Nx.Defn.Evaluator: from_the_future"

    on_exit(fn -> Application.put_env(:nx_vulkan_go, :fallback, :silent) end)
    NxVulkanGo.Fallback.reset_warnings()
    Application.put_env(:nx_vulkan_go, :fallback, :warn)
    log = ExUnit.CaptureLog.capture_log(fn -> catch_error(Nx.Defn.jit(future).(Nx.iota({3}))) end)
    assert log =~ "is run by Nx.Defn.Evaluator: from_the_future"

    Application.put_env(:nx_vulkan_go, :fallback, :raise)
    error = catch_error(Nx.Defn.compile(future, [Nx.template({3}, :f32)]))
    assert %Error{kind: :unsupported} = error
    assert Exception.message(error) =~ "from_the_future"
  end

  test "devices are partitions of a serving" do
    assert NxVulkanGo.__to_backend__(device: 2, cache: false) == {NxVulkanGo.Backend, [device: 2]}
  end
end
