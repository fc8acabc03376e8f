defmodule NxVulkanGo.Places do
  @moduledoc false
  # Functions over places, in a VM that knows several servers: see `NxVulkanGo.Nodes`.

  alias Nx.Mesh
  alias NxVulkanGo.Cluster

  @doc "Sums the parts of a vector over places; returns each part's sum, and where it is."
  def sums(places, parts) do
    for t <- total(length(parts), places: places).(for part <- parts, do: [Nx.tensor(part)]),
        do: {Nx.to_number(t), {t.data.session.server, t.data.session.device}}
  rescue
    error -> {error.__struct__, Exception.message(error)}
  end

  @doc "Sums over one list of places and then over another, again and again. Others see how often by `turned/0`."
  def turns(lists, rounds) do
    for round <- 1..rounds, places <- lists, uniq: true do
      :persistent_term.put(__MODULE__, round)
      for({sum, _} <- sums(places, for(i <- 1..length(places), do: [i, i])), do: sum)
    end
  end

  @doc "The round in which `turns/2` of this VM is."
  def turned, do: :persistent_term.get(__MODULE__, 0)

  @doc "Sums without an option, by the configuration."
  def configured(parts) do
    for t <- total(length(parts), []).(for part <- parts, do: [Nx.tensor(part)]),
        do: Nx.to_number(t)
  end

  defp total(partitions, options) do
    Nx.Defn.shard_jit(
      &Nx.sum/1,
      %Mesh{name: "m", shape: {partitions}},
      [input_shardings: [%{0 => [0]}], compiler: NxVulkanGo] ++ options
    )
  end

  @doc """
  A step of training of y = 3x on places from a parameter that the caller has kept. Where that fails, it is carried out by the places
  whose servers answer. Returns these, the new parameter, and the kind of the error.
  """
  def step(places, kept, error \\ nil) do
    n = length(places)
    xs = Nx.iota({12}, type: :f32) |> Nx.divide(12)
    part = div(12, n)

    args =
      for i <- 0..(n - 1) do
        x = Nx.slice(xs, [i * part], [part])
        [Nx.tensor(kept), x, Nx.multiply(x, 3)]
      end

    step = fn w, x, y ->
      loss = fn w -> Nx.mean(Nx.pow(Nx.subtract(Nx.multiply(x, w), y), 2)) end
      Nx.subtract(w, Nx.multiply(1.5, Nx.Defn.grad(w, loss)))
    end

    train =
      Nx.Defn.shard_jit(step, %Mesh{name: "batch", shape: {n}},
        input_shardings: [%{}, %{0 => [0]}, %{0 => [0]}],
        places: places,
        compiler: NxVulkanGo
      )

    [w | _] = train.(args)
    {places, Nx.to_number(w), error}
  rescue
    error in NxVulkanGo.Error ->
      servers = for place <- places, uniq: true, do: place[:server]
      gone = for {server, _} <- Cluster.unreachable(servers: servers), do: server
      rest = Enum.reject(places, &(&1[:server] in gone))
      if rest == places, do: reraise(error, __STACKTRACE__)
      step(rest, kept, error.kind)
  end
end
