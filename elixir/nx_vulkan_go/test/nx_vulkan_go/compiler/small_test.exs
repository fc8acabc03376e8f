defmodule NxVulkanGo.Compiler.SmallTest do
  # Calls of compiled functions in this VM. Where nothing may be sent, the backend names a server
  # that does not exist: whatever asked it would raise.
  use ExUnit.Case, async: false

  import Nx.Defn

  alias NxVulkanGo.Backend
  alias NxVulkanGo.Compiler.Cache
  alias NxVulkanGo.Options

  @nowhere {Backend, server: :"nobody@127.0.0.1"}

  setup do
    before = Options.vm_limit()
    Options.put_vm_limit(128)
    # Programs are made by the limit.
    Cache.clear()

    on_exit(fn ->
      Options.put_vm_limit(before)
      Cache.clear()
    end)

    :rand.seed(:exsss, {ExUnit.configuration()[:seed], 14, 11})
    :ok
  end

  defp here?(%{data: %Backend{id: id, session: session}}), do: id == nil and session == nil

  defp nowhere(fun, args) do
    Nx.with_default_backend(@nowhere, fn ->
      args = Enum.map(args, &Nx.backend_copy/1)
      Nx.Defn.jit(fun, compiler: NxVulkanGo).(args)
    end)
  end

  defp on_binary(fun, args) do
    Nx.with_default_backend(Nx.BinaryBackend, fn ->
      Nx.Defn.jit(fun, compiler: Nx.Defn.Evaluator).(args)
    end)
  end

  defp pick(list), do: Enum.at(list, :rand.uniform(length(list)) - 1)

  # A function of a list of tensors of one shape, made of some operations.
  defp random_function(steps) do
    ops =
      for _ <- 1..steps do
        pick([
          {:unary, &Nx.negate/1},
          {:unary, &Nx.abs/1},
          {:unary, &Nx.sin/1},
          {:unary, &Nx.subtract(&1, Nx.sum(&1))},
          {:unary, &Nx.multiply(&1, 3)},
          {:unary, &Nx.as_type(Nx.greater(&1, 0), :f32)},
          {:unary, &Nx.add(&1, Nx.tensor([0.5], backend: Nx.BinaryBackend))},
          {:binary, &Nx.add/2},
          {:binary, &Nx.max/2},
          {:unary, &Nx.divide(&1, 3)},
          {:binary, &Nx.multiply/2},
          {:binary, &Nx.select(Nx.less(&1, &2), &2, &1)}
        ])
        |> Tuple.insert_at(2, {:rand.uniform(100), :rand.uniform(100)})
      end

    fn tensors ->
      values =
        Enum.reduce(ops, tensors, fn {arity, op, {i, j}}, values ->
          x = Enum.at(values, rem(i, length(values)))
          y = Enum.at(values, rem(j, length(values)))
          [if(arity == :unary, do: op.(x), else: op.(x, y)) | values]
        end)

      {hd(values), %{sum: Nx.sum(hd(values)), again: hd(values)}, hd(tensors)}
    end
  end

  test "have the bits of Nx.BinaryBackend and ask nobody" do
    for _ <- 1..100 do
      shape = pick([{}, {1}, {7}, {2, 3}, {1, 1, 4}])
      fun = random_function(:rand.uniform(4))

      args =
        for _ <- 1..2 do
          data = for _ <- 1..Tuple.product(shape), do: :rand.normal()
          data |> Nx.tensor(type: :f32, backend: Nx.BinaryBackend) |> Nx.reshape(shape)
        end

      {a, %{sum: b, again: c}, d} = nowhere(fun, args)
      {expected_a, %{sum: expected_b, again: expected_c}, expected_d} = on_binary(fun, args)

      for {actual, expected} <- [
            {a, expected_a},
            {b, expected_b},
            {c, expected_c},
            {d, expected_d}
          ] do
        assert here?(actual)

        assert {actual.type, actual.shape, actual.names} ==
                 {expected.type, expected.shape, expected.names}

        assert Nx.to_binary(actual) == Nx.to_binary(expected)
      end
    end
  end

  test "take tensors of Nx.BinaryBackend, numbers, and vectorized tensors" do
    Nx.with_default_backend(Nx.BinaryBackend, fn ->
      add = Nx.Defn.jit(&Nx.add/2, compiler: NxVulkanGo)
      sum = add.(Nx.tensor([1, 2], names: [:x]), 3)
      assert here?(sum)
      assert {Nx.to_list(sum), sum.names} == {[4, 5], [:x]}

      rows = Nx.vectorize(Nx.iota({2, 3}), :row)
      sum = Nx.Defn.jit(&Nx.multiply(Nx.sum(&1), 2), compiler: NxVulkanGo).(rows)
      assert here?(sum)
      assert {sum.vectorized_axes, Nx.to_list(Nx.devectorize(sum))} == {[row: 2], [6, 24]}
    end)
  end

  test "do not call for arguments that are not used, and keep constants" do
    Nx.with_default_backend(@nowhere, fn ->
      fun = Nx.Defn.jit(fn _, x -> {Nx.add(x, 1), 5, Nx.tensor([1, 2])} end, compiler: NxVulkanGo)
      {sum, five, two} = fun.(Nx.template({1000}, :f32), Nx.tensor([1.5]))
      assert Enum.map([sum, five, two], &here?/1) == [true, true, true]
      assert Enum.map([sum, five, two], &Nx.to_flat_list/1) == [[2.5], [5], [1, 2]]
    end)
  end

  test "no run is told where none is sent" do
    test = self()
    name = "small-#{inspect(test)}"

    :telemetry.attach(
      name,
      [:nx_vulkan_go, :run, :start],
      fn _, _, _, _ -> send(test, :run) end,
      nil
    )

    line = Nx.Defn.jit(&Nx.add(Nx.multiply(&1, 2), 1), compiler: NxVulkanGo)
    assert here?(line.(Nx.iota({100}, backend: Backend)))
    refute_received :run
    assert Nx.to_number(line.(Nx.iota({129}, backend: Backend))[128]) == 257
    assert_received :run
    :telemetry.detach(name)
  end

  defn branch(x) do
    if x > 0, do: x + 1, else: x - 1
  end

  describe "not of this VM is a call" do
    defp there?(fun, args, options \\ []) do
      args = Enum.map(args, &Nx.backend_copy(&1, Backend))
      result = apply(Nx.Defn.jit(fun, [compiler: NxVulkanGo] ++ options), args)
      result |> List.wrap() |> Enum.all?(&(not here?(&1)))
    end

    test "with a tensor of the device" do
      large = Nx.iota({200}, backend: Backend)
      assert there?(&Nx.add(&1, 1), [large[0..9]])

      assert Nx.to_list(
               Nx.Defn.jit_apply(&Nx.add(&1, &2), [large[0..1], Nx.tensor([1, 2])],
                 compiler: NxVulkanGo
               )
             ) == [1, 3]
    end

    test "with larger tensors, or more steps, than its limit" do
      assert there?(&Nx.sum(Nx.broadcast(&1, {129})), [Nx.tensor(1)])
      assert there?(fn x -> Enum.reduce(1..32, x, &Nx.max(&2, &1)) end, [Nx.tensor(1)])
      assert there?(&Nx.sin(Nx.cos(Nx.exp(&1))), [Nx.iota({128})])
      Options.put_vm_limit(0)
      assert there?(&Nx.add(&1, 7), [Nx.tensor(1)])
    end

    test "of a function that was compiled with a larger limit" do
      line = Nx.Defn.jit(&Nx.add(&1, 8), compiler: NxVulkanGo)
      assert here?(line.(Nx.tensor(1, backend: Backend)))
      Options.put_vm_limit(0)
      refute here?(line.(Nx.tensor(1, backend: Backend)))
    end

    test "that names a device, and one with a loop or a branch" do
      assert there?(&Nx.add(&1, 9), [Nx.tensor(1)], device: 0)
      assert there?(&branch/1, [Nx.tensor(1)])
    end
  end

  test "an element that Nx.BinaryBackend has no rule for is the node's, as in eager code" do
    zero = Nx.tensor([0, 1], type: :s32, backend: Backend)
    quotient = fn x -> Nx.quotient(7, x) end
    eager = Nx.with_default_backend(Backend, fn -> quotient.(zero) end)
    compiled = Nx.Defn.jit_apply(quotient, [zero], compiler: NxVulkanGo)
    assert Nx.to_list(compiled) == Nx.to_list(eager)
  end
end
