defmodule NxVulkanGo.CompilerTest do
  # Programs: what an expression becomes, and that it computes what the evaluator
  # does. Nothing here needs a server.
  use ExUnit.Case, async: true

  import Nx.Defn
  alias NxVulkanGo.Compiler.{Listing, Program}
  alias NxVulkanGo.Interpreter

  setup do
    Nx.default_backend(Nx.BinaryBackend)
    :ok
  end

  defp program(fun, args, hooks \\ []),
    do: fun |> Nx.Defn.debug_expr_apply(args) |> Program.new(hooks)

  # The program by the interpreter gives what the evaluator gives.
  defp same!(fun, args) do
    program = program(fun, args)
    flat = args |> Nx.Defn.Composite.flatten_list() |> Enum.map(&Nx.to_tensor/1)
    inputs = for i <- program.inputs, do: flat |> Enum.at(i) |> Nx.devectorize(keep_names: false)
    captured = for {_, t} <- program.captured, do: t
    results = Interpreter.run(Program.region(program), inputs ++ captured) |> List.to_tuple()

    expected =
      [Nx.Defn.jit_apply(fun, args, compiler: Nx.Defn.Evaluator)]
      |> Nx.Defn.Composite.flatten_list()

    assert length(expected) == length(program.outs)

    for {out, t} <- Enum.zip(program.outs, expected) do
      actual = if is_integer(out), do: Nx.to_binary(elem(results, out)), else: out.literal
      assert actual == Nx.to_binary(t)
    end

    program
  end

  defp ops({_params, body, _values}), do: Enum.map(body, &elem(&1, 0))

  describe "expressions" do
    test "operations, with literals for scalars" do
      program = same!(fn x, y -> Nx.sum(Nx.tanh(Nx.multiply(x, 2))) |> Nx.add(y) end, [f32(3), 1])
      assert {params, body, [id]} = Program.region(program)
      assert params == [{1, :f32, {3}}, {2, :s32, {}}]
      assert {:multiply, [{3, :f32, {3}}], [{:s32, <<2::32-little>>}, 1], []} = hd(body)
      assert {:add, [{^id, :f32, {}}], _, []} = List.last(body)
    end

    test "arguments that are not used are no inputs" do
      program = same!(fn _a, {_b, c}, %{d: d} -> Nx.add(c, d) end, [1, {2, 3}, %{d: 4}])
      assert program.inputs == [2, 3]
    end

    test "a subexpression is computed once" do
      program = same!(fn x -> x |> Nx.exp() |> then(&Nx.add(&1, &1)) end, [f32(3)])
      assert ops(Program.region(program)) == [:exp, :add]
    end

    test "small tensors are literals, large ones are parameters, each once" do
      small = Nx.tensor([1, 2, 3])
      large = Nx.iota({100})

      fun = fn x ->
        {Nx.add(x, large), Nx.multiply(x, Nx.iota({100}, backend: Nx.BinaryBackend)), small}
      end

      program = same!(fun, [Nx.iota({100})])
      assert [{_hash, tensor}] = program.captured
      assert Nx.to_binary(tensor) == Nx.to_binary(large)
      assert {[_, {2, :s32, {100}}], _, [_, _, {:s32, {3}, _}]} = Program.region(program)
    end

    test "constants keep their sign, type and vectorized axes" do
      zeros = fn ->
        {Nx.broadcast(0.0, {2}), Nx.broadcast(-0.0, {2}),
         Nx.broadcast(Nx.tensor(0.0, type: :f64), {2})}
      end

      same!(zeros, [])

      vectors = fn t ->
        one = Nx.tensor(1.0)
        {Nx.broadcast_vectors([t, one]) |> List.last(), Nx.add(t, one), one}
      end

      same!(vectors, [Nx.vectorize(f32(3), :a)])

      same!(
        fn -> {Nx.Constants.nan(), Nx.Constants.neg_infinity(:f64), Complex.new(1, -2)} end,
        []
      )
    end

    test "outputs that are scalars or equal take no result of the run" do
      program = same!(fn x -> {1.5, x, %{y: x}, Nx.negate(x)} end, [f32(3)])
      assert [%NxVulkanGo.Backend{literal: <<1.5::float-32-little>>}, 0, 0, 1] = program.outs
      assert length(program.results) == 2
    end

    test "blocks that the node knows are instructions, others what Nx would do" do
      assert [:top_k] = ops(Program.region(same!(&Nx.top_k(&1, k: 2), [f32(4)])))
      assert [:cumulative_sum] = ops(Program.region(same!(&Nx.cumulative_sum/1, [f32(4)])))

      own = fn x ->
        Nx.block(%{__struct__: __MODULE__.Own}, [x, Nx.exp(x)], x, fn _, a, b -> Nx.add(b, a) end)
      end

      assert [:exp, :add] = ops(Program.region(same!(own, [f32(4)])))
    end

    test "slices with starts of both kinds" do
      fun = fn t, i ->
        {Nx.slice(t, [i, 0], [1, 2]), Nx.put_slice(t, [i, 1], Nx.slice(t, [0, 0], [1, 2])), t[i]}
      end

      same!(fun, [Nx.iota({3, 4}), 2])
    end

    test "functions of reductions are closed regions of the type of the result" do
      fun = fn t ->
        {Nx.reduce(t, 1, [axes: [1], type: :f64], fn x, acc -> Nx.add(Nx.multiply(acc, 2), x) end),
         Nx.window_reduce(t, 0, {2, 2}, fn x, acc -> Nx.max(x, acc) end)}
      end

      program = same!(fun, [Nx.iota({3, 4}, type: :s32)])
      {_, body, _} = Program.region(program)

      assert {:reduce, _, _, [[1], false, {[{_, :f64, {}}, {_, :f64, {}}], _, [_]}]} =
               List.keyfind(body, :reduce, 0)
    end

    test "gradients and matrices" do
      loss = fn w, x -> Nx.sum(Nx.sigmoid(Nx.dot(x, w))) end

      same!(fn w, x -> Nx.Defn.value_and_grad(w, &loss.(&1, x)) end, [
        f32(4),
        Nx.iota({3, 4}, type: :f32)
      ])

      same!(&Nx.LinAlg.invert/1, [Nx.tensor([[2.0, 1.0], [1.0, 3.0]])])
    end
  end

  describe "control flow" do
    defn three_ways(x, y) do
      shared = Nx.exp(x)
      first = Nx.sin(y)

      cond do
        x > 3 -> shared + first
        x > 1 -> shared * Nx.cos(y)
        true -> Nx.tan(y)
      end
    end

    test "what one branch needs is computed there, what several need before them" do
      for x <- [4.0, 2.0, 0.0], do: same!(&three_ways/2, [x, 0.5])
      program = program(&three_ways/2, [2.0, 0.5])
      {_, body, _} = region = Program.region(program)
      assert ops(region) == [:greater, :exp, :branch]
      assert {:branch, _, _, [yes, no]} = List.last(body)
      assert ops(yes) == [:sin, :add]
      assert ops(no) == [:greater, :branch]
      {_, inner, _} = no
      assert {:branch, _, _, [{[], _, _} = second, {[], _, _} = third]} = List.last(inner)
      assert {ops(second), ops(third)} == {[:cos, :multiply], [:tan]}
    end

    test "conds that use the one before in all branches do not multiply" do
      small = byte_size(program(fn x -> chained(x, 10) end, [1.0]).code)
      large = byte_size(program(fn x -> chained(x, 20) end, [1.0]).code)
      assert large < 3 * small
      same!(fn x -> chained(x, 6) end, [1.0])
    end

    defp chained(x, n) do
      Enum.reduce(1..n, x, fn _, acc ->
        Nx.Defn.Expr.cond([{Nx.less(acc, 3), Nx.add(acc, 1)}], Nx.multiply(acc, 2))
      end)
    end

    defn loops(x) do
      {x, _, n} =
        while {x, i = 0, n = Nx.tensor(0, type: :s64)}, i < 3 do
          {inner, _} =
            while {x, j = i}, j > 0 do
              {x * 1.5, j - 1}
            end

          {if(inner > 4, do: inner - 1, else: inner + 1), i + 1, n + 1}
        end

      {x, n}
    end

    test "loops in loops, with branches" do
      for x <- [0.0, 1.0, 2.5, 10.0], do: same!(&loops/1, [x])
    end

    defn large_in_loop(x, opts \\ []) do
      while x, Nx.sum(x) < 100 do
        x + opts[:table]
      end
    end

    test "a loop uses what the function has captured" do
      table = Nx.iota({40})
      program = same!(&large_in_loop(&1, table: table), [Nx.broadcast(0, {40})])
      assert [{_, _}] = program.captured
    end

    defn by_vector(x, n) do
      while {x, n}, n > 0 do
        {x * 2, n - 1}
      end
    end

    test "vectorized loops and branches" do
      n = Nx.vectorize(Nx.tensor([1, 0, 3]), :a)
      same!(&by_vector/2, [1.0, n])

      same!(fn p, x -> Nx.Defn.Expr.cond([{p, Nx.add(x, 1)}], x) end, [
        Nx.vectorize(Nx.tensor([1, 0, 3]), :a),
        5
      ])
    end
  end

  describe "functions of the caller" do
    defn hooks(a, b) do
      a = hook(a, :first)
      b = hook({b, a + b}, :second)
      {x, y} = b
      hook(x * y, :silent)
    end

    test "a hook that nobody asked for is nothing, others are in order" do
      assert :hook not in ops(Program.region(program(&hooks/2, [1, 2])))
      program = program(&hooks/2, [1, 2], [:first, :second])
      seen = self()

      Interpreter.run(Program.region(program), [Nx.tensor(1), Nx.tensor(2)], fn {:hook, i, ts} ->
        send(
          seen,
          {elem(program.callbacks, i) |> elem(1) |> elem(1), Enum.map(ts, &Nx.to_number/1)}
        )
      end)

      assert_received {:second, [2, 3]}
      assert_received {:first, [1]}
    end
  end

  describe "programs" do
    test "the same function traced twice is the same program, another is another" do
      fun = fn x -> Nx.add(Nx.exp(x), 1.0) end

      assert program(fun, [f32(3)]).key ==
               program(fn y -> Nx.add(Nx.exp(y), 1.0) end, [f32(3)]).key

      keys = [program(fun, [f32(4)]), program(fn x -> Nx.add(Nx.exp(x), 2.0) end, [f32(3)])]
      assert [_, _, _] = Enum.uniq([program(fun, [f32(3)]).key | Enum.map(keys, & &1.key)])
    end

    test "what a closure captures of a program is small" do
      deep = fn x -> Enum.reduce(1..2000, x, fn _, x -> Nx.sin(x) end) end
      program = program(deep, [f32(3)])
      assert byte_size(program.code) > 50_000
      assert :erts_debug.flat_size(program) < 200
    end

    test "the work to compile grows as the function does" do
      # Reductions count collections of garbage too: the heap holds all that is made.
      work = fn n ->
        test = self()

        measure = fn ->
          deep = fn x -> Enum.reduce(1..n, x, fn _, acc -> Nx.add(Nx.sin(acc), x) end) end
          expr = Nx.Defn.debug_expr_apply(deep, [f32(3)])
          {:reductions, before} = Process.info(self(), :reductions)
          Program.new(expr)
          {:reductions, later} = Process.info(self(), :reductions)
          send(test, {self(), later - before})
        end

        pid = :erlang.spawn_opt(measure, [:link, min_heap_size: 16_000_000])
        assert_receive {^pid, reductions}
        reductions
      end

      # The modules are loaded.
      work.(10)
      # Work that grew as the square would be 256 times as much.
      assert work.(16_000) < 64 * work.(1_000)
    end

    test "scopes a thousand deep" do
      nest = fn nest, x, n ->
        if n == 0,
          do: Nx.add(x, 1),
          else: Nx.Defn.Expr.cond([{Nx.greater(x, n), Nx.negate(x)}], nest.(nest, x, n - 1))
      end

      program = program(fn x -> nest.(nest, x, 1_000) end, [0.0])
      assert [result] = Interpreter.run(Program.region(program), [Nx.tensor(0.0)])
      assert Nx.to_number(result) == 1.0
    end
  end

  describe "the text of a program" do
    test "shows instructions with types, regions and counts" do
      text = Listing.format(program(&three_ways/2, [2.0, 0.5]))
      assert text =~ "10 instructions, 2 arguments"
      assert text =~ "%1: f32 = argument 0"
      assert text =~ ~r/%\d+: f32 = branch\(%\d+\)\n  then\(\)\n/
      assert text =~ ~r/= greater\(%1, 3:s32\)/
    end
  end

  defp f32(n), do: Nx.divide(Nx.iota({n}, type: :f32), n)
end
