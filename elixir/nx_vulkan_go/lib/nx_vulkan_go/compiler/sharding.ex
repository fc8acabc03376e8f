defmodule NxVulkanGo.Compiler.Sharding do
  @moduledoc false
  # How arguments are divided over a mesh: for each tensor the axes of the mesh that divide each
  # dimension. `Nx.Defn.shard_jit/3` takes them as EXLA does, a map for each argument.

  alias Nx.Defn.Composite
  alias Nx.Tensor, as: T

  @type t :: [[non_neg_integer]]

  @doc """
  Checks the option `:input_shardings`. Returns the sharding of each tensor of the arguments, and the
  arguments with the shapes of the whole. The sharding of a container is that of each of its tensors.
  """
  @spec parse!(Nx.Mesh.t(), term, [term]) :: {[t], [term]}
  def parse!(mesh, shardings, vars) do
    if not is_list(shardings) do
      raise ArgumentError,
            "input_shardings are required for sharding: a list with a map for each argument, such as %{0 => [0]}"
    end

    if length(shardings) != length(vars) do
      raise ArgumentError,
            "expected #{length(vars)} input sharding configuration(s), got #{length(shardings)}"
    end

    {vars, found} =
      Enum.zip(vars, shardings)
      |> Enum.map_reduce([], fn {var, sharding}, found ->
        Composite.traverse(var, found, fn tensor, found ->
          axes = of_tensor!(mesh, sharding, tensor)
          {%{tensor | shape: whole(tensor.shape, axes, mesh)}, [axes | found]}
        end)
      end)

    {Enum.reverse(found), vars}
  end

  defp of_tensor!(_mesh, sharding, _tensor) when not is_map(sharding) do
    raise ArgumentError, "expected input sharding to be a map, got: #{inspect(sharding)}"
  end

  defp of_tensor!(_mesh, _sharding, %T{vectorized_axes: [_ | _]} = tensor) do
    raise ArgumentError,
          "vectorized tensors cannot be sharded, got: #{inspect(Nx.to_template(tensor))}; call Nx.devectorize/1"
  end

  defp of_tensor!(mesh, sharding, tensor) do
    by_dimension =
      Enum.reduce(sharding, %{}, fn {dimension, axes}, acc ->
        index = Nx.axis_index(tensor, dimension)

        if is_map_key(acc, index) do
          raise ArgumentError,
                "tensor dimension #{inspect(dimension)} (index #{index}) was specified multiple times"
        end

        Map.put(acc, index, axes)
      end)

    axes = for d <- 0..(tuple_size(tensor.shape) - 1)//1, do: Map.get(by_dimension, d, [])
    check_axes!(List.flatten(axes), tuple_size(mesh.shape), [])
    axes
  end

  defp check_axes!([], _count, _used), do: :ok

  defp check_axes!([axis | rest], count, used) do
    cond do
      not is_integer(axis) or axis not in 0..(count - 1)//1 ->
        raise ArgumentError, "axis #{inspect(axis)} is not valid for mesh with #{count} axes"

      axis in used ->
        raise ArgumentError, "axis #{axis} was used twice in the same input sharding"

      true ->
        check_axes!(rest, count, [axis | used])
    end
  end

  defp whole(shape, axes, mesh) do
    Enum.zip_with(Tuple.to_list(shape), axes, &(&1 * parts(&2, mesh))) |> List.to_tuple()
  end

  @doc "Returns the shape of a part."
  @spec part(tuple, t, Nx.Mesh.t()) :: tuple
  def part(shape, axes, mesh) do
    Enum.zip_with(Tuple.to_list(shape), axes, &div(&1, parts(&2, mesh))) |> List.to_tuple()
  end

  defp parts(axes, mesh), do: Enum.product(for axis <- axes, do: elem(mesh.shape, axis))
end
