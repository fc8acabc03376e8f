defmodule NxVulkanGo.Backend.Pieces do
  @moduledoc false
  # Slices of tensors of this VM, and changes of one piece, where the piece is a run of the elements.
  #
  # Nx.BinaryBackend finds every element by its place. A run is a part of a binary. Each function
  # returns nil where the piece is none, and that backend's rules hold.

  alias Nx.Tensor, as: T

  @doc "Cuts a slice out of a tensor of `Nx.BinaryBackend`."
  @spec slice(T.t(), T.t(), [integer], [pos_integer], [pos_integer]) :: T.t() | nil
  def slice(out, %T{type: {_, bits}, shape: shape} = tensor, starts, lengths, strides)
      when rem(bits, 8) == 0 do
    if Enum.all?(strides, &(&1 == 1)) and run?(Tuple.to_list(shape), lengths) do
      size = div(bits, 8)
      at = offset(Tuple.to_list(shape), starts, lengths, 0)
      piece = binary_part(elements(tensor), at * size, Enum.product(lengths) * size)
      %{out | data: %Nx.BinaryBackend{state: piece}}
    end
  end

  def slice(_out, _tensor, _starts, _lengths, _strides), do: nil

  @doc "Puts a slice of the same type into a tensor of `Nx.BinaryBackend`."
  @spec put_slice(T.t(), T.t(), [integer], T.t()) :: T.t() | nil
  def put_slice(%T{type: type} = out, %T{type: type} = tensor, starts, %T{type: type} = slice) do
    {_, bits} = type
    lengths = Tuple.to_list(slice.shape)

    if rem(bits, 8) == 0 and run?(Tuple.to_list(tensor.shape), lengths) do
      at = offset(Tuple.to_list(tensor.shape), starts, lengths, 0)
      put(out, tensor, at * div(bits, 8), elements(slice))
    end
  end

  def put_slice(_out, _tensor, _starts, _slice), do: nil

  @doc "Puts one element of the same type into a tensor of `Nx.BinaryBackend`, at an index of all axes."
  @spec indexed_put(T.t(), T.t(), T.t(), T.t(), keyword) :: T.t() | nil
  def indexed_put(
        %T{type: type} = out,
        %T{type: type, shape: shape} = tensor,
        %T{shape: {1, rank}} = index,
        %T{type: type} = update,
        opts
      )
      when rank == tuple_size(shape) do
    {_, bits} = type
    sizes = Tuple.to_list(shape)
    axes = Enum.to_list(0..(rank - 1)//1)

    with true <- rem(bits, 8) == 0 and (opts[:axes] || axes) == axes,
         at when is_list(at) <- index(index.type, elements(index)),
         true <- Enum.all?(Enum.zip(at, sizes), fn {i, size} -> i >= 0 and i < size end) do
      ones = List.duplicate(1, rank)
      put(out, tensor, offset(sizes, at, ones, 0) * div(bits, 8), elements(update))
    else
      _ -> nil
    end
  end

  def indexed_put(_out, _tensor, _index, _update, _opts), do: nil

  defp index({:s, bits}, data), do: for(<<i::signed-little-size(bits) <- data>>, do: i)
  defp index({:u, bits}, data), do: for(<<i::little-size(bits) <- data>>, do: i)
  defp index(_type, _data), do: nil

  defp put(out, tensor, at, piece) do
    <<before::binary-size(^at), rest::binary>> = elements(tensor)
    rest = binary_part(rest, byte_size(piece), byte_size(rest) - byte_size(piece))
    %{out | data: %Nx.BinaryBackend{state: before <> piece <> rest}}
  end

  defp elements(%T{data: %Nx.BinaryBackend{state: elements}}), do: elements

  # Whether a slice is a run of the elements: one place of the first axes, and all of the last ones.
  defp run?([_ | sizes], [1 | lengths]), do: run?(sizes, lengths)
  defp run?([_ | sizes], [_ | lengths]), do: sizes == lengths
  defp run?([], []), do: true

  # The place of the first element; a start beyond the last possible one is that one.
  defp offset([size | sizes], [start | starts], [length | lengths], acc),
    do: offset(sizes, starts, lengths, acc * size + (start |> min(size - length) |> max(0)))

  defp offset([], [], [], acc), do: acc
end
