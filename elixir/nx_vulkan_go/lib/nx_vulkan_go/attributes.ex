defmodule NxVulkanGo.Attributes do
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

  def encode({_, :type, _}, type, _), do: NxVulkanGo.Data.atom(type)
  def encode({_, :float, _}, value, _) when is_number(value), do: value * 1.0

  @doc "All attributes of an operation, each looked up by its name."
  def encode_all(schema, tensor, lookup) do
    for {name, _, _} = attr <- schema, do: encode(attr, lookup.(name), tensor)
  end
end
