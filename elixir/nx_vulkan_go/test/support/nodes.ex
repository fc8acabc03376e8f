defmodule NxVulkanGo.Nodes do
  @moduledoc false
  # Several servers of one machine, each a process, and a VM whose meshes are laid on their devices.

  alias NxVulkanGo.{Distribution, Peer, SeveralDevices}
  alias NxVulkanGo.Launcher.Executable

  @doc "Starts servers for the time of the module whose `setup_all` calls this, each with some devices; returns the VM."
  def start_for_tests!(nodes) do
    {peer, _ports} = start!(nodes)
    ExUnit.Callbacks.on_exit(fn -> Peer.stop(peer) end)
    peer
  end

  @doc "Starts servers, which end with this process, and returns the VM and their ports."
  def start!(nodes) do
    cookie = Distribution.random_hex(16)
    epmd = free_port()

    servers =
      for devices <- nodes do
        server = :"nxvk_#{Distribution.random_hex(4)}@127.0.0.1"
        {server, devices, server(server, cookie, epmd, devices)}
      end

    places =
      for {server, devices, _} <- servers,
          device <- 0..(length(devices) - 1),
          do: [server: server, device: device]

    {vm!(cookie, epmd, places), for({server, _, port} <- servers, do: {server, port})}
  end

  @doc "Starts another VM that uses the servers of one."
  def another!(peer) do
    {:ok, [[epmd]]} = :peer.call(peer, :init, :get_argument, [:epmd_port])
    [cookie, places] = for key <- [:cookie, :mesh], do: configured(peer, key)
    vm!(cookie, epmd, places)
  end

  defp configured(peer, key) do
    {:ok, value} = :peer.call(peer, :application, :get_env, [:nx_vulkan_go, key])
    value
  end

  defp vm!(cookie, epmd, places) do
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])
    args = [~c"-epmd_port", ~c"#{epmd}" | paths]
    {:ok, peer, _} = :peer.start(%{connection: :standard_io, args: args})
    :ok = :peer.call(peer, :application, :set_env, [:logger, :level, :warning])
    SeveralDevices.set(peer, :vm_limit, 0)
    SeveralDevices.set(peer, :cookie, cookie)
    SeveralDevices.set(peer, :server, places |> hd() |> Keyword.fetch!(:server))
    SeveralDevices.set(peer, :mesh, places)
    {:ok, _} = :peer.call(peer, :application, :ensure_all_started, [:nx_vulkan_go], 30_000)
    peer
  end

  # The server ends when its standard input does.
  defp server(name, cookie, epmd, devices) do
    args = [
      "run",
      "--name",
      "#{name}",
      "--log-level",
      "error",
      "--exit-on-eof" | Enum.flat_map(devices, &["--device", &1])
    ]

    port =
      Port.open({:spawn_executable, Executable.find!()}, [
        :binary,
        line: 10_000,
        args: args,
        env: [{~c"NXVK_COOKIE", ~c"#{cookie}"}, {~c"ERL_EPMD_PORT", ~c"#{epmd}"}]
      ])

    ready!(port)
    port
  end

  defp ready!(port) do
    receive do
      {^port, {:data, {_, "nxvk ready" <> _}}} -> :ok
      {^port, {:data, _}} -> ready!(port)
    after
      60_000 -> raise "a server does not become ready"
    end
  end

  defp free_port do
    {:ok, socket} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
    {:ok, port} = :inet.port(socket)
    :gen_tcp.close(socket)
    port
  end
end
