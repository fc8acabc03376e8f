defmodule NxVulkanGo.Distribution do
  @moduledoc false
  # Carries messages to a server: by the VM's own distribution where the VM has a node name of
  # the server's kind, otherwise by a connection that this package makes. The VM is never
  # renamed. See "The connection" in guides/contributing/design.md.
  #
  # Messages to a server are sent with `send/2`, `monitor/1` and `call/3`. A pid or reference
  # inside of a message must be that of `address/2`.
  #
  # The process makes the connections, one for each server, and forgets those that end.

  use GenServer

  import Kernel, except: [send: 2]

  alias NxVulkanGo.Distribution.{Connection, Dialer, Link}
  alias NxVulkanGo.{Configuration, Error, Launcher}

  @supervisor NxVulkanGo.ConnectionSupervisor
  @timeout 60_000

  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  ## Messages

  @doc "Sends a message to a registered process of a server, or to a pid of one."
  @spec send({atom, node} | pid, term) :: :ok
  def send({name, node} = to, message) do
    case route(node) do
      nil -> Kernel.send(to, message)
      link -> Link.send(link, name, message)
    end

    :ok
  end

  @doc "Returns the pid or reference by which a server knows one of this VM."
  @spec address(pid | reference, node) :: pid | reference
  def address(term, server) do
    case route(server) do
      nil -> term
      link -> Link.address(link, term)
    end
  end

  @doc "Monitors a registered process of a server; its end is `{:DOWN, ref, _, _, reason}`."
  @spec monitor({atom, node}) :: reference
  def monitor({name, node} = to) do
    case route(node) do
      nil -> if reaches?(node), do: Process.monitor(to), else: down(to)
      link -> Connection.monitor(link, name)
    end
  end

  # A VM without a node name cannot connect to other nodes.
  defp reaches?(node), do: Node.alive?() or node == node()

  defp down(to) do
    ref = make_ref()
    Kernel.send(self(), {:DOWN, ref, :process, to, :noconnection})
    ref
  end

  defp demonitor({_name, node}, ref) do
    case route(node) do
      nil -> Process.demonitor(ref, [:flush])
      link -> Connection.demonitor(link, ref)
    end
  end

  @doc "Calls a registered process of a server; exits as `GenServer.call/3` does."
  @spec call({atom, node}, term, timeout) :: term
  def call({_, node} = to, request, timeout) do
    if route(node) == nil and reaches?(node),
      do: GenServer.call(to, request, timeout),
      else: request(to, request, timeout)
  end

  defp request({_name, node} = to, request, timeout) do
    ref = monitor(to)
    send(to, {:"$gen_call", {address(self(), node), address(ref, node)}, request})

    receive do
      {^ref, reply} ->
        demonitor(to, ref)
        reply

      {:DOWN, ^ref, _, _, reason} ->
        exit({reason, {GenServer, :call, [to, request, timeout]}})
    after
      timeout ->
        demonitor(to, ref)
        exit({:timeout, {GenServer, :call, [to, request, timeout]}})
    end
  end

  # The connection of this package's own, where there is one.
  defp route(node), do: :persistent_term.get({__MODULE__, node}, nil)

  ## Connecting

  @doc "Connects to a server."
  @spec connect(node) :: :ok | {:error, Error.t()}
  def connect(node) do
    case route(node) do
      %Link{pid: pid} -> if Process.alive?(pid), do: :ok, else: connect_new(node)
      nil -> connect_new(node)
    end
  end

  defp connect_new(node) when node == node(), do: :ok

  defp connect_new(node) do
    with {:ok, _name, _host} <- Dialer.parts(node), {:ok, known} <- known(node) do
      if vm?(node, known) and vm_connect(node, known.cookie.()),
        do: :ok,
        else: GenServer.call(__MODULE__, {:connect, node, known}, @timeout)
    end
  end

  # Where the VM's own distribution fails, this package's connection is tried; it names the
  # step that failed.
  defp vm_connect(node, cookie) do
    if cookie != Atom.to_string(:erlang.get_cookie(node)),
      do: :erlang.set_cookie(node, String.to_atom(cookie))

    :net_kernel.hidden_connect_node(node) == true
  end

  defp vm?(node, known) do
    Node.alive?() and Configuration.get(:distribution, :vm) == :vm and
      long?(node) == :net_kernel.longnames() and
      (vm_tls?() or known.tls == nil) and not (vm_tls?() and known.place != nil)
  end

  defp long?(node), do: node |> Atom.to_string() |> String.contains?([".", ":"])

  defp vm_tls?, do: match?({:ok, [[~c"inet_tls"] | _]}, :init.get_argument(:proto_dist))

  # Information about a server: see `Dialer`. The cookie is a function, so that no report of
  # an error shows it. A server of this VM's own speaks no TLS, and its port is known.
  defp known(node) do
    case Launcher.access(node) do
      %{} = access -> {:ok, Map.put(access, :tls, nil)}
      nil -> with {:ok, cookie} <- cookie(node), do: {:ok, elsewhere(node, cookie)}
    end
  end

  defp elsewhere(node, cookie) do
    tls = if configured?(node), do: Configuration.get(:tls)
    %{cookie: fn -> cookie end, place: nil, tls: tls}
  end

  defp configured?(node), do: node == Configuration.get(:server) or in_mesh?(node)

  defp in_mesh?(node) do
    Enum.any?(Configuration.get(:mesh, []), fn
      place when is_list(place) -> place[:server] == node
      _device -> false
    end)
  end

  defp cookie(node) do
    cookie = Configuration.get(:cookie)
    if configured?(node) && cookie, do: {:ok, String.trim("#{cookie}")}, else: vm_cookie(node)
  end

  defp vm_cookie(node) do
    case :erlang.get_cookie(node) do
      :nocookie -> given_cookie(node)
      cookie -> {:ok, Atom.to_string(cookie)}
    end
  end

  # The cookie that a VM without a node name would have with one.
  defp given_cookie(node) do
    case :init.get_argument(:setcookie) do
      {:ok, [[cookie | _] | _]} -> {:ok, List.to_string(cookie)}
      _ -> cookie_file(node)
    end
  end

  defp cookie_file(node) do
    path = Path.join(System.user_home() || "", ".erlang.cookie")

    case File.read(path) do
      {:ok, text} ->
        {:ok, String.trim(text)}

      {:error, reason} ->
        {:error,
         Error.new(:no_connection, """
         no cookie for #{node} is known (#{path}: #{:file.format_error(reason)}); nxvk-node names \
         the file with its cookie when it starts: set config :nx_vulkan_go, cookie: "..."\
         """)}
    end
  end

  ## The process

  @impl true
  def init(_), do: {:ok, %{}}

  @impl true
  def handle_call({:connect, node, known}, _from, state) do
    case route(node) do
      %Link{pid: pid} ->
        if Process.alive?(pid), do: {:reply, :ok, state}, else: open(node, known, state)

      nil ->
        open(node, known, state)
    end
  end

  @impl true
  def handle_info({:DOWN, _, :process, pid, _reason}, state) do
    {node, state} = Map.pop(state, pid)

    # There may be another connection already.
    with %Link{pid: ^pid} <- route(node), do: :persistent_term.erase({__MODULE__, node})
    {:noreply, state}
  end

  def handle_info(_other, state), do: {:noreply, state}

  defp open(node, known, state) do
    case DynamicSupervisor.start_child(@supervisor, {Connection, {node, identity(), known}}) do
      {:ok, pid} ->
        Process.monitor(pid)
        :persistent_term.put({__MODULE__, node}, Connection.link(pid))
        {:reply, :ok, Map.put(state, pid, node)}

      {:error, {:shutdown, %Error{} = error}} ->
        {:reply, {:error, error}, state}

      {:error, reason} ->
        error = Error.new(:no_connection, "cannot connect to #{node}: #{inspect(reason)}")
        {:reply, {:error, error}, state}
    end
  end

  # The name and creation by which servers know this VM, as long as it runs.
  defp identity do
    with nil <- :persistent_term.get({__MODULE__, :identity}, nil) do
      {:ok, host} = :inet.gethostname()
      <<creation::32>> = :crypto.strong_rand_bytes(4)
      identity = {:"nx_#{random_hex(6)}@#{host}", max(creation, 4)}
      :persistent_term.put({__MODULE__, :identity}, identity)
      identity
    end
  end

  @doc "Returns a host name of this machine that fits the kind of this VM's node name."
  def loopback, do: if(:net_kernel.longnames() == false, do: "localhost", else: "127.0.0.1")

  @doc "Returns random text of 2n hexadecimal digits."
  def random_hex(n), do: Base.encode16(:crypto.strong_rand_bytes(n), case: :lower)
end
