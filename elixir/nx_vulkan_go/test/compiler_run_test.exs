defmodule NxVulkanGo.CompilerRunTest do
  # Calls of compiled functions: what is sent and when, what is compiled how often,
  # and how functions of the caller run. The server is a fake, but computes.
  use ExUnit.Case, async: false

  import Nx.Defn
  import Nx.Testing
  alias NxVulkanGo.Compiler.Cache
  alias NxVulkanGo.{Distribution, Error, FakeServer, Session, Sessions}

  setup do
    Distribution.ensure_started!()
    device = System.unique_integer([:positive])
    server = FakeServer.start(device)
    on_exit(fn -> Process.exit(server, :kill) end)
    place = [server: node(), device: device]
    Nx.default_backend({NxVulkanGo.Backend, place})
    Nx.Defn.default_options(compiler: NxVulkanGo)
    Cache.clear()
    {:ok, place: place, server: server}
  end

  # What the server has received of an operation.
  defp received(server, op) do
    for {^op, _, _, _} = i <- FakeServer.log(server), do: i
  end

  defp sync(place), do: place |> Sessions.fetch!() |> Session.sync()

  # Returns once a caller waits for what another one compiles.
  defp await_waiting do
    if Enum.all?(:sys.get_state(Cache).claims, &match?({_key, {_owner, _monitor, []}}, &1)) do
      Process.sleep(5)
      await_waiting()
    end
  end

  # Counts how often the function is traced.
  defp traced(fun) do
    counter = :counters.new(1, [])
    {counter, fn a, b -> :counters.add(counter, 1, 1) && fun.(a, b) end}
  end

  describe "calls" do
    test "a program is sent once, its runs by key", %{server: server, place: place} do
      {counter, fun} = traced(&Nx.add(Nx.multiply(&1, 2), &2))
      t = Nx.iota({100})
      jitted = Nx.Defn.jit(fun)
      for i <- 1..3, do: assert(Nx.to_number(jitted.(t, i)[10]) == 20 + i)
      assert_equal(Nx.Defn.jit(fun).(1, 2), Nx.tensor(4))
      assert :counters.get(counter, 1) == 2

      sync(place)
      assert [{_, [], [], [one, {_, _, _}]}, {_, [], [], [two, _]}] = received(server, :program)
      assert [{_, [_], [id, {:s32, _}], [^one, nil]}, _, _, last] = received(server, :run)
      assert is_integer(id)
      assert {_, [_], [{:s32, <<1::32-little>>}, {:s32, <<2::32-little>>}], [^two, nil]} = last
    end

    test "two functions that compute the same share a program", %{server: server, place: place} do
      for fun <- [&Nx.add(&1, 1), fn x -> Nx.add(1, x) end],
          do: assert_equal(Nx.Defn.jit(fun).(2), Nx.tensor(3))

      sync(place)
      assert [_] = received(server, :program)
    end

    test "arguments of any kind, containers and vectors" do
      fun = fn %{a: {x, y}}, z -> %{sum: Nx.add(x, z), pair: {y, Nx.multiply(z, 2)}} end
      host = Nx.tensor([1, 2], backend: Nx.BinaryBackend)

      result =
        Nx.Defn.jit(fun).(%{a: {host, Nx.tensor(5)}}, Nx.vectorize(Nx.tensor([10, 20]), :v))

      assert_equal(result.sum, Nx.vectorize(Nx.tensor([[11, 12], [21, 22]]), :v))
      assert_equal(elem(result.pair, 0), Nx.tensor(5))
      assert_equal(elem(result.pair, 1), Nx.vectorize(Nx.tensor([20, 40]), :v))
    end

    test "an argument that is not used is never made" do
      lazy = %Nx.Batch{} = Nx.Batch.stack([Nx.tensor([1, 2])])
      assert_equal(Nx.Defn.jit(fn _batch, x -> Nx.negate(x) end).(lazy, 3), Nx.tensor(-3))

      vars = [
        Nx.Defn.Expr.parameter(Nx.template({}, :s32), :root, 0),
        Nx.Defn.Expr.parameter(Nx.template({}, :s32), :root, 1)
      ]

      run =
        NxVulkanGo.__compile__(
          make_ref(),
          vars,
          fn [_, b] -> Nx.Defn.debug_expr_apply(fn _, y -> Nx.negate(y) end, [1, b]) end,
          []
        )

      assert [result] = run.([[fn -> raise "made" end, fn -> Nx.tensor(3) end]])
      assert Nx.to_number(result) == -3
    end

    test "results that are constants need no server" do
      assert_equal(
        Nx.Defn.jit(fn -> {1, 2.5} end, server: :"nobody@127.0.0.1").()
        |> elem(0)
        |> Nx.backend_transfer(Nx.BinaryBackend),
        Nx.tensor(1)
      )
    end

    test "large host arguments are uploaded and freed", %{server: server, place: place} do
      host = Nx.iota({1000}, backend: Nx.BinaryBackend)
      sum = Nx.Defn.jit(&Nx.sum/1).(host)
      assert Nx.to_number(sum) == 499_500
      sync(place)
      assert [{_, [{id, _, _}], _, _}] = received(server, :tensor)
      assert [{:run, _, [^id], _}] = received(server, :run)
      assert Enum.any?(received(server, :free), fn {_, _, _, [ids]} -> id in ids end)
    end

    test "captured tensors are uploaded once", %{server: server, place: place} do
      table = Nx.iota({100}, backend: Nx.BinaryBackend)
      for i <- 1..3, do: assert(Nx.to_number(Nx.Defn.jit(&Nx.add(&1, table)).(i)[99]) == 99 + i)
      assert Nx.to_number(Nx.Defn.jit(&Nx.sum(Nx.add(&1, table))).(0)) == 4950
      sync(place)
      assert [_] = received(server, :tensor)
    end

    test "options that nobody knows are ignored" do
      options = [max_concurrency: 3, garbage_collect: true, debug: false, whatever: self()]
      assert_equal(Nx.Defn.jit(&Nx.add(&1, 1), options).(1), Nx.tensor(2))
    end

    test "a program runs on the device of its options", %{place: place} do
      other = System.unique_integer([:positive])
      there = FakeServer.start(other)
      t = Nx.iota({3})
      result = Nx.Defn.jit(&Nx.add(&1, 1), server: node(), device: other).(t)
      assert result.data.session.device == other
      assert Nx.to_flat_list(result) == [1, 2, 3]
      assert t.data.session.device == place[:device]
      Process.exit(there, :kill)
    end

    test "an error of the run is raised where a result is read" do
      bad = put_in(Nx.iota({3}).data.id, 2 ** 40)
      result = Nx.Defn.jit(&Nx.exp/1).(bad)
      assert %Error{kind: :unknown_id} = catch_error(Nx.to_binary(result))
    end

    test "after a restart programs and captured tensors are sent again",
         %{server: server, place: place} do
      table = Nx.iota({100}, backend: Nx.BinaryBackend)
      sum = Nx.Defn.jit(&Nx.sum(Nx.add(&1, table)))
      assert Nx.to_number(sum.(0)) == 4950
      jitted = Nx.Defn.jit(&Nx.add(&1, 1))
      compiled = Nx.Defn.compile(&Nx.add(&1, 1), [Nx.template({}, :s32)])
      assert {Nx.to_number(jitted.(1)), Nx.to_number(compiled.(1))} == {2, 2}
      FakeServer.stop(server)
      again = FakeServer.start(place[:device])
      assert {Nx.to_number(jitted.(2)), Nx.to_number(compiled.(2))} == {3, 3}
      assert Nx.to_number(sum.(1)) == 5050
      assert [_, _] = received(again, :program)
      assert [_] = received(again, :tensor)
    end

    test "the compiled function travels light, and works in other processes" do
      deep = fn x -> Enum.reduce(1..500, x, fn _, x -> Nx.add(Nx.multiply(x, 1.5), 0.25) end) end
      compiled = Nx.Defn.compile(deep, [Nx.template({2}, :f32)])
      assert :erts_debug.flat_size(compiled) < 1000
      t = Nx.tensor([0.0, -0.5])

      assert Task.await(Task.async(fn -> Nx.to_flat_list(compiled.(t)) end)) ==
               Nx.to_flat_list(compiled.(t))
    end
  end

  # Nx can mark arguments as given away since 0.14.
  if Code.ensure_loaded?(Nx) and function_exported?(Nx, :donatable, 1) do
    test "an argument that is given away is freed, its result is not" do
      t = Nx.iota({100})
      {same, sum} = Nx.Defn.jit(fn t -> {t, Nx.add(t, 1)} end).(Nx.donatable(t))
      assert {Nx.to_number(same[9]), Nx.to_number(sum[9])} == {9, 10}
      refute Nx.donatable?(same)
      assert %Error{kind: :unknown_id} = catch_error(Nx.to_binary(t))
      kept = Nx.iota({100})
      Nx.Defn.jit(&Nx.negate/1).(kept)
      assert Nx.to_number(kept[9]) == 9
    end
  end

  describe "compiling" do
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
      waiting = Task.async(fn -> Nx.to_number(Nx.Defn.jit_apply(slow, [1], options)) end)
      await_waiting()
      Process.exit(dying, :kill)
      assert_receive {:DOWN, ^ref, _, _, :killed}
      assert_receive {:compiling, next} when next == waiting.pid
      send(next, :go)
      assert Task.await(waiting) == 2
    end

    test "telemetry" do
      test = self()

      events =
        for name <- [:compile, :run],
            step <- [:start, :stop, :exception],
            do: [:nx_vulkan_go, name, step]

      :telemetry.attach_many(__MODULE__, events, fn e, m, d, _ -> send(test, {e, m, d}) end, nil)
      on_exit(fn -> :telemetry.detach(__MODULE__) end)
      fun = fn x -> Nx.add(x, 1) end
      Nx.Defn.jit(fun).(1)
      assert_received {[_, :compile, :start], %{system_time: _}, %{function: ^fun}}
      assert_received {[_, :compile, :stop], %{duration: _}, %{function: ^fun}}
      assert_received {[_, :run, :start], _, %{key: key}}
      assert_received {[_, :run, :stop], %{duration: _}, %{key: ^key}}
      Nx.Defn.jit(fun).(1)
      refute_received {[_, :compile, _], _, _}
      catch_error(Nx.Defn.jit(fn _ -> raise "oops" end).(1))
      assert_received {[_, :compile, :exception], _, %{kind: :error, reason: %RuntimeError{}}}
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

      Application.put_env(:nx_vulkan_go, :fallback, :raise)
      on_exit(fn -> Application.delete_env(:nx_vulkan_go, :fallback) end)
      error = catch_error(Nx.Defn.compile(future, [Nx.template({3}, :f32)]))
      assert %Error{kind: :unsupported} = error
      assert Exception.message(error) =~ "from_the_future"
    end

    test "sharding is refused, devices are partitions of a serving" do
      assert_raise ArgumentError, ~r/does not shard/, fn ->
        NxVulkanGo.__shard_jit__(nil, nil, [], nil, [], [])
      end

      assert NxVulkanGo.__to_backend__(device: 2, other: 1) == {NxVulkanGo.Backend, [device: 2]}
    end
  end

  describe "loops" do
    defn halves(x) do
      while x, x > 1 do
        x / 2
      end
    end

    # What the process returns is all that is left of what it has made.
    defp elsewhere(place, fun) do
      Task.async(fn ->
        Nx.default_backend({NxVulkanGo.Backend, place})
        fun.(Nx.Defn.jit_apply(&halves/1, [10.0], compiler: NxVulkanGo))
      end)
      |> Task.await()
    end

    test "are cancelled when nobody has their results", %{server: server, place: place} do
      elsewhere(place, fn _ -> :ok end)
      NxVulkanGo.sweep(place)
      assert [{:run, [{run, _, _}], _, _}] = received(server, :run)
      assert [{:cancel, [], [], [[^run]]}] = received(server, :cancel)
    end

    test "are not where someone has, or something was made of them", %{
      server: server,
      place: place
    } do
      kept = elsewhere(place, & &1)
      double = elsewhere(place, &Nx.multiply(&1, 2))
      NxVulkanGo.sweep(place)
      assert received(server, :cancel) == []
      assert {Nx.to_number(kept), Nx.to_number(double)} == {0.625, 1.25}
    end

    test "programs without them are not", %{server: server, place: place} do
      Task.await(
        Task.async(fn ->
          Nx.Defn.jit_apply(&Nx.exp/1, [1.0], [compiler: NxVulkanGo] ++ place) && :ok
        end)
      )

      NxVulkanGo.sweep(place)
      assert [_] = received(server, :run)
      assert received(server, :cancel) == []
    end
  end

  describe "hooks" do
    defn hooked(a, b) do
      a = hook(a + b, :sum)
      hook({a * 2, b}, :pair)
    end

    test "run in the caller's process, in order, before the call returns" do
      hooks = %{sum: &send(self(), {:sum, &1}), pair: &send(self(), {:pair, &1})}
      assert {result, _} = Nx.Defn.jit_apply(&hooked/2, [1, 2], hooks: hooks)
      assert {:messages, [{:sum, sum}, {:pair, {six, two}}]} = Process.info(self(), :messages)
      assert Enum.map([sum, six, two], &Nx.to_number/1) == [3, 6, 2]
      assert %Nx.BinaryBackend{} = sum.data
      assert Nx.to_number(result) == 6
    end

    test "others are called without tracing again, and none is asked for nothing", %{
      server: server,
      place: place
    } do
      for tag <- [:one, :two] do
        Nx.Defn.jit_apply(&hooked/2, [1, 2], hooks: %{sum: &send(self(), {tag, &1})})
        assert_received {^tag, %Nx.Tensor{}}
      end

      Nx.Defn.jit_apply(&hooked/2, [1, 2])
      sync(place)
      assert [_, _] = received(server, :program)
      assert [_, _, {_, _, _, [_, nil]}] = received(server, :run)
    end

    defn counted(n) do
      while n, n > 0 do
        hook(n - 1, :tick)
      end
    end

    test "run in loops" do
      Nx.Defn.jit_apply(&counted/1, [3], hooks: %{tick: &send(self(), Nx.to_number(&1))})
      assert {:messages, [2, 1, 0]} = Process.info(self(), :messages)
    end

    test "what one raises, throws or exits with is the call's, and ends the run", %{
      server: server,
      place: place
    } do
      call = fn hook -> Nx.Defn.jit_apply(&counted/1, [3], hooks: %{tick: hook}) end
      assert_raise RuntimeError, "boom", fn -> call.(fn _ -> raise "boom" end) end
      assert catch_throw(call.(fn _ -> throw(:ball) end)) == :ball
      assert catch_exit(call.(fn _ -> exit(:left) end)) == :left
      sync(place)
      assert [{_, [], [], [[_run]]}, _, _] = received(server, :cancel)
      assert Nx.to_number(call.(fn _ -> :ok end)) == 0
    end
  end

  describe "runtime calls" do
    defp call(x, fun, options \\ []) do
      traced = fn x -> Nx.runtime_call(Nx.template({}, :s32), x, [], fn t, _ -> fun.(t) end) end
      Nx.Defn.jit_apply(traced, [x], [compiler: NxVulkanGo] ++ options)
    end

    test "answer from a process of their own, on tensors of this VM" do
      test = self()

      result =
        call(5, fn t ->
          send(test, {self(), hd(Process.get(:"$callers"))})
          assert %Nx.BinaryBackend{} = t.data
          Nx.add(t, 1)
        end)

      assert Nx.to_number(result) == 6
      assert_received {pid, ^test} when pid != test
    end

    test "tuples and numbers" do
      out = %{a: Nx.template({2}, :f32), b: Nx.template({}, :u8)}

      fun = fn x ->
        Nx.runtime_call(out, {x, Nx.add(x, 1)}, [scale: 2], fn {x, y}, opts ->
          %{a: Nx.stack([x, y]) |> Nx.multiply(opts[:scale]) |> Nx.as_type(:f32), b: Nx.u8(7)}
        end)
      end

      assert %{a: a, b: b} = Nx.Defn.jit(fun).(1)
      assert {Nx.to_flat_list(a), Nx.to_number(b)} == {[2.0, 4.0], 7}
    end

    test "whatever ends one is the call's" do
      assert_raise RuntimeError, "boom", fn -> call(1, fn _ -> raise "boom" end) end
      assert catch_throw(call(1, fn _ -> throw(:ball) end)) == :ball
      assert catch_exit(call(1, fn _ -> exit(:left) end)) == :left
      assert catch_exit(call(1, fn _ -> Process.exit(self(), :kill) end)) == :killed

      assert_raise RuntimeError, ~r/match the given output template/, fn ->
        call(1, fn _ -> Nx.tensor([1, 2]) end)
      end

      never = fn _ -> Process.sleep(:infinity) end
      assert %Error{kind: :callback_timeout} = catch_error(call(1, never, callback_timeout: 50))
      assert Nx.to_number(call(1, &Nx.negate/1)) == -1
    end

    test "a caller that dies takes its run along", %{server: server, place: place} do
      test = self()

      caller =
        spawn(fn ->
          call(1, fn _ -> send(test, {:in, self()}) && Process.sleep(:infinity) end, place)
        end)

      assert_receive {:in, callback}
      ref = Process.monitor(callback)
      Process.exit(caller, :kill)
      assert_receive {:DOWN, ^ref, _, _, :killed}
      # The fake takes it out of its turn, and puts it down in its turn.
      for _ <- 1..2, do: sync(place)
      assert [_] = received(server, :cancel)
    end

    test "a server that dies ends the call", %{server: server} do
      assert %Error{kind: :server_down} =
               catch_error(
                 call(1, fn _ -> FakeServer.stop(server) && Process.sleep(:infinity) end)
               )
    end
  end
end
