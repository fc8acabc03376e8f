defmodule NxVulkanGo.Cluster do
  @moduledoc """
  Finds the servers of a cluster and their devices, and tells how much each is used.

      NxVulkanGo.Cluster.announce(:"nxvk@gpu1.example.org")

      for d <- NxVulkanGo.Cluster.devices(), do: {d.server, d.index, d.used, d.waiting}

      {:ok, place} = NxVulkanGo.Cluster.least_used()
      Nx.default_backend({NxVulkanGo.Backend, place})

  The servers of a VM are the one that its configuration names or its launcher has started, those
  that it or another connected BEAM node has announced, and those of the option `:servers`. VMs tell
  each other by `:pg`, in the scope `:nx_vulkan_go_cluster`; a VM that ends takes its announcements with it. A
  server need not be announced by the machine that it runs on.

  ## The least used device

  `device: :auto` of the backend, and `least_used/1`, choose the device with the fewest
  instructions and reads that wait, then the one whose memory is used least, by its share of
  all, then the one with the fewest sessions, then the first one. The session of this VM stays there until it is closed.
  Servers and devices are asked at that moment, and nothing is reserved.
  """

  use GenServer

  alias NxVulkanGo.{Configuration, Distribution, Error, Launcher}

  @timeout 5_000

  # Of :pg, which registers a process by this name.
  @scope :nx_vulkan_go_cluster

  @typedoc """
  A device of a server. `used` and `memory` are bytes, `waiting` counts the instructions and reads of all
  sessions that wait for their turn.
  """
  @type device :: %{
          server: node,
          index: non_neg_integer,
          name: String.t(),
          kind: String.t(),
          memory: non_neg_integer,
          used: non_neg_integer,
          sessions: non_neg_integer,
          waiting: non_neg_integer
        }

  @doc false
  def start_link(_), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc "Tells all connected BEAM nodes of a server, until this VM ends or `withdraw/1`."
  @spec announce(node) :: :ok
  def announce(server) when is_atom(server), do: call({:announce, server})

  @doc "Takes back what `announce/1` has told."
  @spec withdraw(node) :: :ok
  def withdraw(server) when is_atom(server), do: call({:withdraw, server})

  @doc """
  Lists the servers that are known, in the order of their names. It starts and connects to none.

  Takes `:servers`, a list of more names.
  """
  @spec servers(keyword) :: [node]
  def servers(options \\ []) do
    announced =
      for pid <- members(), server <- announced(pid), uniq: true, do: server

    Enum.uniq(Keyword.get(options, :servers, []) ++ own() ++ announced) |> Enum.sort()
  end

  defp own do
    cond do
      server = Configuration.get(:server) -> [server]
      Process.whereis(Launcher) && Launcher.os_pid() -> [Launcher.ensure!()]
      true -> []
    end
  end

  @doc """
  Lists the devices of all servers that answer, with their load. Takes the options of `servers/1`.
  """
  @spec devices(keyword) :: [device]
  def devices(options \\ []) do
    for {_server, {:ok, devices}} <- ask(servers(options)), device <- devices, do: device
  end

  @doc """
  Lists the servers that do not answer, with the reason. Takes the options of `servers/1`.
  """
  @spec unreachable(keyword) :: [{node, Exception.t()}]
  def unreachable(options \\ []) do
    for {server, {:error, error}} <- ask(servers(options)), do: {server, error}
  end

  @doc """
  Returns the options of the backend for the least used device of all servers that answer.

  Takes the options of `servers/1`. Without a device the error is that of the first server.
  """
  @spec least_used(keyword) :: {:ok, keyword} | {:error, Exception.t()}
  def least_used(options \\ []) do
    answers = ask(servers(options))

    case for({_server, {:ok, devices}} <- answers, device <- devices, do: device) do
      [] ->
        {:error, error(answers)}

      devices ->
        %{server: server, index: index} = Enum.min_by(devices, &load/1)
        {:ok, [server: server, device: index]}
    end
  end

  @doc false
  # The least used device of a server; the caller has connected to it.
  @spec least_used!(node) :: non_neg_integer
  def least_used!(server),
    do: server |> of_server!() |> Enum.min_by(&load/1) |> Map.fetch!(:index)

  defp error([]), do: down("no server is known; announce one, or name it in the option :servers")
  defp error([{_server, {:error, error}} | _]), do: error

  @doc false
  # What devices are ordered by.
  def load(%{} = device) do
    share = if device.memory > 0, do: device.used / device.memory, else: 0.0
    {device.waiting, Float.round(share, 3), device.sessions, device.server, device.index}
  end

  defp down(reason), do: %Error{kind: :server_down, reason: reason, operands: []}

  # All servers at the same time: one that does not answer holds nobody up for long.
  defp ask(servers) do
    tasks = for server <- servers, do: Task.async(fn -> answer(server) end)

    for {server, task} <- Enum.zip(servers, tasks) do
      case Task.yield(task, @timeout) || Task.shutdown(task, :brutal_kill) do
        {:ok, answer} -> {server, answer}
        _ -> {server, {:error, down("#{server} has not answered for #{@timeout} ms")}}
      end
    end
  end

  defp answer(server) do
    {:ok, of_server!(server)}
  rescue
    error in Error -> {:error, error}
  end

  defp of_server!(server) do
    with {:error, error} <- Distribution.connect(server), do: raise(error)
    options = [server: server]
    metrics = NxVulkanGo.metrics(options)
    sessions = NxVulkanGo.sessions(options)

    for device <- NxVulkanGo.devices(options) do
      of = fn name -> metrics |> Map.get(name, %{}) |> Map.get(device.server, 0) |> trunc() end
      waiting = for s <- sessions, s.device == device.index, do: s.waiting

      device
      |> Map.take([:index, :name, :kind, :memory])
      |> Map.merge(%{
        server: server,
        used: of.(:device_used_bytes),
        sessions: of.(:sessions),
        waiting: Enum.sum(waiting)
      })
    end
  end

  defp members do
    :pg.get_members(@scope, :servers)
  rescue
    # The application has not been started.
    ArgumentError -> []
  end

  defp announced(pid) do
    GenServer.call(pid, :announced, @timeout)
  catch
    :exit, _ -> []
  end

  defp call(message) do
    Application.ensure_all_started(:nx_vulkan_go)
    GenServer.call(__MODULE__, message)
  end

  @impl true
  def init(servers) do
    {:ok, _} = :pg.start_link(@scope)
    {:ok, servers}
  end

  @impl true
  def handle_call({:announce, server}, _from, servers) do
    if servers == [], do: :ok = :pg.join(@scope, :servers, self())
    {:reply, :ok, Enum.uniq([server | servers])}
  end

  def handle_call({:withdraw, server}, _from, servers) do
    rest = List.delete(servers, server)
    if rest == [] and servers != [], do: :pg.leave(@scope, :servers, self())
    {:reply, :ok, rest}
  end

  def handle_call(:announced, _from, servers), do: {:reply, servers, servers}
end
