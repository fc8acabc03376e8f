defmodule NxVulkanGo.Backend.LiteralTest do
  # Small tensors that stay in this VM. Where nothing may be sent, the backend names a server
  # that does not exist: whatever asked it would raise.
  use ExUnit.Case, async: false

  import Nx.Defn

  alias NxVulkanGo.{AnyOptions, Backend, Error, Options}

  @nowhere {Backend, server: :"nobody@127.0.0.1"}

  setup do
    before = Options.vm_limit()
    Options.put_vm_limit(64)
    on_exit(fn -> Options.put_vm_limit(before) end)
  end

  defp nowhere(fun), do: Nx.with_default_backend(@nowhere, fun)
  defp here?(%{data: %Backend{id: id, session: session}}), do: id == nil and session == nil

  defn count(n) do
    {i, found, _} =
      while {i = 0, found = Nx.broadcast(0, {8}), n}, i < n and not (found[7] > 0) do
        found =
          if Nx.remainder(i, 2) == 0,
            do: Nx.put_slice(found, [i], Nx.reshape(i, {1})),
            else: found

        {i + 1, found, n}
      end

    {i, found}
  end

  describe "in this VM" do
    test "are tensors of few elements that are made here, and what is made of them" do
      nowhere(fn ->
        small = Nx.tensor([[1, 2], [3, 4]], type: :f32)

        for t <- [
              small,
              Nx.tensor(1),
              Nx.iota({64}),
              Nx.eye(8),
              Nx.broadcast(1.5, {4, 16}),
              Nx.dot(small, small),
              Nx.window_sum(small, {2, 2}),
              Nx.cumulative_sum(small),
              Nx.take(small, Nx.tensor([1, 0])),
              Nx.sort(small, direction: :desc),
              elem(Nx.top_k(small, k: 1), 1),
              Nx.all_close(small, small),
              Nx.concatenate([small, small]),
              Nx.stack([small, small]),
              Nx.to_batched(small, 1) |> Enum.at(1),
              Nx.add(small, Nx.tensor(1, backend: Nx.BinaryBackend)),
              Nx.backend_transfer(Nx.iota({3}, backend: Nx.BinaryBackend), @nowhere)
            ],
            do: assert(here?(t))
      end)
    end

    test "are loops that nothing else goes into" do
      count = Nx.Defn.jit(&count/1, compiler: Nx.Defn.Evaluator)

      nowhere(fn ->
        assert {i, found} = count.(Nx.tensor(7))
        assert {Nx.to_number(i), Nx.to_list(found)} == {7, [0, 0, 2, 0, 4, 0, 6, 0]}
      end)
    end

    for name <- AnyOptions.functions() -- [:conv, :fft, :ifft, :reduce, :window_reduce] do
      test "#{name} with any options is that of Nx.BinaryBackend" do
        seed = ExUnit.configuration()[:seed]
        :rand.seed(:exsss, {seed, 11, :erlang.phash2(unquote(name))})
        for _ <- 1..20, do: unquote(name) |> AnyOptions.call() |> same!()
      end
    end

    test "elements of less than a byte" do
      nowhere(fn ->
        t = Nx.bitwise_not(Nx.tensor([1, 2, 14], type: :u4))
        assert here?(t)

        assert {Nx.to_binary(t), Nx.to_binary(t, limit: 2)} ==
                 {<<14::4, 13::4, 1::4>>, <<14::4, 13::4>>}
      end)
    end

    test "is an error of a scalar where Nx.BinaryBackend has one" do
      nowhere(fn ->
        one = Nx.tensor(1)
        assert_raise ArithmeticError, fn -> Nx.quotient(one, Nx.tensor(0)) end
        assert_raise ArgumentError, fn -> Nx.left_shift(one, Nx.tensor(-1)) end
      end)
    end

    test "reads, copies and text" do
      nowhere(fn ->
        t = Nx.iota({4}, type: :s16)
        assert Nx.to_binary(t, limit: 2) == <<0::16, 1::16-native>>
        assert Nx.to_number(t[3]) == 3
        assert Nx.backend_copy(t, Nx.BinaryBackend).data.__struct__ == Nx.BinaryBackend
        assert inspect(t) =~ "[0, 1, 2, 3]"
        assert Nx.backend_deallocate(t) == :ok
        assert Nx.to_list(t) == [0, 1, 2, 3]
      end)
    end
  end

  # A result that has more elements than stay here may be the node's; then there is an error.
  defp same!({text, tensors, fun}) do
    with {:ok, expected} <- AnyOptions.results(Nx.BinaryBackend, tensors, fun),
         true <- Enum.all?(expected, &AnyOptions.whole?/1),
         {:ok, actual} <- AnyOptions.results(@nowhere, tensors, fun) do
      assert Enum.map(actual, &bits/1) == Enum.map(expected, &bits/1), text
    end
  end

  defp bits(t), do: {t.type, t.shape, t.names, t.vectorized_axes, Nx.to_binary(t)}

  defp read(t), do: Nx.backend_copy(t, Nx.BinaryBackend)

  describe "on the node" do
    setup do
      Nx.default_backend(Backend)
      :ok
    end

    test "is what has more elements, or takes more steps" do
      small = Nx.iota({8, 8}, type: :f32)
      assert here?(small)

      for t <- [
            Nx.iota({65}),
            Nx.broadcast(1, {65}),
            Nx.tensor(Enum.to_list(1..65)),
            Nx.dot(small, small),
            Nx.cumulative_sum(small),
            Nx.window_max(small, {3, 3}),
            Nx.fft(small)
          ],
          do: refute(here?(t))

      product = Nx.dot(read(small), read(small))
      assert Nx.to_binary(Nx.dot(small, small)) == Nx.to_binary(product)
    end

    test "is what has an operand there, and the others travel along" do
      for n <- [1, 16, 17, 64] do
        small = Nx.iota({n})
        large = Nx.iota({100, n})
        sum = Nx.sum(Nx.add(large, small))
        refute here?(sum)
        assert Nx.to_number(sum) == div(100 * n * (100 * n - 1), 2) + 100 * div(n * (n - 1), 2)
      end
    end

    test "an operand that travels along leaves nothing behind" do
      large = Nx.iota({100, 64})
      small = Nx.iota({64})
      NxVulkanGo.sweep()
      before = NxVulkanGo.memory().session.buffers
      kept = for _ <- 1..5, do: Nx.add(large, small)
      Nx.to_binary(hd(kept))
      assert NxVulkanGo.memory().session.buffers == before + 5
      NxVulkanGo.Session.keep_alive({large, kept})
    end

    test "is what Nx.BinaryBackend raises on, and the error is raised where it is read" do
      t = Nx.take(Nx.tensor([1, 2, 3]), Nx.tensor([5]))
      refute here?(t)
      assert %{kind: :bad_argument, op: "take"} = assert_raise(Error, fn -> Nx.to_binary(t) end)
    end

    test "is what a compiled function of many steps computes" do
      small = Nx.iota({8, 8}, type: :f32)
      result = Nx.Defn.jit_apply(&Nx.dot(&1, &1), [small], compiler: NxVulkanGo)
      refute here?(result)
      assert Nx.to_list(result) == Nx.to_list(Nx.dot(small, small))
    end

    test "is everything with a limit of 0" do
      Options.put_vm_limit(0)
      refute here?(Nx.tensor([1, 2, 3]))
      refute here?(Nx.add(Nx.tensor(1), Nx.tensor(2)))
    end
  end

  test "the data of a sampler" do
    model =
      NxVulkanGo.Sampler.compile(
        fn q, data -> Nx.multiply(-0.5, Nx.sum(Nx.pow(Nx.subtract(q, data), 2))) end,
        Nx.template({20}, :f64),
        Nx.iota({20}, type: :f64, backend: Backend)
      )

    session = NxVulkanGo.Sampler.session(model, [])
    refute Enum.any?(session.inputs, &here?/1)
  end

  test "a limit that is no number of elements" do
    assert_raise ArgumentError, ~r/vm_limit: must be a number of elements, got: "many"/, fn ->
      Options.put_vm_limit("many")
    end
  end
end
