defmodule NxVulkanGo.Attention do
  @moduledoc false
  # Scaled dot-product attention as a block of Nx: the struct says which attention it is, and the
  # default is plain Nx. The compiler sends the default as the region of one instruction, so the
  # node need not find out that it is attention (see NxVulkanGo.Compiler.Lower).

  alias Nx.Tensor, as: T

  # Whether there is a mask or a bias; they follow query, key and value in this order.
  defstruct causal: false, scale: 1.0, mask: false, bias: false

  @doc "Computes NxVulkanGo.attention/4."
  @spec run(Nx.Tensor.t(), Nx.Tensor.t(), Nx.Tensor.t(), keyword) :: Nx.Tensor.t()
  def run(query, key, value, options) do
    options = Keyword.validate!(options, [:scale, :mask, :bias, causal: false])
    more = for name <- [:mask, :bias], t = options[name], do: {name, t}
    tensors = Enum.map([query, key, value] ++ Keyword.values(more), &Nx.to_tensor/1)
    axes = hd(Nx.broadcast_vectors(tensors)).vectorized_axes

    args =
      for t <- Nx.broadcast_vectors(tensors),
          do: Nx.devectorize(%{t | names: anonymous(t)}, keep_names: false)

    struct = %__MODULE__{
      causal: options[:causal] == true,
      scale: scale!(options[:scale], hd(args)),
      mask: Keyword.has_key?(more, :mask),
      bias: Keyword.has_key?(more, :bias)
    }

    out = output!(args)
    names = Keyword.keys(more)
    args = align(args, names, length(axes), out)
    result = block(struct, args, out)

    if axes == [],
      do: result,
      else: Nx.vectorize(%{result | names: named(axes, result)}, Keyword.keys(axes))
  end

  defp anonymous(t), do: List.duplicate(nil, tuple_size(t.shape))

  defp named(axes, t) do
    Keyword.keys(axes) ++ List.duplicate(nil, tuple_size(t.shape) - length(axes))
  end

  # By what the module has, not by its version.
  defp block(struct, args, out) do
    if Code.ensure_loaded?(Nx) and function_exported?(Nx, :block, 4),
      do: apply(Nx, :block, [struct, args, out, default(length(args))]),
      else: apply(default(length(args)), [struct | args])
  end

  defp default(3), do: fn struct, q, k, v -> define(struct, q, k, v, []) end
  defp default(4), do: fn struct, q, k, v, a -> define(struct, q, k, v, [a]) end
  defp default(5), do: fn struct, q, k, v, a, b -> define(struct, q, k, v, [a, b]) end

  defp scale!(nil, %T{shape: shape}), do: 1 / :math.sqrt(elem(shape, tuple_size(shape) - 1))
  defp scale!(scale, _query) when is_number(scale), do: scale * 1.0

  defp scale!(other, _query),
    do:
      raise(
        ArgumentError,
        "NxVulkanGo.attention/4 takes a number as :scale, got: #{inspect(other)}"
      )

  ## Shapes

  defp output!([query, key, value | _]) do
    {batch, heads, queries, size} = parts!(query, "query")
    {key_batch, key_heads, keys, key_size} = parts!(key, "key")
    {value_batch, value_heads, values, width} = parts!(value, "value")

    for t <- [query, key, value], not Nx.Type.float?(t.type) do
      raise ArgumentError,
            "NxVulkanGo.attention/4 takes tensors of floats, got: #{Nx.Type.to_string(t.type)}"
    end

    unless batch == key_batch and batch == value_batch and key_heads == value_heads and
             keys == values and size == key_size and rem(heads, max(key_heads, 1)) == 0 do
      raise ArgumentError,
            "NxVulkanGo.attention/4 takes a query of {..., heads, queries, size}, a key of {..., groups, keys, size} and " <>
              "a value of {..., groups, keys, width}, where heads is a multiple of groups, got: " <>
              "#{inspect(query.shape)}, #{inspect(key.shape)} and #{inspect(value.shape)}"
    end

    type = query.type |> Nx.Type.merge(key.type) |> Nx.Type.merge(value.type)
    Nx.template(List.to_tuple(batch ++ [heads, queries, width]), type)
  end

  defp parts!(%T{shape: shape}, _what) when tuple_size(shape) >= 3 do
    {batch, [heads, length, size]} = shape |> Tuple.to_list() |> Enum.split(-3)
    {batch, heads, length, size}
  end

  defp parts!(%T{shape: shape}, what) do
    raise ArgumentError,
          "NxVulkanGo.attention/4 takes a #{what} of at least three dimensions, got: #{inspect(shape)}"
  end

  # Masks and biases get the rank of the scores: {batch..., heads, queries, keys}. Their vectorized
  # axes, which are first, stay there.
  defp align([query, key, value | more], names, vectors, out) do
    {_, _, keys, _} = parts!(key, "key")
    scores = out.shape |> put_elem(tuple_size(out.shape) - 1, keys)

    more =
      for {t, name} <- Enum.zip(more, names) do
        {axes, own} = t.shape |> Tuple.to_list() |> Enum.split(vectors)
        ones = List.duplicate(1, max(tuple_size(scores) - vectors - length(own), 0))
        shape = List.to_tuple(axes ++ ones ++ own)
        broadcasts!(shape, scores, name, t)
        Nx.reshape(t, shape)
      end

    [query, key, value | more]
  end

  defp broadcasts!(shape, scores, name, t) do
    fits? =
      tuple_size(shape) == tuple_size(scores) and
        Enum.all?(Enum.zip(Tuple.to_list(shape), Tuple.to_list(scores)), fn {n, m} ->
          n in [1, m]
        end)

    unless fits? do
      raise ArgumentError,
            "NxVulkanGo.attention/4 takes a #{name} that broadcasts to the scores #{inspect(scores)}, got: #{inspect(t.shape)}"
    end
  end

  ## Definition

  defp define(%__MODULE__{} = struct, query, key, value, more) do
    rank = tuple_size(query.shape)
    key = repeat(key, elem(query.shape, rank - 3))
    value = repeat(value, elem(query.shape, rank - 3))
    batch = Enum.to_list(0..(rank - 3))

    {masks, biases} = if struct.mask, do: Enum.split(more, 1), else: {[], more}

    query
    |> Nx.dot([rank - 1], batch, key, [rank - 1], batch)
    |> Nx.multiply(struct.scale)
    |> add(biases)
    |> exclude(masks)
    |> exclude(if struct.causal, do: [:causal], else: [])
    |> softmax()
    |> Nx.dot([rank - 1], batch, value, [rank - 2], batch)
  end

  # Each group serves as many heads, one after the other.
  defp repeat(t, heads) do
    rank = tuple_size(t.shape)
    groups = elem(t.shape, rank - 3)

    if groups == heads do
      t
    else
      shape = t.shape |> put_elem(rank - 3, heads)
      wide = t.shape |> Tuple.insert_at(rank - 2, div(heads, groups))
      t |> Nx.new_axis(rank - 2) |> Nx.broadcast(wide) |> Nx.reshape(shape)
    end
  end

  defp add(logits, []), do: logits
  defp add(logits, [bias]), do: Nx.add(logits, Nx.as_type(bias, logits.type))

  defp exclude(logits, []), do: logits
  defp exclude(logits, [:causal]), do: exclude(logits, [causal(logits)])

  defp exclude(logits, [mask]) do
    lowest = Nx.Constants.neg_infinity(logits.type, backend: Nx.BinaryBackend)
    Nx.select(Nx.broadcast(mask, logits), logits, lowest)
  end

  defp causal(%T{shape: shape}) do
    rank = tuple_size(shape)
    Nx.greater_equal(Nx.iota(shape, axis: rank - 2), Nx.iota(shape, axis: rank - 1))
  end

  defp softmax(logits) do
    exp = logits |> Nx.subtract(Nx.reduce_max(logits, axes: [-1], keep_axes: true)) |> Nx.exp()
    Nx.divide(exp, Nx.sum(exp, axes: [-1], keep_axes: true))
  end
end
