defmodule NxVulkanGo.Backend.ReadCacheTest do
  # Loops that read a tensor of the device piece by piece.
  use ExUnit.Case, async: false

  import Nx.Defn

  alias NxVulkanGo.{Backend, Error, Options, Session}
  alias NxVulkanGo.Backend.ReadCache

  setup do
    before = Options.vm_limit()
    Options.put_vm_limit(128)
    on_exit(fn -> Options.put_vm_limit(before) end)
    Nx.default_backend(Backend)

    test = self()
    count = fn _, _, _, _ -> if self() == test, do: send(test, :downloaded) end
    :telemetry.attach(__MODULE__, [:nx_vulkan_go, :download, :stop], count, nil)
    on_exit(fn -> :telemetry.detach(__MODULE__) end)
    :rand.seed(:exsss, {ExUnit.configuration()[:seed], 30, 5})
    :ok
  end

  defp downloads(count \\ 0) do
    receive do
      :downloaded -> downloads(count + 1)
    after
      0 -> count
    end
  end

  defp pick(list), do: Enum.at(list, :rand.uniform(length(list)) - 1)

  # A tensor that the device makes, and the same one of Nx.BinaryBackend.
  defp both(type, shape) do
    count = Tuple.product(shape)

    host =
      Nx.tensor(for(_ <- 1..count, do: :rand.uniform(9) - 5), type: type) |> Nx.reshape(shape)

    host = Nx.backend_copy(host, Nx.BinaryBackend)
    {Nx.add(Nx.backend_copy(host, Backend), Nx.tensor(0, type: type)), host}
  end

  defn insertion_sort(x) do
    n = Nx.axis_size(x, 0)

    {x, _} =
      while {x, i = 1}, i < n do
        {x, _} =
          while {x, j = i}, j > 0 and x[j - 1] > x[j] do
            {left, right} = {x[j - 1], x[j]}
            x = Nx.put_slice(x, [j - 1], Nx.reshape(right, {1}))
            x = Nx.indexed_put(x, Nx.reshape(j, {1}), left)
            {x, j - 1}
          end

        {x, i + 1}
      end

    x
  end

  test "a loop that decides by elements asks the device a few times" do
    {there, here} = both(:f32, {200})
    sort = Nx.Defn.jit(&insertion_sort/1, compiler: Nx.Defn.Evaluator)
    downloads()
    sorted = sort.(there)
    assert downloads() < 20
    assert Nx.to_list(sorted) == here |> Nx.to_flat_list() |> Enum.sort()
  end

  test "drawn operations, read now and then, give what Nx.BinaryBackend gives" do
    for _ <- 1..30 do
      shape = pick([{5, 30}, {150}, {3, 7, 11}, {64, 4}])
      drawn(both(pick([:f32, :s64, :u8, :bf16, :c64, :s16]), shape), shape, 30)
    end
  end

  defp drawn(pair, _shape, 0), do: same!(pair)

  defp drawn({there, here} = pair, shape, steps) do
    axes = Enum.to_list(0..(tuple_size(shape) - 1))
    at = for size <- Tuple.to_list(shape), do: :rand.uniform(size + 2) - 2
    lengths = for size <- Tuple.to_list(shape), do: :rand.uniform(size)
    inside = for {i, size} <- Enum.zip(at, Tuple.to_list(shape)), do: i |> max(0) |> min(size - 1)
    index = fn b -> Nx.tensor([inside], backend: b) end
    starts = {for(i <- at, do: pick([i, Nx.tensor(i)])), at}

    pair =
      case pick([:slice, :scalar, :gather, :take, :put_slice, :indexed_put, :add, :reshape]) do
        :slice ->
          same!(
            {Nx.slice(there, elem(starts, 0), lengths), Nx.slice(here, elem(starts, 1), lengths)}
          )

          pair

        :scalar ->
          ones = Enum.map(axes, fn _ -> 1 end)
          scalar = fn t, starts -> t |> Nx.slice(starts, ones) |> Nx.reshape({}) |> Nx.add(1) end
          same!({scalar.(there, elem(starts, 0)), scalar.(here, elem(starts, 1))})
          pair

        :gather ->
          same!({Nx.gather(there, index.(Backend)), Nx.gather(here, index.(Nx.BinaryBackend))})
          pair

        :take ->
          [i | _] = inside
          take = fn t, b -> Nx.take(t, Nx.tensor([i, 0], backend: b)) end
          same!({take.(there, Backend), take.(here, Nx.BinaryBackend)})
          pair

        :put_slice ->
          {value, same} = both(there.type, List.to_tuple(lengths))

          {Nx.put_slice(there, elem(starts, 0), value), Nx.put_slice(here, elem(starts, 1), same)}

        :indexed_put ->
          {value, same} = both(there.type, {1})

          {Nx.indexed_put(there, index.(Backend), value),
           Nx.indexed_put(here, index.(Nx.BinaryBackend), same)}

        :add ->
          {Nx.add(there, Nx.tensor(1, type: there.type)),
           Nx.add(here, Nx.tensor(1, type: here.type, backend: Nx.BinaryBackend))}

        :reshape ->
          same!({Nx.flatten(there)[0..2], Nx.flatten(here)[0..2]})
          pair
      end

    drawn(pair, shape, steps - 1)
  end

  defp same!({there, here}),
    do: assert({Nx.type(there), Nx.to_binary(there)} == {Nx.type(here), Nx.to_binary(here)})

  test "a tensor that is freed is unknown" do
    {t, _} = both(:s32, {200})
    for i <- 1..5, do: Nx.to_number(t[i])
    downloads()
    Nx.to_number(t[9])
    assert downloads() == 0
    assert Nx.backend_deallocate(t) == :ok
    assert %Error{kind: :unknown_id} = catch_error(Nx.to_number(t[9]))
  end

  test "an index out of bounds is the error of who reads the result" do
    {t, _} = both(:s32, {200})
    for i <- 1..5, do: Nx.to_number(t[i])
    gathered = Nx.gather(t, Nx.tensor([[200]]))
    assert %Error{kind: :bad_argument, op: "gather"} = catch_error(Nx.to_binary(gathered))
    put = Nx.indexed_put(t, Nx.tensor([[-201]]), Nx.tensor([1], type: :s32))
    assert %Error{kind: :bad_argument, op: "indexed_put"} = catch_error(Nx.to_binary(put))
  end

  test "values are not kept alive, and what is known is bounded" do
    ids =
      for i <- 1..300 do
        {t, _} = both(:s32, {200})
        for j <- 1..3, do: Nx.to_number(t[rem(i + j, 200)])
        t.data.id
      end

    {t, _} = both(:s32, {200})
    session = t.data.session
    %ReadCache{tensors: {young, old}, origins: {near, far}} = Process.get(ReadCache)
    assert map_size(young) + map_size(old) <= 64
    assert map_size(near) + map_size(far) <= 128
    :erlang.garbage_collect()
    NxVulkanGo.sweep()

    for id <- ids,
        do:
          assert(%Error{kind: :unknown_id} = catch_error(Session.call!(session, {:describe, id})))
  end

  test "one read of a piece is one read, and of a tensor that is not small so are all" do
    {t, _} = both(:s32, {200})
    downloads()
    Nx.to_number(t[3])
    assert downloads() == 1

    {large, _} = both(:s32, {70, 70})
    downloads()
    for i <- 1..9, do: Nx.to_number(large[i][i])
    assert downloads() == 9
  end

  test "an index of the device is read once for each read of the process, at most" do
    {table, same} = both(:s32, {200})
    for i <- 1..5, do: Nx.to_number(table[i])
    downloads()
    {there, here} = both(:s32, {200})
    downloads()
    # Nobody reads these.
    pieces = for _ <- 1..100, do: table[Nx.abs(Nx.sum(there))]
    assert downloads() <= 5
    i = here |> Nx.sum() |> Nx.abs() |> Nx.to_number() |> min(199)
    assert Nx.to_number(List.last(pieces)) == Nx.to_number(same[i])
  end

  test "nothing is known where every number is computed on the device" do
    Options.put_vm_limit(0)
    {t, _} = both(:s32, {200})
    downloads()
    for i <- 1..9, do: Nx.to_number(t[i])
    assert downloads() == 9
  end
end
