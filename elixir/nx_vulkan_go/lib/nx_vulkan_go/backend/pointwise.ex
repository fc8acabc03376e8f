defmodule NxVulkanGo.Backend.Pointwise do
  @moduledoc false
  # Arithmetic, comparisons and logic of a few elements in this VM.
  #
  # The elements of the results are those of Nx.BinaryBackend, to the last bit: they are computed
  # by the same operators of Elixir from the same numbers. That backend finds each element by its
  # place and calls a function for it. A function here is made for one operation and one type and
  # goes through the bytes once, which takes a tenth of the time. Where an element is not a number
  # or does not fit its type, each function returns nil: Nx.BinaryBackend has rules for these.

  @arithmetic [add: :+, subtract: :-, multiply: :*, max: :max, min: :min]
  @division [divide: :/]
  @integer_division [quotient: :div, remainder: :rem]
  # A larger exponent makes numbers that no type has.
  @powers [pow: :**]
  @most_power 64
  @comparisons [equal: :==, not_equal: :!=, greater: :>, less: :<] ++
                 [greater_equal: :>=, less_equal: :<=]
  @logic [logical_and: :and, logical_or: :or]
  @bitwise [bitwise_and: :band, bitwise_or: :bor, bitwise_xor: :bxor]
  @shifts [left_shift: :bsl, right_shift: :bsr]
  @most_shift 64

  # The types of elements, and those of scalars that they are combined with.
  @types [f: 32, s: 32, s: 64, u: 8, u: 32]
  @scalars [f: 32, f: 64, s: 8, s: 16, s: 32, s: 64, u: 8, u: 16, u: 32, u: 64]

  @most_f32 3.4028234663852886e38

  @doc "The operations."
  @spec ops() :: [atom]
  def ops,
    do:
      Keyword.keys(
        @arithmetic ++
          @division ++
          @integer_division ++ @powers ++ @bitwise ++ @shifts ++ @comparisons ++ @logic
      )

  # The pattern of a variable, and the element that it is of a type.
  element = fn
    variable, {:f, size} -> quote(do: unquote(variable) :: float - little - size(unquote(size)))
    variable, {:s, size} -> quote(do: unquote(variable) :: signed - little - size(unquote(size)))
    variable, {:u, size} -> quote(do: unquote(variable) :: little - size(unquote(size)))
  end

  @doc "Returns the number of an encoded scalar, or nil."
  @spec number(Nx.Type.t(), binary) :: number | nil
  for type <- @scalars do
    def number(unquote(type), <<unquote(element.(Macro.var(:x, nil), type))>>), do: x
  end

  def number(_type, _scalar), do: nil

  @doc """
  Computes the elements of `op` from encoded elements of a type. `left` and `right` are elements,
  or one of them is a number that all elements of the other are combined with. Returns nil where
  the operation or the types are none of these, or an element is none that is computed here.
  """
  @spec elements(atom, Nx.Type.t(), Nx.Type.t(), binary | number, binary | number) :: binary | nil
  def elements(op, type, out, left, right)

  integers = for {kind, _} = type <- @types, kind != :f, do: type

  cases =
    for({op, operator} <- @arithmetic, type <- @types, do: {op, operator, type, type}) ++
      for({op, operator} <- @division, type <- @types, do: {op, operator, type, {:f, 32}}) ++
      for(
        {op, operator} <- @integer_division ++ @powers ++ @bitwise ++ @shifts,
        type <- integers,
        do: {op, operator, type, type}
      ) ++
      for {op, operator} <- @comparisons ++ @logic,
          type <- @types,
          do: {op, operator, type, {:u, 8}}

  for {op, operator, {kind, size} = type, out} <- cases do
    [one, each, right, left] =
      for form <- [:one, :each, :right, :left], do: :"#{form}_#{op}_#{kind}#{size}"

    # To append to a binary allocates memory outside the heap, which a single element does not need.
    def elements(unquote(op), unquote(type), unquote(out), left, right)
        when is_binary(left) and is_binary(right) and byte_size(left) == unquote(div(size, 8)),
        do: unquote(one)(left, right)

    def elements(unquote(op), unquote(type), unquote(out), left, right)
        when is_binary(left) and is_binary(right),
        do: unquote(each)(left, right, <<>>)

    def elements(unquote(op), unquote(type), unquote(out), left, right) when is_binary(left),
      do: unquote(right)(left, right, <<>>)

    def elements(unquote(op), unquote(type), unquote(out), left, right),
      do: unquote(left)(left, right, <<>>)

    # x and y are elements, or one of them is the number.
    [x, y, z] = for name <- [:x, :y, :z], do: Macro.var(name, __MODULE__)
    first = quote(do: <<unquote(element.(x, type)), xs::binary>>)
    second = quote(do: <<unquote(element.(y, type)), ys::binary>>)
    [xs, ys] = for name <- [:xs, :ys], do: Macro.var(name, __MODULE__)

    value =
      cond do
        Keyword.has_key?(@logic, op) ->
          {operator, [], [quote(do: unquote(x) != 0), quote(do: unquote(y) != 0)]}

        Keyword.has_key?(@bitwise ++ @shifts, op) ->
          quote(do: :erlang.unquote(operator)(unquote(x), unquote(y)))

        true ->
          {operator, [], [x, y]}
      end

    {value, fits} =
      cond do
        Keyword.has_key?(@comparisons ++ @logic, op) ->
          {quote(do: if(unquote(value), do: 1, else: 0)), true}

        kind == :f ->
          {value, quote(do: abs(unquote(z)) <= @most_f32)}

        true ->
          {value, true}
      end

    divides? = Keyword.has_key?(@division ++ @integer_division, op)

    guard =
      cond do
        divides? -> quote(do: unquote(y) != 0)
        op == :pow -> quote(do: unquote(y) in 0..@most_power)
        Keyword.has_key?(@shifts, op) -> quote(do: unquote(y) in 0..@most_shift)
        true -> true
      end

    defp unquote(one)(<<unquote(element.(x, type))>>, <<unquote(element.(y, type))>>)
         when unquote(guard) do
      unquote(z) = unquote(value)
      if unquote(fits), do: <<unquote(element.(z, out))>>
    end

    defp unquote(one)(_, _), do: nil

    for {name, heads, rests, ends} <- [
          {each, [first, second], [xs, ys], [<<>>, <<>>]},
          {right, [first, y], [xs, y], [<<>>, quote(do: _)]},
          {left, [x, second], [x, ys], [quote(do: _), <<>>]}
        ] do
      defp unquote(name)(unquote_splicing(heads), acc) when unquote(guard) do
        unquote(z) = unquote(value)

        if unquote(fits) do
          acc = <<acc::binary, unquote(element.(z, out))>>
          unquote(name)(unquote_splicing(rests), acc)
        end
      end

      defp unquote(name)(unquote_splicing(ends), acc), do: acc
      defp unquote(name)(_, _, _), do: nil
    end
  end

  def elements(_op, _type, _out, _left, _right), do: nil
end
