defmodule NxVulkanGo.CheckpointTest do
  # Values and gradients with checkpoints are those without, whatever computes them, and the memory
  # that the node plans falls.
  use ExUnit.Case, async: true

  import Nx.Defn
  alias Nx.Defn.Composite

  @compilers [Nx.Defn.Evaluator, NxVulkanGo]

  defp layer(x, w), do: Nx.add(x, Nx.tanh(Nx.dot(Nx.sin(Nx.dot(x, w)), Nx.transpose(w))))

  defp plain(fun), do: fun
  defp function(fun), do: NxVulkanGo.checkpoint(fun)
  defp expression(fun), do: fn x, w -> NxVulkanGo.checkpoint(fun.(x, w)) end

  # The function captures everything.
  defp capturing(fun), do: fn x, w -> NxVulkanGo.checkpoint(fn -> fun.(x, w) end).() end

  defp normal(shape, seed, scale \\ 0.5) do
    Nx.with_default_backend(Nx.BinaryBackend, fn ->
      {t, _} = Nx.Random.normal(Nx.Random.key(seed), 0.0, scale, shape: shape)
      t
    end)
  end

  defp same!(fun, args, wrap, ulps \\ 16) do
    plain = &plain/1
    expected = Nx.Defn.jit_apply(&fun.(&1, plain), [args], compiler: Nx.Defn.Evaluator)

    for compiler <- @compilers do
      actual = Nx.Defn.jit_apply(&fun.(&1, wrap), [args], compiler: compiler)
      close!(expected, actual, ulps, {compiler, wrap})
    end
  end

  defp close!(expected, actual, ulps, label) do
    pairs = Enum.zip(Composite.flatten_list([expected]), Composite.flatten_list([actual]))

    for {e, a} <- pairs do
      {e, a} = {host(e), host(a)}
      assert {e.shape, e.vectorized_axes} == {a.shape, a.vectorized_axes}, inspect(label)
      [e, a] = for t <- [e, a], do: Nx.to_flat_list(Nx.devectorize(t))
      most = e |> Enum.map(&abs/1) |> Enum.max(fn -> 0 end)

      for {x, y} <- Enum.zip(e, a),
          do: assert_in_delta(x, y, ulps * 1.2e-7 * most, inspect(label))
    end
  end

  defp host(t), do: Nx.backend_copy(t, Nx.BinaryBackend)

  defp stack({x, ws}, wrap) do
    layer = wrap.(&layer/2)

    value_and_grad({x, ws}, fn {x, ws} ->
      ws |> Tuple.to_list() |> Enum.reduce(x, &layer.(&2, &1)) |> Nx.sin() |> Nx.sum()
    end)
  end

  defp stack_of(layers, n) do
    ws = for i <- 1..layers, do: normal({n, n}, i, 0.2)
    {normal({4 * n, n}, 0), List.to_tuple(ws)}
  end

  test "gradients of layers" do
    for wrap <- [&function/1, &expression/1, &capturing/1],
        do: same!(&stack/2, stack_of(3, 4), wrap)
  end

  test "on the backend of the package" do
    Nx.with_default_backend(NxVulkanGo.Backend, fn ->
      for wrap <- [&function/1, &expression/1], do: same!(&stack/2, stack_of(2, 4), wrap)
    end)
  end

  test "the memory of a gradient falls by the values within the layers" do
    args = stack_of(12, 16)
    held = fn wrap -> held(&stack(&1, wrap), [args]) end
    kept = held.(&plain/1)
    bytes = 4 * 64 * 16

    # Each layer keeps both products, a sine, and its result, which is all that it keeps with a checkpoint.
    for wrap <- [&function/1, &expression/1, &capturing/1] do
      checkpointed = held.(wrap)
      assert kept - checkpointed >= 3 * 11 * bytes, "#{kept} bytes become #{checkpointed}"
    end

    # Every second layer keeps its result, and both layers are computed again.
    blocks = fn {x, ws}, layer ->
      value_and_grad({x, ws}, fn {x, ws} ->
        ws
        |> Tuple.to_list()
        |> Enum.chunk_every(2)
        |> Enum.reduce(x, fn ws, x ->
          layer.(fn x -> Enum.reduce(ws, x, &layer(&2, &1)) end).(x)
        end)
        |> Nx.sin()
        |> Nx.sum()
      end)
    end

    in_blocks = held(&blocks.(&1, fn f -> NxVulkanGo.checkpoint(f) end), [args])
    assert in_blocks < held.(&function/1)
    same!(fn args, wrap -> blocks.(args, wrap) end, stack_of(8, 4), &function/1)
  end

  # The most bytes that the program holds at once, as the node plans it.
  defp held(fun, args) do
    NxVulkanGo.explain(fun, args).parts |> Enum.map(& &1.held) |> Enum.max()
  end

  test "values are computed again, in the order of the gradient" do
    args = stack_of(3, 4)
    sines = fn wrap -> count(NxVulkanGo.explain(&stack(&1, wrap), [args]), ~r/ = sin\(/) end
    assert sines.(&plain/1) == 4
    assert sines.(&function/1) == 4 + 3
  end

  defp count(explanation, pattern) do
    length(Regex.scan(pattern, to_string(explanation)))
  end

  test "outside of a gradient nothing changes" do
    {x, {w, _, _}} = stack_of(3, 4)
    program = fn wrap -> to_string(NxVulkanGo.explain(wrap.(&layer/2), [x, w])) end
    for wrap <- [&function/1, &expression/1], do: assert(program.(wrap) == program.(&plain/1))
    close!(layer(x, w), function(&layer/2).(x, w), 0, :eager)
  end

  test "a gradient that nobody needs is not computed" do
    {x, ws} = stack_of(3, 4)

    only_x = fn {x, ws}, wrap ->
      layer = wrap.(&layer/2)

      value_and_grad(x, fn x ->
        ws |> Tuple.to_list() |> Enum.reduce(x, &layer.(&2, &1)) |> Nx.sin() |> Nx.sum()
      end)
    end

    same!(only_x, {x, ws}, &function/1)

    for wrap <- [&plain/1, &function/1] do
      dots = fn fun -> count(NxVulkanGo.explain(&fun.(&1, wrap), [{x, ws}]), ~r/ = dot\(/) end
      assert dots.(&stack/2) - dots.(only_x) == 2 * 3
    end
  end

  test "checkpoints within checkpoints" do
    nested = fn fun ->
      inner = NxVulkanGo.checkpoint(fun)
      NxVulkanGo.checkpoint(fn x, w -> Nx.cos(inner.(Nx.sin(inner.(x, w)), w)) end)
    end

    flat = fn args, wrap ->
      stack(args, fn fun ->
        if wrap == (&plain/1),
          do: fn x, w -> Nx.cos(fun.(Nx.sin(fun.(x, w)), w)) end,
          else: nested.(fun)
      end)
    end

    same!(flat, stack_of(3, 4), &function/1)
  end

  test "containers, indices and captured tensors" do
    fun = fn {x, ids, w}, wrap ->
      value_and_grad({x, w}, fn {x, w} ->
        part = fn %{x: x}, ids ->
          y = Nx.take(Nx.sin(x), ids)
          {Nx.exp(y), %{sum: Nx.sum(Nx.multiply(y, w)), unused: Nx.cos(y)}}
        end

        {y, %{sum: sum}} = wrap.(part).(%{x: x}, ids)
        Nx.add(Nx.sum(y), Nx.multiply(sum, sum))
      end)
    end

    ids = Nx.tensor([0, 3, 3, 1], backend: Nx.BinaryBackend)
    same!(fun, {normal({4, 3}, 1), ids, normal({3}, 2)}, &NxVulkanGo.checkpoint/1)
  end

  test "indices that are computed by operations without a gradient" do
    fun = fn x, wrap ->
      grad(x, fn x ->
        ids =
          x |> Nx.multiply(8) |> Nx.as_type(:s32) |> Nx.remainder(4) |> Nx.quotient(2) |> Nx.abs()

        wrap.(fn x, ids -> Nx.take(Nx.sin(x), ids) end).(x, ids) |> Nx.sum()
      end)
    end

    same!(fun, normal({4}, 3), &NxVulkanGo.checkpoint/1)
  end

  test "functions with gradients of their own" do
    fun = fn a, wrap ->
      value_and_grad(a, fn a ->
        part = fn a ->
          {q, r} = a |> Nx.sin() |> Nx.LinAlg.qr()
          {Nx.multiply(q, q), Nx.cos(r)}
        end

        {q, r} = wrap.(part).(Nx.multiply(a, 2))
        Nx.add(Nx.sum(Nx.multiply(q, Nx.iota({4, 4}))), Nx.sum(r))
      end)
    end

    same!(fun, normal({4, 4}, 5), &NxVulkanGo.checkpoint/1, 256)
  end

  test "in loops" do
    fun = fn {x, w}, wrap -> loop(x, w, fun: wrap.(&layer/2)) end

    for wrap <- [&function/1, &expression/1],
        do: same!(fun, {normal({4, 4}, 1), normal({4, 4}, 2)}, wrap, 64)
  end

  # Three steps of gradient descent, whose gradient is of a loop as well.
  defn loop(x, w, opts \\ []) do
    {_, x, _} =
      while {i = 0, x, w}, i < 3 do
        g = grad(x, fn x -> steps(x, w, opts) end)
        {i + 1, x - 0.1 * g, w}
      end

    x
  end

  defn steps(x, w, opts \\ []) do
    {_, x, _} =
      while {i = 0, x, w}, i < 2 do
        {i + 1, apply_layer(x, w, opts), w}
      end

    Nx.sum(x)
  end

  deftransform(apply_layer(x, w, opts), do: opts[:fun].(x, w))

  test "in branches" do
    fun = fn {x, w}, wrap -> branch(x, w, fun: wrap.(&layer/2)) end

    for x <- [1.0, -1.0],
        do:
          same!(
            fun,
            {Nx.broadcast(Nx.tensor(x, backend: Nx.BinaryBackend), {2, 4}), normal({4, 4}, 2)},
            &function/1
          )
  end

  defn branch(x, w, opts \\ []) do
    value_and_grad({x, w}, fn {x, w} ->
      y = if Nx.sum(x) > 0, do: apply_layer(x, w, opts), else: Nx.sin(x)
      Nx.sum(apply_layer(y, w, opts))
    end)
  end

  test "vectorized" do
    layers = fn {x, w}, wrap ->
      layer = wrap.(fn x, w -> Nx.tanh(Nx.dot(Nx.sin(x), w)) end)

      fn x, w -> Nx.sum(layer.(layer.(x, w), w)) end
      |> then(fn loss ->
        {value_and_grad({x, w}, fn {x, w} -> loss.(x, w) end), grad(w, &loss.(x, &1))}
      end)
    end

    x = normal({3, 4}, 1)
    w = normal({4, 4}, 2)
    many = Nx.vectorize(normal({3, 4, 4}, 3), :x)

    for wrap <- [&function/1, &expression/1],
        args <- [
          {Nx.vectorize(x, :x), many},
          {Nx.vectorize(x, :x), w},
          {hd(Nx.to_batched(x, 1) |> Enum.to_list()) |> Nx.squeeze(), many}
        ] do
      same!(layers, args, wrap)
    end
  end

  test "gradients of gradients" do
    fun = fn x, wrap ->
      cube = wrap.(fn x -> Nx.multiply(Nx.sin(x), Nx.multiply(x, x)) end)
      grad(x, fn x -> Nx.sum(grad(x, fn x -> Nx.sum(cube.(cube.(x))) end)) end)
    end

    same!(fun, normal({5}, 1), &NxVulkanGo.checkpoint/1, 64)
  end

  test "random numbers are the same again" do
    fun = fn {x, key}, wrap ->
      value_and_grad(x, fn x ->
        drop = fn x, key ->
          {keep, key} = Nx.Random.uniform(key, shape: {4, 4})
          {Nx.sin(Nx.select(Nx.greater(keep, 0.5), Nx.multiply(x, 2), 0)), key}
        end

        {y, key} = wrap.(drop).(x, key)
        {y, _} = wrap.(drop).(y, key)
        Nx.sum(y)
      end)
    end

    key = Nx.with_default_backend(Nx.BinaryBackend, fn -> Nx.Random.key(9) end)
    same!(fun, {normal({4, 4}, 1), key}, &NxVulkanGo.checkpoint/1)
  end

  test "hooks see the values again" do
    test = self()

    fun = fn x ->
      value_and_grad(x, fn x ->
        NxVulkanGo.checkpoint(fn x -> Nx.sin(hooked(Nx.exp(x), test)) end).(x) |> Nx.sum()
      end)
    end

    for compiler <- @compilers do
      {_, grad} = Nx.Defn.jit_apply(fun, [Nx.tensor([1.0, 2.0])], compiler: compiler)
      host(grad)
      assert_received {:hooked, value}
      assert_received {:hooked, ^value}
      refute_received {:hooked, _}
    end
  end

  # The function is hook in Nx 0.13, and io_call in later releases.
  defp hooked(t, test) do
    name = if function_exported?(Nx.Defn.Kernel, :io_call, 2), do: :io_call, else: :hook
    apply(Nx.Defn.Kernel, name, [t, &send(test, {:hooked, Nx.to_list(&1)})])
  end

  test "more arguments than it can have" do
    assert_raise ArgumentError, ~r/at most 16 arguments/, fn ->
      NxVulkanGo.checkpoint(fn _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _ -> 1 end)
    end
  end
end
