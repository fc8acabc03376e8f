defmodule NxVulkanGo.Backend.Attributes do
  @moduledoc false
  # Encodes the arguments and options of a callback of Nx as attributes of an
  # instruction, in the order and with the types of the table of operations.

  @doc """
  Encodes one attribute. A missing axis is -1; missing axes are all axes of the tensor.
  """
  def encode({:axes, :ints, _}, nil, %Nx.Tensor{shape: shape}),
    do: Enum.to_list(0..(tuple_size(shape) - 1)//1)

  def encode({_, :int, _}, nil, _), do: -1
  def encode({_, :int, _}, n, _) when is_integer(n), do: n
  def encode({_, :ints, _}, nil, _), do: []
  def encode({_, :ints, _}, list, _) when is_list(list), do: list
  def encode({_, :ints, _}, shape, _) when is_tuple(shape), do: Tuple.to_list(shape)
  def encode({_, :bool, _}, value, _), do: value == true
  def encode({_, :enum, [first | _]}, nil, _), do: first
  def encode({_, :enum, _}, name, _) when is_atom(name), do: name
  def encode({_, kind, _}, list, _) when kind in [:pads, :pairs], do: list || []

  def encode({_, :region, _}, {params, body, values} = region, _)
      when is_list(params) and is_list(body) and is_list(values),
      do: region

  def encode({_, :type, _}, type, _), do: NxVulkanGo.Encoding.type_to_atom(type)
  def encode({_, :float, _}, value, _) when is_number(value), do: value * 1.0

  # Options that keep a reduced axis with size 1.
  @keeps [:keep_axis, :keep_axes]

  @doc """
  Reads an option that is an attribute. The template of the result overrules the options:
  `argmax` over all elements keeps no axis, whatever `keep_axis` is.
  """
  def read_option(name, _opts, %Nx.Tensor{shape: out}, %Nx.Tensor{shape: shape})
      when name in @keeps,
      do: tuple_size(out) == tuple_size(shape)

  # For `argmax` over all elements of a vectorized tensor, with `keep_axis`, Nx gives an axis
  # of size 1 that is beside the axis with the elements.
  def read_option(:axis, opts, out, tensor) do
    case {opts[:axis], changed(out.shape, tensor.shape)} do
      {axis, [other]} when is_integer(axis) and axis != other -> other
      {axis, _} -> axis
    end
  end

  def read_option(name, opts, _out, _tensor), do: opts[name]

  # The axes whose sizes differ, of shapes of one rank.
  defp changed(out, shape) when tuple_size(out) == tuple_size(shape) do
    for i <- 0..(tuple_size(shape) - 1)//1, elem(out, i) != elem(shape, i), do: i
  end

  defp changed(_out, _shape), do: []

  @doc "Encodes all attributes of an operation; `lookup` finds a value by its name."
  def encode_all(schema, tensor, lookup) do
    for {name, _, _} = attr <- schema, do: encode(attr, lookup.(name), tensor)
  end
end
