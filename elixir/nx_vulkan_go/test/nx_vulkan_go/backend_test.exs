defmodule NxVulkanGo.BackendTest do
  use ExUnit.Case, async: false

  alias NxVulkanGo.{Backend, Error, Session}

  setup do
    Nx.default_backend(Backend)
    :ok
  end

  test "every callback is there" do
    for {name, arity} <- Nx.Backend.behaviour_info(:callbacks) do
      assert function_exported?(Backend, name, arity), "#{name}/#{arity} is missing"
    end
  end

  test "unknown options are refused" do
    assert_raise ArgumentError, ~r/has no option :gpu/, fn ->
      Nx.default_backend({Backend, gpu: 1})
    end

    assert_raise ArgumentError, ~r/:device/, fn -> Nx.default_backend({Backend, device: "a"}) end

    assert_raise ArgumentError, ~r/:server/, fn ->
      Nx.default_backend({Backend, server: "n@h"})
    end
  end

  test "more elements than integers count are an error of the node" do
    for power <- [20, 50, 60, 64, 80, 400], axes <- 1..3 do
      shape = Tuple.duplicate(2 ** power, axes)

      if Tuple.product(shape) >= 2 ** 48 do
        for fun <- [
              fn -> Nx.broadcast(1, shape) end,
              fn -> Nx.iota(shape, type: :f64) end,
              fn -> Nx.Defn.jit_apply(fn -> Nx.iota(shape) end, [], compiler: NxVulkanGo) end,
              fn ->
                Nx.Defn.jit_apply(&{Nx.broadcast(&1, shape), &1}, [1], compiler: NxVulkanGo)
                |> elem(0)
              end
            ],
            do:
              assert_raise(Error, ~r/more than 2\^48 elements|integer/, fn ->
                Nx.to_number(Nx.sum(fun.()))
              end)
      end
    end

    assert Nx.to_number(Nx.sum(Nx.iota({300}))) == 44_850
  end

  # This is what a run on a device proves; without it the host may have computed all.
  @tag :device
  test "the device computes what is small, and nobody does in its stead" do
    count = fn name -> Enum.sum(Map.values(Map.fetch!(NxVulkanGo.metrics(), name))) end
    before = count.(:dispatches_total)
    t = Nx.tensor([1.0, 2.0, 3.0])
    assert Nx.to_flat_list(Nx.add(t, t)) == [2.0, 4.0, 6.0]
    assert count.(:dispatches_total) > before
    assert count.(:warm_up_dispatches_total) == 0
  end

  test "the counters say that something was computed" do
    count = fn -> NxVulkanGo.metrics().instructions_total |> Map.values() |> Enum.sum() end
    before = count.()
    assert Nx.to_flat_list(Nx.add(Nx.tensor([1, 2]), 1)) == [2, 3]
    assert count.() > before
  end

  describe "copies and transfers" do
    test "to the host and back" do
      t = Nx.tensor([1, 2, 3])
      host = Nx.backend_copy(t)
      assert %Nx.BinaryBackend{} = host.data
      assert %Backend{} = Nx.backend_copy(host, Backend).data
      assert Nx.to_flat_list(Nx.backend_copy(host, Backend)) == [1, 2, 3]
    end

    test "a transfer to the same place is the tensor itself, elsewhere it deallocates" do
      t = Nx.tensor([1, 2, 3])
      assert Nx.backend_transfer(t, Backend).data == t.data
      assert Nx.to_flat_list(Nx.backend_transfer(t)) == [1, 2, 3]
      assert Nx.backend_deallocate(t) == :already_deallocated
      assert_raise Error, ~r/deallocated/, fn -> Nx.to_binary(t) end
    end

    test "a copy on the device outlives the original" do
      t = Nx.tensor([1, 2, 3])
      copy = Nx.backend_copy(t, Backend)
      assert Nx.backend_deallocate(t) == :ok
      assert Nx.to_flat_list(copy) == [1, 2, 3]
    end

    test "scalars" do
      t = Nx.tensor(1.5)
      assert Nx.to_number(Nx.backend_transfer(t)) == 1.5
      assert Nx.backend_deallocate(t) == :ok
      assert Nx.to_number(Nx.backend_copy(t, Backend)) == 1.5
    end
  end

  test "vectorized tensors" do
    t = Nx.iota({2, 3}) |> Nx.vectorize(:rows)
    assert Nx.to_flat_list(Nx.sum(t)) == [3, 12]
    assert byte_size(Nx.to_binary(t)) == 24
    assert Nx.backend_deallocate(t) == :ok
  end

  test "sub-byte types are packed at the edge" do
    t = Nx.tensor([0, 1, 2, 3, 3, 2, 1, 0], type: :u2)
    assert Nx.to_binary(t) == Nx.to_binary(Nx.backend_copy(t))
    assert bit_size(Nx.to_binary(t)) == 16
    assert Nx.to_flat_list(Nx.add(t, t)) == [0, 2, 0, 2, 2, 0, 2, 0]
    assert inspect(t) =~ "[0, 1, 2, 3, 3, 2, 1, 0]"
  end

  test "to_batched, with what is left over" do
    t = Nx.iota({5, 2})
    assert [a, b, c] = Enum.to_list(Nx.to_batched(t, 2))
    assert Nx.to_flat_list(a) == [0, 1, 2, 3]
    assert Nx.to_flat_list(b) == [4, 5, 6, 7]
    assert Nx.to_flat_list(c) == [8, 9, 0, 1]
    assert [_, _] = Enum.to_list(Nx.to_batched(t, 2, leftover: :discard))
  end

  test "pointers say what to do instead" do
    assert_raise ArgumentError, ~r/backend_copy/, fn -> Nx.to_pointer(Nx.tensor([1])) end

    assert_raise ArgumentError, ~r/backend_copy/, fn ->
      Nx.from_pointer(Backend, %Nx.Pointer{kind: :local, address: 0}, {:f, 32}, {1})
    end
  end

  # Some functions of Nx 0.13 take the backend of the first argument, whatever the others have.
  test "every argument may be of Nx.BinaryBackend, and the others of this backend" do
    here = &Nx.backend_copy(&1, Nx.BinaryBackend)
    rows = Nx.iota({40, 3}, type: :f32)
    indices = Nx.tensor([[2, 1], [0, 2]])
    slice = Nx.negate(Nx.iota({2, 3}, type: :f32))
    [low, high] = for x <- [4.0, 9.0], do: Nx.tensor(x)
    any? = match?(%Backend{}, mixed(fn -> Nx.gather(here.(rows), indices) end).data)

    for {name, fun, args} <- [
          {:gather, &Nx.gather/2, [rows, indices]},
          {:put_slice, &Nx.put_slice(&1, [1, 0], &2), [rows, slice]},
          {:clip, &Nx.clip/3, [rows, low, high]},
          {:reduce, &Nx.reduce(&1, &2, fn a, b -> Nx.max(a, b) end), [rows, low]},
          {:window_reduce, &Nx.window_reduce(&1, &2, {2, 1}, fn a, b -> Nx.max(a, b) end),
           [rows, low]},
          {:concatenate, &Nx.concatenate([&1, &2]), [rows, slice]},
          {:select, &Nx.select(Nx.greater(&1, 5), &2, &1), [rows, rows]},
          {:indexed_add, &Nx.indexed_add(&1, &2, &3), [rows, indices, Nx.tensor([1.0, 2.0])]}
        ] do
      expected =
        Nx.with_default_backend(Nx.BinaryBackend, fn ->
          apply(fun, Enum.map(args, here)) |> Nx.to_binary()
        end)

      assert Nx.to_binary(apply(fun, args)) == expected, "#{name}"

      for i <- 0..(length(args) - 1) do
        one = List.update_at(args, i, here)
        others = args |> Enum.map(here) |> List.replace_at(i, Enum.at(args, i))

        for [%{data: data} | _] = args <- [one, others], any? or is_struct(data, Backend) do
          assert Nx.to_binary(apply(fun, args)) == expected, "#{name}, argument #{i}"
        end
      end
    end
  end

  # The result, or no tensor where Nx.BinaryBackend got one that is not its own.
  defp mixed(fun) do
    fun.()
  rescue
    FunctionClauseError -> %{data: nil}
  end

  test "the functions of reduce may use tensors of the device" do
    scale = Nx.tensor(2)
    t = Nx.tensor([[1, 2], [3, 4]])
    sum = Nx.reduce(t, 0, [axes: [1]], fn x, acc -> Nx.add(acc, Nx.multiply(x, scale)) end)
    assert Nx.to_flat_list(sum) == [6, 14]
  end

  test "an index out of bounds is an error where the result is read" do
    t = Nx.tensor([1, 2, 3])
    taken = Nx.take(t, Nx.tensor([5]))
    sum = Nx.sum(taken)
    error = assert_raise(Error, fn -> Nx.to_number(sum) end)
    assert %{kind: :bad_argument, op: "take", operands: ["s32{3}", "s32{1}"]} = error
    assert Nx.to_number(Nx.sum(t)) == 6
  end

  test "what a scalar of the caller makes impossible is refused at once" do
    t = Nx.tensor([1, 2])

    assert_raise ArgumentError, "cannot left shift by -1", fn -> Nx.left_shift(t, -1) end
    assert_raise ArgumentError, "cannot right shift by -2", fn -> Nx.right_shift(t, -2) end
    assert_raise ArithmeticError, fn -> Nx.quotient(t, 0) end
    assert_raise ArithmeticError, fn -> Nx.remainder(t, 0) end
    assert_raise ArithmeticError, fn -> Nx.atan2(t, Complex.new(0, 1)) end
    assert Nx.to_flat_list(Nx.remainder(Nx.tensor([1.0]), 0)) == [:nan]
  end

  test "devices that differ are refused with what to do" do
    t = Nx.tensor([1])
    other = put_in(t.data.session.device, 99)

    assert_raise ArgumentError, ~r/different devices.*backend_transfer/s, fn ->
      Nx.add(t, other)
    end
  end

  test "a handle of an earlier run is stale" do
    t = Nx.tensor([1])
    old = %{t.data.session | counters: Session.new_counters()}
    Session.close(old)
    stale = put_in(t.data.session, old)
    assert_raise Error, ~r/stale/, fn -> Nx.add(stale, t) end
    assert inspect(stale) =~ "<lost"
  end

  test "a device that is not there is an error" do
    assert_raise Error, ~r/nxvk_77/, fn -> Nx.iota({3}, backend: {Backend, device: 77}) end
  end

  describe "what the node does not compute" do
    setup do
      on_exit(fn -> Application.put_env(:nx_vulkan_go, :fallback, :silent) end)
      NxVulkanGo.Fallback.reset_warnings()
    end

    # A function that looks at values is no program.
    defp fold(t) do
      Nx.reduce(t, 0, fn x, acc -> Nx.tensor(Nx.to_number(x) + Nx.to_number(acc)) end)
    end

    test "is counted" do
      ref = make_ref()
      test = self()
      handler = fn _, measurements, metadata, _ -> send(test, {ref, measurements, metadata}) end
      :telemetry.attach(ref, [:nx_vulkan_go, :fallback], handler, nil)
      assert Nx.to_number(fold(Nx.tensor([1, 2, 3]))) == 6
      assert_receive {^ref, %{count: 1}, %{op: :reduce, type: {:s, 32}}}
      :telemetry.detach(ref)
    end

    test "raises where the policy says so" do
      Application.put_env(:nx_vulkan_go, :fallback, :raise)
      error = assert_raise(Error, fn -> fold(Nx.tensor([1, 2, 3])) end)
      assert error.kind == :unsupported
    end

    test "is warned of once an operation, unless the configuration says otherwise" do
      Application.delete_env(:nx_vulkan_go, :fallback)
      log = ExUnit.CaptureLog.capture_log(fn -> fold(Nx.tensor([1, 2, 3])) end)
      assert log =~ "reduce of s32 is computed by Nx.BinaryBackend"
      refute ExUnit.CaptureLog.capture_log(fn -> fold(Nx.tensor([1, 2])) end) =~ "reduce"
      NxVulkanGo.Fallback.reset_warnings()
      Application.put_env(:nx_vulkan_go, :fallback, :silent)
      refute ExUnit.CaptureLog.capture_log(fn -> fold(Nx.tensor([1, 2])) end) =~ "reduce"
    end
  end
end
