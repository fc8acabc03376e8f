defmodule NxVulkanGo.Backend.Attributes do
  @moduledoc false
  # Attributes of an instruction, in the order and the forms of the op table, from
  # the arguments of an Nx callback.

  @doc """
  The value of one attribute. An absent axis is -1; absent axes are those of the
  whole tensor.
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

  # The options that say whether an axis over which is reduced is kept, as one of size 1.
  @keeps [:keep_axis, :keep_axes]

  @doc """
  The value of an option that is an attribute. Nx has made a template of the result
  by then, which tells what counts: of all elements at once, `argmax` keeps no axis,
  whatever its options say.
  """
  def read_option(name, _opts, %Nx.Tensor{shape: out}, %Nx.Tensor{shape: shape}) when name in @keeps,
    do: tuple_size(out) == tuple_size(shape)

  # Of all elements of each tensor that is vectorized, with keep_axis, Nx names an axis of
  # size 1 beside the one that it has put the elements on.
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

  @doc "All attributes of an operation, each looked up by its name."
  def encode_all(schema, tensor, lookup) do
    for {name, _, _} = attr <- schema, do: encode(attr, lookup.(name), tensor)
  end
end
