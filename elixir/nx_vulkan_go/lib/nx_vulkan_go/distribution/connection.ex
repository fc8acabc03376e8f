defmodule NxVulkanGo.Distribution.Connection do
  @moduledoc false
  # The process of a connection that this package makes to a server. It owns the socket,
  # delivers the messages that come, and keeps monitors in both directions; senders write to
  # the socket themselves (`Link`). It delivers messages to pids that the server was told, and
  # to no names, so nothing that a server sends runs code here.
  #
  # A monitor of a process of the server has the reference of a monitor of this process, so it
  # ends with the process or with the connection.

  use GenServer, restart: :temporary

  alias NxVulkanGo.Distribution.{Dialer, Link}

  # Packets that the socket delivers before it must be armed again.
  @packets 256
  # As the BEAM does by default: a peer that is silent for a minute is lost.
  @tick 15_000
  @silent_ticks 4
  # Packets of this size leave garbage that is worth collecting.
  @large 256 * 1024

  @send 2
  @send_sender 22
  @monitor 19
  @demonitor 20
  @monitor_exit 21

  defstruct [:link, heard: true, silent: 0, watching: %{}, watched: %{}]

  def start_link({node, identity, known}),
    do: GenServer.start_link(__MODULE__, {node, identity, known}, timeout: 60_000)

  @doc "Returns what senders need to use a connection."
  @spec link(pid) :: Link.t()
  def link(pid), do: GenServer.call(pid, :link)

  @doc "Monitors a registered process of the server for the caller."
  @spec monitor(Link.t(), atom) :: reference
  def monitor(%Link{pid: pid}, name) do
    ref = Process.monitor(pid)
    send(pid, {:monitor, self(), name, ref})
    ref
  end

  @doc "Ends a monitor; its message does not come any more."
  @spec demonitor(Link.t(), reference) :: :ok
  def demonitor(%Link{pid: pid}, ref) do
    send(pid, {:demonitor, ref})
    Process.demonitor(ref, [:flush])
    :ok
  end

  @impl true
  def init({node, {name, creation} = identity, known}) do
    case Dialer.dial(node, identity, known) do
      {:ok, transport, socket} ->
        link = %Link{
          pid: self(),
          transport: transport,
          socket: socket,
          name: name,
          creation: creation
        }

        rearm(link)
        Process.send_after(self(), :tick, @tick)
        {:ok, %__MODULE__{link: link}}

      {:error, error} ->
        {:stop, {:shutdown, error}}
    end
  end

  @impl true
  def handle_call(:link, _from, state), do: {:reply, state.link, state}

  @impl true
  def handle_info({kind, _socket, packet}, state) when kind in [:tcp, :ssl] do
    state = handle_packet(packet, %{state | heard: true})
    if byte_size(packet) > @large, do: :erlang.garbage_collect()
    {:noreply, state}
  end

  def handle_info({kind, _socket}, state) when kind in [:tcp_passive, :ssl_passive] do
    rearm(state.link)
    {:noreply, state}
  end

  def handle_info({kind, _socket}, state) when kind in [:tcp_closed, :ssl_closed],
    do: {:stop, {:shutdown, :noconnection}, state}

  def handle_info({kind, _socket, reason}, state) when kind in [:tcp_error, :ssl_error],
    do: {:stop, {:shutdown, reason}, state}

  def handle_info({:monitor, pid, name, ref}, %{link: link} = state) do
    Link.send_control(link, {@monitor, Link.address(link, pid), name, Link.address(link, ref)})
    watching = Map.put(state.watching, ref, {pid, name, Process.monitor(pid)})
    {:noreply, %{state | watching: watching}}
  end

  def handle_info({:demonitor, ref}, state), do: {:noreply, unwatch(state, ref)}

  def handle_info({:DOWN, ref, :process, pid, reason}, state) do
    case Map.pop(state.watched, ref) do
      {nil, _} ->
        {:noreply, forget(state, pid)}

      {{by, theirs}, watched} ->
        address = Link.address(state.link, pid)
        Link.send_control(state.link, {@monitor_exit, address, by, theirs, reason})
        {:noreply, %{state | watched: watched}}
    end
  end

  def handle_info(:tick, %{heard: heard, silent: silent} = state) do
    silent = if heard, do: 0, else: silent + 1
    Process.send_after(self(), :tick, @tick)
    send_tick(state.link)

    if silent >= @silent_ticks,
      do: {:stop, {:shutdown, :net_tick_timeout}, state},
      else: {:noreply, %{state | heard: false, silent: silent}}
  end

  def handle_info(_other, state), do: {:noreply, state}

  defp rearm(%{transport: :gen_tcp, socket: socket}), do: :inet.setopts(socket, active: @packets)
  defp rearm(%{transport: :ssl, socket: socket}), do: :ssl.setopts(socket, active: @packets)

  defp send_tick(%{transport: transport, socket: socket}), do: transport.send(socket, <<>>)

  # Each tick is answered, for servers with shorter intervals.
  defp handle_packet(<<>>, state) do
    send_tick(state.link)
    state
  end

  defp handle_packet(<<first, terms::binary>>, state) do
    ^first = Link.pass_through()
    {control, used} = :erlang.binary_to_term(terms, [:used])

    handle_control(
      control,
      fn -> :erlang.binary_to_term(binary_part_from(terms, used)) end,
      state
    )
  end

  defp binary_part_from(binary, at), do: binary_part(binary, at, byte_size(binary) - at)

  defp handle_control({@send, _, to}, message, state), do: deliver(to, message.(), state)

  defp handle_control({@send_sender, _from, to}, message, state),
    do: deliver(to, message.(), state)

  defp handle_control({@monitor, by, to, theirs}, _message, state) do
    case watchable(to, state.link) do
      nil ->
        Link.send_control(state.link, {@monitor_exit, to, by, theirs, :noproc})
        state

      pid ->
        %{state | watched: Map.put(state.watched, Process.monitor(pid), {by, theirs})}
    end
  end

  defp handle_control({@demonitor, _by, _to, theirs}, _message, state) do
    {gone, watched} = Map.split_with(state.watched, fn {_, {_, ref}} -> ref == theirs end)
    for {ref, _} <- gone, do: Process.demonitor(ref, [:flush])
    %{state | watched: watched}
  end

  defp handle_control({@monitor_exit, _from, _to, ref, reason}, _message, state) do
    ref = Link.localize(state.link, ref)

    with %{^ref => {pid, name, _}} <- state.watching,
         do: send(pid, {:DOWN, ref, :process, name, reason})

    drop(state, ref)
  end

  # Links and exits, which no server sends to this VM, and messages to names.
  defp handle_control(_control, _message, state), do: state

  defp watchable(pid, link) when is_pid(pid) and node(pid) == link.name,
    do: Link.localize(link, pid)

  defp watchable(_other, _link), do: nil

  defp deliver(to, message, %{link: link} = state) do
    send(Link.localize(link, to), answer(message, link))
    state
  end

  # The answer of a call names the reference of its request.
  defp answer({ref, reply}, link) when is_reference(ref), do: {Link.localize(link, ref), reply}
  defp answer(message, _link), do: message

  # Ends a monitor of a process of the server.
  defp unwatch(state, ref) do
    with %{^ref => {pid, name, _}} <- state.watching do
      link = state.link

      Link.send_control(
        link,
        {@demonitor, Link.address(link, pid), name, Link.address(link, ref)}
      )
    end

    drop(state, ref)
  end

  defp drop(state, ref) do
    {entry, watching} = Map.pop(state.watching, ref)
    with {_pid, _name, owner} <- entry, do: Process.demonitor(owner, [:flush])
    %{state | watching: watching}
  end

  # The monitors of a process that has ended.
  defp forget(state, pid) do
    for({ref, {^pid, _, _}} <- state.watching, do: ref) |> Enum.reduce(state, &unwatch(&2, &1))
  end
end
