defmodule NxVulkanGo.Backend.Rows do
  @moduledoc false
  # Sums and extremes of few elements in this VM: of a whole tensor, or along its last axes.
  #
  # As in Pointwise, the results have the bits of Nx.BinaryBackend: elements are taken in the same
  # order, and sums of f32 are kept as Elixir's floats and rounded at the end. Where an element is
  # not a number or a result does not fit its type, a function returns nil, and that backend's rules
  # hold.

  # Types of elements, and of their sums.
  @sums [{{:f, 32}, {:f, 32}}, {{:s, 32}, {:s, 32}}, {{:s, 64}, {:s, 64}}, {{:u, 8}, {:u, 32}}]
  @extremes [reduce_max: :max, reduce_min: :min]

  @most_f32 3.4028234663852886e38

  @doc "The operations."
  @spec ops() :: [atom]
  def ops, do: [:sum | Keyword.keys(@extremes)]

  @doc "Returns the elements of a row: all of a shape, or those of `axes` if these are the last."
  @spec length(tuple, nil | [non_neg_integer]) :: non_neg_integer | nil
  def length(shape, nil), do: Tuple.product(shape)

  def length(shape, axes) do
    kept = tuple_size(shape) - Kernel.length(axes)
    if Enum.min(axes, fn -> kept end) == kept, do: product(shape, kept, 1)
  end

  defp product(shape, axis, acc) when axis == tuple_size(shape), do: acc
  defp product(shape, axis, acc), do: product(shape, axis + 1, acc * elem(shape, axis))

  # The pattern of a variable, and the element that it is of a type.
  element = fn
    variable, {:f, size} -> quote(do: unquote(variable) :: float - little - size(unquote(size)))
    variable, {:s, size} -> quote(do: unquote(variable) :: signed - little - size(unquote(size)))
    variable, {:u, size} -> quote(do: unquote(variable) :: little - size(unquote(size)))
  end

  @doc """
  Computes `op` of each `count` encoded elements of a type. Returns nil where the operation or the
  types are none of these, or an element is none that is computed here.
  """
  @spec elements(atom, Nx.Type.t(), Nx.Type.t(), binary, non_neg_integer) :: binary | nil
  def elements(op, type, out, data, count)

  def elements(_op, _type, _out, _data, 0), do: nil

  cases =
    for({type, out} <- @sums, do: {:sum, :+, type, out}) ++
      for {op, operator} <- @extremes, {type, _} <- @sums, do: {op, operator, type, type}

  for {op, operator, {kind, size} = type, out} <- cases do
    [rows, row] = for form <- [:rows, :row], do: :"#{form}_#{op}_#{kind}#{size}"
    [x, xs, acc] = for name <- [:x, :xs, :acc], do: Macro.var(name, __MODULE__)
    first = quote(do: <<unquote(element.(x, type)), unquote(xs)::binary>>)
    value = {operator, [], if(op == :sum, do: [x, acc], else: [acc, x])}
    start = if op == :sum, do: quote(do: 0 + unquote(x)), else: x
    fits = if kind == :f, do: quote(do: abs(unquote(acc)) <= @most_f32), else: true

    def elements(unquote(op), unquote(type), unquote(out), data, count)
        when byte_size(data) == count * unquote(div(size, 8)) do
      with {:ok, unquote(acc), <<>>} <- unquote(row)(data, count),
           do: <<unquote(element.(acc, out))>>
    end

    def elements(unquote(op), unquote(type), unquote(out), data, count),
      do: unquote(rows)(data, count, <<>>)

    defp unquote(rows)(<<>>, _count, done), do: done

    defp unquote(rows)(data, count, done) do
      with {:ok, unquote(acc), rest} <- unquote(row)(data, count),
           do: unquote(rows)(rest, count, <<done::binary, unquote(element.(acc, out))>>)
    end

    defp unquote(row)(unquote(first), count),
      do: unquote(row)(unquote(xs), count - 1, unquote(start))

    defp unquote(row)(_, _count), do: nil

    defp unquote(row)(unquote(xs), 0, unquote(acc)),
      do: if(unquote(fits), do: {:ok, unquote(acc), unquote(xs)})

    defp unquote(row)(unquote(first), count, unquote(acc)),
      do: unquote(row)(unquote(xs), count - 1, unquote(value))

    defp unquote(row)(_, _count, _acc), do: nil
  end

  def elements(_op, _type, _out, _data, _count), do: nil
end
