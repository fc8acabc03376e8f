defmodule NxVulkanGo.Distribution.Link do
  @moduledoc false
  # A connection that this package makes to a server, for senders.
  #
  # The server knows this VM by a node name that is not the VM's own. So pids and references
  # for the server get that node name, and those that come back are made local: both are the
  # external term format with another node and creation in it.

  @enforce_keys [:pid, :transport, :socket, :name, :creation]
  defstruct @enforce_keys

  @type t :: %__MODULE__{
          pid: pid,
          transport: :gen_tcp | :ssl,
          socket: term,
          name: node,
          creation: non_neg_integer
        }

  # With atoms in UTF-8, as they are by default since OTP 26.
  @format [minor_version: 2]

  # Tags of the external term format.
  @version 131
  @pid 88
  @reference 90
  @short_atom 119
  @atom 118

  # The first byte of a packet without an atom cache, and control messages.
  @pass_through 112
  @send_by_name 6
  @send_by_pid 22

  @doc "Returns the first byte of a packet."
  def pass_through, do: @pass_through

  @doc "Sends a message to a process of the server; like `send/2` it does not fail."
  @spec send(t, pid | atom, term) :: :ok
  def send(link, to, message) when is_atom(to),
    do: send_packet(link, {@send_by_name, address(link, self()), :"", to}, message)

  def send(link, to, message) when is_pid(to),
    do: send_packet(link, {@send_by_pid, address(link, self()), to}, message)

  defp send_packet(%{transport: transport, socket: socket}, control, message) do
    transport.send(socket, [
      @pass_through,
      :erlang.term_to_binary(control, @format),
      :erlang.term_to_iovec(message, @format)
    ])

    :ok
  end

  @doc "Sends a control message without a payload."
  @spec send_control(t, tuple) :: :ok
  def send_control(%{transport: transport, socket: socket}, control) do
    transport.send(socket, [@pass_through, :erlang.term_to_binary(control, @format)])
    :ok
  end

  @doc "Returns a local pid or reference with the node name that the server knows."
  @spec address(t, pid | reference) :: pid | reference
  def address(%{name: name, creation: creation}, term) do
    {kind, _node, _creation, rest} = split(term)
    join(kind, name, creation, rest)
  end

  @doc "Returns the local pid or reference for one with the node name that the server knows; others are returned unchanged."
  @spec localize(t, pid | reference) :: pid | reference
  def localize(%{name: name}, term) when node(term) == name do
    {kind, _node, _creation, rest} = split(term)
    {_, node, creation, _} = split(self())
    join(kind, node, creation, rest)
  end

  def localize(_link, term), do: term

  defp split(pid) when is_pid(pid) do
    <<@version, @pid, rest::binary>> = :erlang.term_to_binary(pid, @format)
    {node, <<numbers::binary-8, creation::32>>} = atom(rest)
    {:pid, node, creation, numbers}
  end

  defp split(ref) when is_reference(ref) do
    <<@version, @reference, length::binary-2, rest::binary>> =
      :erlang.term_to_binary(ref, @format)

    {node, <<creation::32, numbers::binary>>} = atom(rest)
    {{:reference, length}, node, creation, numbers}
  end

  defp atom(<<@short_atom, size, name::binary-size(size), rest::binary>>),
    do: {:erlang.binary_to_existing_atom(name), rest}

  defp atom(<<@atom, size::16, name::binary-size(size), rest::binary>>),
    do: {:erlang.binary_to_existing_atom(name), rest}

  defp join(:pid, node, creation, numbers) do
    <<@version, name::binary>> = :erlang.term_to_binary(node, @format)
    :erlang.binary_to_term(<<@version, @pid, name::binary, numbers::binary, creation::32>>)
  end

  defp join({:reference, length}, node, creation, numbers) do
    <<@version, name::binary>> = :erlang.term_to_binary(node, @format)

    :erlang.binary_to_term(
      <<@version, @reference, length::binary, name::binary, creation::32, numbers::binary>>
    )
  end
end
