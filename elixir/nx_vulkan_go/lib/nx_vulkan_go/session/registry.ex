defmodule NxVulkanGo.Session.Registry do
  @moduledoc false
  # Finds the session of a device, and opens it where there is none. This process is the
  # only one that opens sessions, so there is one for each device. Callers find open sessions
  # without it. It closes a session whose process has ended, however that came about.

  use GenServer

  alias NxVulkanGo.{Cluster, Configuration, Distribution, Launcher, Options, Session}

  @supervisor NxVulkanGo.SessionSupervisor
  # Starting a server may include building it.
  @timeout :timer.minutes(30)

  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "Returns the session for backend options; opens it, or raises `NxVulkanGo.Error`."
  @spec fetch!(keyword) :: Session.t()
  def fetch!(options) do
    key = {options[:server], options[:device]}
    session = :persistent_term.get({__MODULE__, key}, nil)
    session = if session && not Session.closed?(session), do: session, else: open!(key)
    announce(session)
  end

  @doc "Tells the session, once, that the calling process makes values."
  @spec announce(Session.t()) :: Session.t()
  def announce(%Session{pid: pid} = session) do
    key = {__MODULE__, session.server, session.device}
    announced = {self(), pid}

    # A process may start with a copy of this dictionary, as evaluators of Livebook do.
    if Process.get(key) != announced do
      Process.put(key, announced)
      send(pid, {:caller, self()})
    end

    session
  end

  @doc "Returns the session of this VM for the device of another VM's session."
  def fetch_counterpart!(%Session{server: server, device: device}),
    do: fetch!(server: server, device: device)

  # Milliseconds between attempts to connect to this VM's own server, and in all: the server
  # may have died a moment ago, or be waiting for an epmd that ended with another server.
  @pause 100
  @patience 10_000

  @doc "Connects to the server of the options, the configuration or the launcher; returns its name."
  @spec fetch_server!(nil | node) :: node
  def fetch_server!(server) do
    ensure_started!()
    Configuration.check!()

    case server || Configuration.get(:server) do
      nil -> connect_own!(@patience)
      server -> check_connected!(server, Distribution.connect(server))
    end
  end

  defp connect_own!(patience) do
    server = Launcher.ensure!()

    case Distribution.connect(server) do
      {:error, _} when patience > 0 ->
        Process.sleep(@pause)
        connect_own!(patience - @pause)

      answer ->
        check_connected!(server, answer)
    end
  end

  defp check_connected!(server, :ok), do: server
  defp check_connected!(_server, {:error, error}), do: raise(error)

  # Mix tasks and code that runs while compiling may come before the application.
  defp ensure_started! do
    unless Process.whereis(__MODULE__), do: Application.ensure_all_started(:nx_vulkan_go)
    :ok
  end

  defp open!(key) do
    ensure_started!()

    case GenServer.call(__MODULE__, {:open, key, Process.group_leader()}, @timeout) do
      {:ok, session} -> session
      {:error, error} -> raise error
    end
  end

  # Sessions that a registry before this one has opened go on.
  @impl true
  def init(_) do
    sessions = for {{__MODULE__, _key}, session} <- :persistent_term.get(), do: session
    {:ok, Enum.reduce(sessions, %{}, &watch(&2, {:ok, &1}))}
  end

  @impl true
  def handle_call({:open, {server, device} = key, group_leader}, _from, state) do
    session = :persistent_term.get({__MODULE__, key}, nil)

    if session && not Session.closed?(session) do
      {:reply, {:ok, session}, state}
    else
      device = device || Configuration.get(:device, 0)
      # The least used device is looked for once: the session stays there.
      answer = Launcher.with_output_to(group_leader, fn -> open(key, server, device) end)
      {:reply, answer, watch(state, answer)}
    end
  end

  @impl true
  def handle_info({:DOWN, _, :process, pid, _}, state) do
    {session, state} = Map.pop(state, pid)
    if session, do: close(session)
    {:noreply, state}
  end

  def handle_info(_other, state), do: {:noreply, state}

  defp close(session) do
    Session.close(session)
    Session.Tracker.forget(session)
  end

  defp watch(state, {:ok, %Session{pid: pid} = session}) do
    unless is_map_key(state, pid), do: Process.monitor(pid)
    Map.put(state, pid, session)
  end

  defp watch(state, _error), do: state

  defp open(key, server, device) do
    server = fetch_server!(server)

    with {:ok, session} <- find_or_start(server, placed(server, device)) do
      :persistent_term.put({__MODULE__, key}, session)
      {:ok, session}
    end
  rescue
    error in [NxVulkanGo.Error, ArgumentError] -> {:error, error}
  end

  defp placed(server, :auto), do: Cluster.least_used!(server)
  defp placed(_server, device), do: device

  # Different options may name the same device.
  defp find_or_start(server, device) do
    name = {__MODULE__, server, device}
    session = :persistent_term.get(name, nil)

    if session && not Session.closed?(session) do
      {:ok, session}
    else
      with {:ok, _pid, session} <- start(server, device) do
        :persistent_term.put(name, session)
        {:ok, session}
      end
    end
  end

  defp start(server, device) do
    DynamicSupervisor.start_child(
      @supervisor,
      {Session.Stream, {server, device, Options.session!()}}
    )
  end
end
