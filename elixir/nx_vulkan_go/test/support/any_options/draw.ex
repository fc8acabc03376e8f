defmodule NxVulkanGo.AnyOptions.Draw do
  @moduledoc false
  # Random tensors and options.

  def types, do: [s: 32, u: 8, s: 64, f: 32, f: 64, bf: 16, c: 64]
  def real_types, do: types() -- [c: 64]
  def names, do: [:x, :y, :z, :w]

  def one(list), do: Enum.random(list)
  def maybe(list), do: one([:absent | list])
  def flag, do: maybe([true, false])

  def shape(ranks \\ 0..4) do
    for _ <- 1..one(ranks)//1, do: one(1..4)
  end

  def tensor(dims, types \\ types(), low \\ -2) do
    type = one(types)
    low = if match?({:u, _}, type), do: 0, else: low
    numbers = for _ <- 1..Enum.product(dims)//1, do: one(low..2)
    dims = List.to_tuple(dims)

    host(fn ->
      t = numbers |> Nx.tensor(type: type) |> Nx.reshape(dims)
      if one([true, false]), do: Nx.rename(t, Enum.take(names(), tuple_size(dims))), else: t
    end)
  end

  # Perhaps the first dimensions are vectorized.
  def vectorized(%{shape: shape} = t) when tuple_size(shape) > 1 do
    if one(1..3) == 1,
      do:
        host(fn -> t |> Nx.rename(List.duplicate(nil, tuple_size(shape))) |> Nx.vectorize(:v) end),
      else: t
  end

  def vectorized(t), do: t

  def host(fun), do: Nx.with_default_backend(Nx.BinaryBackend, fun)

  # An axis by number, from the end, or by name.
  def axis(t) do
    rank = tuple_size(t.shape)
    if rank == 0, do: 0, else: one(0..(rank - 1)) |> named(t, rank)
  end

  def named(i, t, rank) do
    name = Enum.at(t.names, i)
    if name && one(1..3) == 1, do: name, else: one([i, i - rank])
  end

  def axes(t) do
    rank = tuple_size(t.shape)
    0..(rank - 1)//1 |> Enum.take_random(one(0..rank)) |> Enum.map(&named(&1, t, rank))
  end

  def padding(rank) do
    pads = for _ <- 1..rank//1, do: {one(0..2), one(0..2)}
    maybe([:valid, :same, pads])
  end

  def each(rank, values), do: maybe([one(values), for(_ <- 1..rank//1, do: one(values))])

  def indices(count, size) do
    host(fn ->
      Nx.tensor(for(_ <- 1..count//1, do: one(0..(size - 1))),
        type: one([{:s, 32}, {:u, 8}, {:s, 64}])
      )
    end)
  end
end
