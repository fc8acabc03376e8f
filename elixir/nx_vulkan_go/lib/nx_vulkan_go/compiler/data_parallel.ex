defmodule NxVulkanGo.Compiler.DataParallel do
  @moduledoc false
  # The option `:data_parallel` of compiled functions. The tensors of the first argument are divided along their first
  # dimension over several devices, all other arguments are whole on each, and so are the results. The caller gets
  # those of the first device, with the others as their replicas: an argument of the next call that is a result of this
  # one is on all devices already. The replicas are part of the tensor, so they are freed with it.

  alias Nx.Defn.Composite
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Compiler.{Program, Shard, Sharding}
  alias NxVulkanGo.Session.Mesh

  @doc "Returns how many devices share a call; nil where one has it alone. Raises `ArgumentError`."
  @spec devices!(keyword, [term]) :: nil | pos_integer
  def devices!(options, vars) do
    case options[:data_parallel] do
      nil ->
        nil

      n when is_integer(n) and n > 0 ->
        if options[:device] do
          raise ArgumentError,
                "a function with :data_parallel takes no :device: it runs on the first #{n} devices or :places"
        end

        if divisible?(vars, n), do: n

      other ->
        raise ArgumentError, ":data_parallel must be a number of devices, got: #{inspect(other)}"
    end
  end

  @doc "Returns the options of a call that one device has alone: with places the first one."
  @spec alone(keyword) :: keyword
  def alone(options) do
    case options[:data_parallel] && Mesh.layout!(options) do
      [place | _] -> Keyword.merge(options, place)
      _ -> options
    end
  end

  # The last batch of an epoch may have too few rows: then the first device has them all.
  defp divisible?([], _n), do: false

  defp divisible?([data | _], n) do
    tensors = Composite.flatten_list([data])
    divided = for %T{shape: shape} = t <- tensors, shape != {}, do: {t, elem(shape, 0)}

    divided != [] and
      Enum.all?(divided, fn {t, rows} -> t.vectorized_axes == [] and rem(rows, n) == 0 end)
  end

  @doc "Divides a program over the devices. `vars` are the templates of its arguments."
  @spec divide!(Program.t(), [term], pos_integer, keyword) :: Shard.t()
  def divide!(program, vars, n, options) do
    mesh = %Nx.Mesh{name: "data", shape: {n}}
    Shard.divide!(program, mesh, shardings(vars), Keyword.put(options, :whole, true))
  end

  @spec shardings([term]) :: [Sharding.t()]
  defp shardings([data | others]) do
    divided = for t <- Composite.flatten_list([data]), do: axes(t.shape, [0])
    divided ++ for t <- Composite.flatten_list(others), do: axes(t.shape, [])
  end

  defp axes({}, _by), do: []
  defp axes(shape, by), do: [by | List.duplicate([], tuple_size(shape) - 1)]

  @doc "Calls a divided function with the arguments of the whole."
  @spec run(Shard.t(), [term], [(-> T.t())], keyword) :: term
  def run(shard, [data | _], args, options) do
    n = elem(shard.mesh.shape, 0)
    {divided, others} = Enum.split(args, length(Composite.flatten_list([data])))
    divided = for arg <- divided, do: arg.()

    args_list =
      for i <- 0..(n - 1), do: for(t <- divided, do: fn -> part(t, i, n) end) ++ others

    [first | rest] = Shard.run(shard, args_list, options)
    with_replicas(first, for(other <- rest, do: Composite.flatten_list([other])))
  end

  defp part(%T{shape: {}} = scalar, _i, _n), do: scalar

  defp part(tensor, i, n) do
    rows = div(elem(tensor.shape, 0), n)
    Nx.slice_along_axis(tensor, i * rows, rows, axis: 0)
  end

  defp with_replicas(first, rest) do
    {result, _} =
      Composite.traverse(first, rest, fn
        %T{data: %B{id: nil}} = scalar, rest ->
          {scalar, Enum.map(rest, &tl/1)}

        %T{data: data} = tensor, rest ->
          replicas = for [%T{data: replica} | _] <- rest, do: replica
          {%{tensor | data: %{data | replicas: replicas}}, Enum.map(rest, &tl/1)}
      end)

    result
  end

  @doc "Returns a tensor as a session has it, where it has a replica."
  @spec replica(T.t(), pid) :: T.t() | nil
  def replica(%T{data: %B{replicas: replicas}} = tensor, pid) do
    with %B{} = data <- Enum.find(replicas, &(&1.session.pid == pid)), do: %{tensor | data: data}
  end
end
