defmodule NxVulkanGo.Compiler.CallbacksTest do
  # Functions of the caller that a program calls, and what ends them.
  use NxVulkanGo.FakeCase, async: false

  import Nx.Defn
  alias NxVulkanGo.Error

  setup :compiling

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
      # The fake ends the run before the turn of the cancel, and notes it in its turn.
      sync(place)
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
