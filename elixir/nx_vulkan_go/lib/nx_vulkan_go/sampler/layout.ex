defmodule NxVulkanGo.Sampler.Layout do
  @moduledoc false
  # The layout of a container of parameters in the vector that is sampled: the tensors
  # one after the other, each in row-major order. This module knows shapes and bytes; it
  # knows no density and no server.

  alias Nx.Defn.Composite

  @enforce_keys [:template, :leaves, :dim]
  defstruct @enforce_keys

  @type t :: %__MODULE__{
          # container with the shapes of the parameters
          template: term,
          # of each tensor: offset, size, shape and names
          leaves: [{non_neg_integer, pos_integer, tuple, list}],
          # of the vector
          dim: pos_integer
        }

  @doc "Makes the layout of a container of tensors or templates."
  @spec new(term) :: t
  def new(template) do
    tensors = tensors!(template)
    if tensors == [], do: raise(ArgumentError, "the template has no tensors, so no parameters")

    {leaves, dim} =
      Enum.map_reduce(tensors, 0, fn %{shape: shape, names: names}, offset ->
        size = Tuple.product(shape)
        {{offset, size, shape, names}, offset + size}
      end)

    template = Composite.traverse(template, &(&1 |> Nx.to_tensor() |> Nx.to_template()))
    %__MODULE__{template: template, leaves: leaves, dim: dim}
  end

  defp tensors!(template) do
    for t <- Composite.flatten_list([template]), t = Nx.to_tensor(t) do
      if t.vectorized_axes != [] do
        raise ArgumentError, "parameters must not be vectorized, got: #{inspect(t)}"
      end

      if Nx.Type.complex?(t.type) do
        raise ArgumentError, "parameters must be real, got: #{inspect(t)}"
      end

      t
    end
  end

  @doc "Splits a vector, which may be an expression, into parameters."
  @spec unflatten(t, Nx.Tensor.t()) :: term
  def unflatten(layout, vector) do
    fill(layout, fn {offset, size, shape, names} ->
      vector |> Nx.slice([offset], [size]) |> Nx.reshape(shape, names: names)
    end)
  end

  @doc """
  Splits rows of f64 numbers, `{chains, draws}` of them, into parameters: tensors with
  these two axes in front.
  """
  @spec rows(t, binary, {non_neg_integer, non_neg_integer}) :: term
  def rows(%{dim: dim} = layout, bytes, {chains, draws}) do
    matrix =
      bytes
      |> Nx.from_binary(:f64, backend: Nx.BinaryBackend)
      |> Nx.reshape({chains * draws, dim})

    fill(layout, fn {offset, size, shape, names} ->
      matrix
      |> Nx.slice_along_axis(offset, size, axis: 1)
      |> Nx.reshape(List.to_tuple([chains, draws | Tuple.to_list(shape)]),
        names: [nil, nil | names]
      )
    end)
  end

  defp fill(%{template: template, leaves: leaves}, fun) do
    {filled, []} =
      Composite.traverse(template, leaves, fn _, [leaf | rest] -> {fun.(leaf), rest} end)

    filled
  end

  @doc """
  Joins the parameters of all chains into f64 numbers. The tensors may have a first axis of
  `chains`; without it all chains get the same numbers.
  """
  @spec vectors(t, term, pos_integer) :: {:ok, binary} | {:error, String.t()}
  def vectors(%{leaves: leaves} = layout, values, chains) do
    tensors = Enum.map(Composite.flatten_list([values]), &Nx.to_tensor/1)
    shapes = for {_, _, shape, _} <- leaves, do: shape
    many = for shape <- shapes, do: List.to_tuple([chains | Tuple.to_list(shape)])

    case Enum.map(tensors, & &1.shape) do
      ^shapes ->
        finite(:binary.copy(bytes(tensors, leaves, 1), chains))

      ^many ->
        finite(bytes(tensors, leaves, chains))

      got ->
        {:error, "has the shapes #{inspect(got)}, must have #{inspect(layout_shapes(layout))}"}
    end
  end

  defp layout_shapes(%{leaves: leaves}), do: for({_, _, shape, _} <- leaves, do: shape)

  defp bytes(tensors, leaves, chains) do
    Enum.zip_with(tensors, leaves, fn t, {_, size, _, _} ->
      t
      |> Nx.backend_copy(Nx.BinaryBackend)
      |> Nx.as_type(:f64)
      |> Nx.reshape({chains, size}, names: [nil, nil])
    end)
    |> Nx.concatenate(axis: 1)
    |> Nx.to_binary()
  end

  @doc "Returns the bytes, if all their f64 numbers are finite."
  @spec finite(binary) :: {:ok, binary} | {:error, String.t()}
  def finite(bytes) do
    # NaN and infinities match no float.
    if finite?(bytes), do: {:ok, bytes}, else: {:error, "has numbers that are not finite"}
  end

  defp finite?(<<_::float-64-little, rest::binary>>), do: finite?(rest)
  defp finite?(rest), do: rest == <<>>
end
