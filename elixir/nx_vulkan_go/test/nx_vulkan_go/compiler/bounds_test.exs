defmodule NxVulkanGo.Compiler.BoundsTest do
  # Compiled functions on a real server that are too deep, very long, without end, or
  # that call functions of this VM which do not answer as they should.
  use ExUnit.Case, async: false

  import NxVulkanGo.Endless, only: [await_all: 0]
  alias NxVulkanGo.{Endless, Error}

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    Nx.Defn.default_options(compiler: NxVulkanGo)
    :ok
  end

  describe "size" do
    # Conds in the last branch of conds.
    defp nested(x, 0), do: Nx.add(x, 1)

    defp nested(x, n),
      do: Nx.Defn.Expr.cond([{Nx.greater(x, n), Nx.negate(x)}], nested(x, n - 1))

    test "scopes lie in each other to the bound, and no deeper" do
      assert Nx.to_number(Nx.Defn.jit(&nested(&1, 999)).(0.0)) == 1.0

      for depth <- [1_000, 3_000] do
        result = Nx.Defn.jit(&nested(&1, depth)).(0.0)
        assert %Error{kind: :bad_argument, op: "run"} = error = catch_error(Nx.to_number(result))
        assert Exception.message(error) =~ "more than 1000 deep"
        assert byte_size(Exception.message(error)) < 4_000
      end

      await_all()
    end

    # Adds 1 and takes it away again, in so many instructions.
    defp long(n) do
      fn x ->
        Enum.reduce(1..n, x, fn i, x ->
          if rem(i, 2) == 0, do: Nx.subtract(x, 1), else: Nx.add(x, 1)
        end)
      end
    end

    test "a program of 20,000 instructions" do
      jitted = Nx.Defn.jit(long(20_000))
      for _ <- 1..3, do: assert(Nx.to_flat_list(jitted.(Nx.iota({3}))) == [0, 1, 2])
      await_all()
    end

    @tag :soak
    @tag timeout: 1_800_000
    test "a program of 1,000,000 instructions" do
      jitted = Nx.Defn.jit(long(1_000_000))
      for _ <- 1..2, do: assert(Nx.to_flat_list(jitted.(Nx.iota({3}))) == [0, 1, 2])
      await_all()
    end
  end

  describe "a loop without end" do
    test "ends when its result is deallocated, and others go on meanwhile" do
      result = Nx.Defn.jit(&Endless.sine/1).(1.0)
      assert Nx.to_flat_list(Nx.Defn.jit(&Nx.multiply(&1, 2)).(Nx.iota({3}))) == [0, 2, 4]
      assert :ok = Nx.backend_deallocate(result)
      await_all()
    end

    test "ends by what a hook in it raises" do
      assert_raise RuntimeError, "enough", fn ->
        Nx.Defn.jit_apply(&Endless.turning/1, [1], hooks: %{turn: fn _ -> raise "enough" end})
      end

      await_all()
    end
  end

  describe "a function of a runtime call that" do
    # Two values are expected of it.
    defp call(fun, options \\ []) do
      traced = fn x -> Nx.runtime_call(Nx.template({2}, :f32), x, [], fn t, _ -> fun.(t) end) end
      Nx.Defn.jit_apply(traced, [Nx.tensor([1.0, 2.0])], options)
    end

    test "raises, throws, exits or is killed ends the run with that" do
      assert_raise RuntimeError, "boom", fn -> call(fn _ -> raise "boom" end) end
      assert catch_throw(call(fn _ -> throw(:ball) end)) == :ball
      assert catch_exit(call(fn _ -> exit(:left) end)) == :left
      assert catch_exit(call(fn _ -> Process.exit(self(), :kill) end)) == :killed
      await_all()
    end

    test "answers with another shape or type, or with no tensor, is told so" do
      for answer <- [Nx.tensor([1.0, 2.0, 3.0]), Nx.tensor([1, 2]), {Nx.tensor([1.0, 2.0]), 1}] do
        assert_raise RuntimeError, ~r/match the given output template/, fn ->
          call(fn _ -> answer end)
        end
      end

      assert %{__exception__: true} = catch_error(call(fn _ -> :nothing end))
      await_all()
    end

    test "never answers ends the run after its time" do
      never = fn _ -> Process.sleep(:infinity) end
      assert %Error{kind: :callback_timeout} = catch_error(call(never, callback_timeout: 50))
      await_all()
    end
  end
end
