defmodule NxVulkanGo.Clustered do
  @moduledoc false
  # What tests of NxVulkanGo.Cluster do in a VM whose server has several devices.

  alias NxVulkanGo.Cluster

  def servers, do: Cluster.servers()

  @doc "Starts the server of the VM."
  def start do
    NxVulkanGo.info()
    Cluster.servers()
  end

  def devices, do: Cluster.devices()

  def announced(server) do
    Cluster.announce(server)
    Cluster.announce(server)
    Cluster.servers()
  end

  def withdrawn(server) do
    Cluster.withdraw(server)
    Cluster.servers()
  end

  def unreachable(options),
    do:
      for({server, error} <- Cluster.unreachable(options), do: {server, Exception.message(error)})

  def least_used do
    with {:error, error} <- Cluster.least_used(), do: {:error, Exception.message(error)}
  end

  @doc "Takes memory on devices; returns the least used one and where :auto is, also when that has more than others."
  def placed(used) do
    held = for {device, n} <- used, do: hold(device, n)
    {:ok, place} = Cluster.least_used()
    auto = {NxVulkanGo.Backend, device: :auto}
    first = Nx.iota({4_000_000}, backend: auto)
    second = Nx.iota({4}, backend: auto)
    ^first = Enum.at([first | held], 0)
    true = first.data.session.device == second.data.session.device
    {place[:device], second.data.session.device}
  end

  defp hold(device, n) do
    tensor = Nx.iota({n}, backend: {NxVulkanGo.Backend, device: device})
    NxVulkanGo.sync(device: device)
    tensor
  end

  @doc "Asks a serving with a partition for each device; returns the answers, and the devices that computed."
  def serving(count) do
    before = NxVulkanGo.metrics().instructions_total
    serving = Nx.Serving.jit(&Nx.multiply(&1, Nx.tensor([1.0, 2.0])), compiler: NxVulkanGo)

    start =
      {Nx.Serving,
       serving: serving, name: __MODULE__, partitions: true, batch_size: 1, batch_timeout: 1}

    {:ok, _} = Supervisor.start_link([start], strategy: :one_for_one)

    sums =
      1..count
      |> Task.async_stream(
        fn i ->
          Nx.Serving.batched_run(__MODULE__, Nx.Batch.stack([Nx.tensor([i, i])]))
          |> Nx.squeeze()
          |> Nx.to_flat_list()
        end,
        timeout: :infinity
      )
      |> Enum.map(&elem(&1, 1))

    busy =
      for {server, n} <- NxVulkanGo.metrics().instructions_total,
          n > before[server],
          do:
            server
            |> Atom.to_string()
            |> String.replace_prefix("nxvk_", "")
            |> String.to_integer()

    {sums, Enum.sort(busy)}
  end
end
