defmodule NxVulkanGo.Backend.PiecesTest do
  use ExUnit.Case, async: true

  alias NxVulkanGo.Backend.Pieces

  setup do
    Nx.default_backend(Nx.BinaryBackend)
    :rand.seed(:exsss, {ExUnit.configuration()[:seed], 4, 11})
    :ok
  end

  defp pick(list), do: Enum.at(list, :rand.uniform(length(list)) - 1)
  defp draw(most), do: :rand.uniform(most + 4) - 3
  defp shape, do: List.to_tuple(for _ <- 1..pick([1, 2, 3]), do: pick([1, 2, 5, 8]))

  # Lengths of a piece, often of a run.
  defp lengths(shape) do
    sizes = Tuple.to_list(shape)
    ones = :rand.uniform(length(sizes)) - 1

    for {size, i} <- Enum.with_index(sizes) do
      cond do
        i < ones -> 1
        i == ones -> :rand.uniform(size)
        true -> pick([size, size, :rand.uniform(size)])
      end
    end
  end

  # The results of a function of Pieces and of Nx.BinaryBackend; how often there was a run.
  defp compare(fun) do
    for _ <- 1..500, reduce: 0 do
      runs ->
        {piece, expected} =
          fun.(pick([{:f, 32}, {:u, 8}, {:s, 64}, {:c, 64}, {:bf, 16}]), shape())

        if piece do
          assert {Nx.shape(piece), Nx.to_binary(piece)} ==
                   {Nx.shape(expected), Nx.to_binary(expected)}

          runs + 1
        else
          runs
        end
    end
  end

  test "slices are those of Nx.BinaryBackend" do
    runs =
      compare(fn type, shape ->
        t = Nx.iota(shape, type: type)
        lengths = lengths(shape)
        starts = for size <- Tuple.to_list(shape), do: draw(size)
        strides = for _ <- lengths, do: pick([1, 1, 1, 1, 2])
        expected = Nx.slice(t, starts, lengths, strides: strides)
        {Pieces.slice(expected, t, starts, lengths, strides), expected}
      end)

    assert runs in 100..499
  end

  test "slices that are put are those of Nx.BinaryBackend" do
    runs =
      compare(fn type, shape ->
        t = Nx.iota(shape, type: type)
        lengths = lengths(shape)

        slice =
          Nx.broadcast(Nx.tensor(99, type: pick([type, type, {:u, 8}])), List.to_tuple(lengths))

        starts = for size <- Tuple.to_list(shape), do: draw(size)
        expected = Nx.put_slice(t, starts, slice)
        {Pieces.put_slice(expected, t, starts, slice), expected}
      end)

    assert runs in 100..499
  end

  test "elements that are put are those of Nx.BinaryBackend, and a wrong index is left to it" do
    runs =
      compare(fn type, shape ->
        t = Nx.iota(shape, type: type)
        at = for size <- Tuple.to_list(shape), do: :rand.uniform(size) - 1
        index = Nx.tensor([at], type: pick([:s64, :u8, :s32]))
        update = Nx.tensor([99], type: pick([type, type, {:u, 8}]))
        expected = Nx.indexed_put(t, index, update)
        {Pieces.indexed_put(expected, t, index, update, []), expected}
      end)

    assert runs in 100..499
    t = Nx.iota({3, 4})

    for at <- [[-1, 0], [0, 4], [3, 0]],
        do: assert(Pieces.indexed_put(t, t, Nx.tensor([at]), Nx.tensor([1]), []) == nil)
  end
end
