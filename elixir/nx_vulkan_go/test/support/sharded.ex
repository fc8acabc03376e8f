defmodule NxVulkanGo.Sharded do
  @moduledoc false
  # What EXLA's tests of sharding compute, in a VM whose server has four device servers: see
  # `NxVulkanGo.SeveralDevices.start!/1`. Functions return what tests compare.

  alias Nx.Mesh
  alias NxVulkanGo.{Nodes, SeveralDevices}

  @doc """
  Starts a VM for the time of a module, whose meshes are laid on the devices of one server, or of several: a list of devices for each.
  """
  def start_for_tests!([devices]), do: SeveralDevices.start_for_tests!(devices)
  def start_for_tests!(nodes), do: Nodes.start_for_tests!(nodes)

  @doc "Runs a function of this module in the VM."
  def on(peer, function, args \\ []), do: :peer.call(peer, __MODULE__, function, args, 240_000)

  @doc "Calls a sharded function; returns {type, shape, numbers, device} of each tensor of each partition."
  def shard(name, shape, shardings, args) do
    fun(name)
    |> Nx.Defn.shard_jit(%Mesh{name: "mesh", shape: shape},
      input_shardings: shardings,
      compiler: NxVulkanGo
    )
    |> then(& &1.(args))
    |> Enum.map(&described/1)
  rescue
    error -> {error.__struct__, Exception.message(error)}
  end

  @doc "Explains a sharded function; returns the shards and the text, or the error."
  def explain(name, shape, shardings, args) do
    explanation =
      NxVulkanGo.explain(fun(name), args,
        mesh: %Mesh{name: "mesh", shape: shape},
        input_shardings: shardings
      )

    {explanation.shards, "#{explanation}", length(explanation.parts)}
  rescue
    error -> {error.__struct__, Exception.message(error)}
  end

  defp described(%Nx.Tensor{} = t),
    do: {t.type, t.shape, Nx.to_flat_list(t), partition(t.data.session)}

  defp described(tuple), do: tuple |> Tuple.to_list() |> Enum.map(&described/1)

  # The partition of a session: its place, or its device.
  defp partition(%{server: server, device: device}) do
    case Application.fetch_env(:nx_vulkan_go, :mesh) do
      {:ok, places} -> Enum.find_index(places, &(&1 == [server: server, device: device]))
      :error -> device
    end
  end

  defp place(partition) do
    case Application.fetch_env(:nx_vulkan_go, :mesh) do
      {:ok, places} -> Enum.at(places, partition)
      :error -> [device: partition]
    end
  end

  defp fun(:add), do: &Nx.add/2
  defp fun(:double), do: &Nx.add(&1, &1)
  defp fun(:one), do: &Nx.add(&1, 1)
  defp fun(:twice), do: &Nx.multiply(&1, 2)
  defp fun(:pair), do: fn x, y -> {Nx.add(x, y), Nx.multiply(y, 2)} end
  defp fun(:three), do: fn x, y, z -> Nx.add(Nx.multiply(x, y), z) end
  defp fun(:mixed), do: fn x, y, z -> {Nx.add(x, y), Nx.multiply(y, z)} end
  defp fun(:transpose), do: &Nx.transpose/1
  defp fun(:strided), do: &Nx.window_sum(&1, {2, 2}, strides: [2, 2])
  defp fun(:same), do: &Nx.window_sum(&1, {2, 2}, strides: [1, 1], padding: :same)
  defp fun(:valid), do: &Nx.window_sum(&1, {2, 2}, strides: [1, 1], padding: :valid)
  defp fun(:dot), do: &Nx.dot/2
  defp fun(:hook), do: &Nx.Defn.Kernel.print_value/1

  @doc "A step of gradient descent on two partitions, and the step on the whole; the greatest difference."
  def gradient(seed) do
    key = Nx.Random.key(seed)
    {x, key} = Nx.Random.normal(key, shape: {16, 6})
    {y, key} = Nx.Random.normal(key, shape: {16, 3})
    {w, _} = Nx.Random.normal(key, shape: {6, 3})

    step = fn w, x, y ->
      loss = fn w ->
        w |> then(&Nx.dot(x, &1)) |> Nx.tanh() |> Nx.subtract(y) |> Nx.pow(2) |> Nx.mean()
      end

      Nx.subtract(w, Nx.multiply(0.1, Nx.Defn.grad(w, loss)))
    end

    want = Nx.Defn.jit(step, compiler: Nx.Defn.Evaluator).(w, x, y)

    sharded =
      Nx.Defn.shard_jit(step, %Mesh{name: "m", shape: {2}},
        input_shardings: [%{}, %{0 => [0]}, %{0 => [0]}],
        compiler: NxVulkanGo
      )

    for got <- sharded.([[w, x[0..7], y[0..7]], [w, x[8..15], y[8..15]]]) do
      got
      |> Nx.backend_copy(Nx.BinaryBackend)
      |> Nx.subtract(want)
      |> Nx.abs()
      |> Nx.reduce_max()
      |> Nx.to_number()
    end
  end

  @doc "Processes that call sharded functions at once, each many times; returns the distinct results."
  def at_once(processes, rounds) do
    mesh = %Mesh{name: "m", shape: {2}}

    total =
      Nx.Defn.shard_jit(&Nx.sum/1, mesh, input_shardings: [%{0 => [0]}], compiler: NxVulkanGo)

    1..processes
    |> Task.async_stream(
      fn i ->
        for _ <- 1..rounds,
            part <- total.([[Nx.tensor([i, i])], [Nx.tensor([1, 1])]]),
            do: Nx.to_number(part) - 2 * i
      end,
      timeout: :infinity,
      max_concurrency: processes
    )
    |> Enum.flat_map(&elem(&1, 1))
    |> Enum.uniq()
  end

  @doc "Ends the session of a partition, and calls again."
  def after_session(partition) do
    total =
      Nx.Defn.shard_jit(&Nx.sum/1, %Mesh{name: "m", shape: {2}},
        input_shardings: [%{0 => [0]}],
        compiler: NxVulkanGo
      )

    call = fn ->
      for part <- total.([[Nx.tensor([1, 2])], [Nx.tensor([3, 4])]]), do: Nx.to_number(part)
    end

    first = call.()
    pid = NxVulkanGo.Session.Registry.fetch!(place(partition)).pid
    ref = Process.monitor(pid)
    Process.exit(pid, :kill)

    receive do
      {:DOWN, ^ref, _, _, _} -> :ok
    end

    :sys.get_state(NxVulkanGo.Session.Registry)
    {first, call.()}
  end
end
