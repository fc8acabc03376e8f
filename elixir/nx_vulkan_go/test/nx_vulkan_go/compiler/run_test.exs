defmodule NxVulkanGo.Compiler.RunTest do
  # Calls of compiled functions: what is sent, and when. The server computes.
  use NxVulkanGo.FakeCase, async: false

  import Nx.Defn
  import Nx.Testing
  alias NxVulkanGo.Compiler.{Program, Run}
  alias NxVulkanGo.Error

  setup :compiling

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
      same = Nx.iota({100}, backend: Nx.BinaryBackend)
      assert Nx.to_number(Nx.Defn.jit(&Nx.sum(Nx.subtract(same, &1))).(1)) == 4850
      sync(place)
      assert [_] = received(server, :tensor)
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

  describe "arguments that are given away" do
    defp given_away(fun, args) do
      vars = Enum.map(args, &Nx.to_template/1)
      program = fun |> Nx.Defn.debug_expr_apply(vars) |> Program.new([], [0, 1])
      Run.run(program, for(t <- args, do: fn -> t end), [])
    end

    test "are freed by the message that has used them, and results that are the same live",
         %{server: server, place: place} do
      t = Nx.iota({100})
      {same, sum} = given_away(fn t -> {t, Nx.add(t, 1)} end, [t])
      assert {Nx.to_number(same[9]), Nx.to_number(sum[9])} == {9, 10}
      assert %Error{kind: :unknown_id} = catch_error(Nx.to_binary(t))
      assert Nx.backend_deallocate(t) == :already_deallocated
      sync(place)
      log = FakeServer.log(server)
      run = Enum.find_index(log, &match?({:run, _, _, _}, &1))
      assert {:free, [], [], [[t.data.id]]} == Enum.at(log, run + 1)
    end

    test "twice, or from elsewhere, or when they are gone, are no more than that",
         %{server: server, place: place} do
      t = Nx.iota({100})
      assert Nx.to_number(given_away(&Nx.add/2, [t, t])[9]) == 18
      assert Nx.to_number(given_away(&Nx.add/2, [Nx.tensor(2), Nx.tensor(3)])) == 5
      host = Nx.iota({100}, backend: Nx.BinaryBackend)
      assert Nx.to_number(given_away(&Nx.sum/1, [host])) == 4950
      assert %Error{kind: :unknown_id} = catch_error(Nx.to_binary(given_away(&Nx.exp/1, [t])))
      sync(place)
      id = t.data.id
      assert [_] = for({_, _, _, [ids]} <- received(server, :free), id in ids, do: ids)
    end

    # Nx 0.13 cannot mark them.
    if Code.ensure_loaded?(Nx) and function_exported?(Nx, :donatable, 1) do
      test "are those that Nx calls donatable" do
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
  end

  describe "loops" do
    defn halves(x) do
      while x, x > 1 do
        x / 2
      end
    end

    # The process's result is the only value that it leaves.
    defp elsewhere(place, fun) do
      Task.async(fn ->
        Nx.default_backend({NxVulkanGo.Backend, place})
        fun.(Nx.Defn.jit_apply(&halves/1, [10.0], compiler: NxVulkanGo))
      end)
      |> Task.await()
    end

    test "are one run, however many rounds, and the server has nobody to ask", %{
      server: server,
      place: place
    } do
      assert Nx.to_number(Nx.Defn.jit(&halves/1).(2.0 ** 100)) == 1.0
      sync(place)
      assert [{:run, [_], [_], [_key, nil]}] = received(server, :run)
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
end
