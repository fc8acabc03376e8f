defmodule NxVulkanGo.Distribution.Handshake do
  @moduledoc false
  # The handshake of the Erlang distribution protocol, version 6, for the side that dials.
  # See "Distribution Protocol" in the manual of ERTS.

  # Packets have no atom cache and no fragments; exit reasons are part of the control
  # messages. Without the flag of a published node the server does not announce this one.
  @flags [2, 3, 4, 5, 7, 8, 9, 10, 11, 14, 16, 17, 18, 19, 24, 25, 26, 34]
         |> Enum.map(&Bitwise.bsl(1, &1))
         |> Enum.sum()

  @timeout 10_000

  @type failure ::
          {:handshake, :name | :status | :challenge | :proof, term}
          | {:refused, String.t()}
          | {:other_name, String.t()}
          | :cookie

  @doc """
  Shakes hands with the node `peer` over a socket of two-byte packets (four over TLS).
  `identity` is the name and the creation of this side.
  """
  @spec run(module, term, node, {node, non_neg_integer}, String.t()) :: :ok | {:error, failure}
  def run(transport, socket, peer, identity, cookie) do
    with :ok <- send_name(transport, socket, identity),
         :ok <- status(transport, socket),
         {:ok, challenge, name} <- challenge(transport, socket),
         :ok <- same(name, Atom.to_string(peer)) do
      prove(transport, socket, cookie, challenge)
    end
  end

  defp send_name(transport, socket, {name, creation}) do
    name = Atom.to_string(name)
    packet = <<?N, @flags::64, creation::32, byte_size(name)::16, name::binary>>
    with {:error, reason} <- transport.send(socket, packet), do: broken(:name, reason)
  end

  defp status(transport, socket) do
    case transport.recv(socket, 0, @timeout) do
      {:ok, <<?s, status::binary>>} -> status(transport, socket, status)
      {:ok, other} -> broken(:status, other)
      {:error, reason} -> broken(:status, reason)
    end
  end

  defp status(_transport, _socket, status) when status in ["ok", "ok_simultaneous"], do: :ok

  # The server holds a connection of this VM that is lost.
  defp status(transport, socket, "alive") do
    with {:error, reason} <- transport.send(socket, "strue"), do: broken(:status, reason)
  end

  defp status(_transport, _socket, status), do: {:error, {:refused, status}}

  defp challenge(transport, socket) do
    case transport.recv(socket, 0, @timeout) do
      {:ok,
       <<?N, _flags::64, challenge::32, _creation::32, size::16, name::binary-size(size),
         _::binary>>} ->
        {:ok, challenge, name}

      {:ok, other} ->
        broken(:challenge, other)

      {:error, reason} ->
        broken(:challenge, reason)
    end
  end

  defp same(name, name), do: :ok
  defp same(other, _peer), do: {:error, {:other_name, other}}

  # A server closes the connection after a wrong digest. A server with a wrong answer to
  # our challenge does not know the cookie.
  defp prove(transport, socket, cookie, theirs) do
    ours = fresh(theirs)
    packet = <<?r, ours::32, digest(cookie, theirs)::binary>>

    with :ok <- transport.send(socket, packet),
         {:ok, <<?a, answer::binary-16>>} <- transport.recv(socket, 0, @timeout) do
      if answer == digest(cookie, ours), do: :ok, else: {:error, :cookie}
    else
      {:ok, other} -> broken(:proof, other)
      {:error, reason} when reason in [:closed, :econnreset] -> {:error, :cookie}
      {:error, reason} -> broken(:proof, reason)
    end
  end

  # A challenge equal to the server's would let the server answer with our own digest.
  defp fresh(theirs) do
    <<ours::32>> = :crypto.strong_rand_bytes(4)
    if ours == theirs, do: fresh(theirs), else: ours
  end

  defp digest(cookie, challenge), do: :crypto.hash(:md5, [cookie, Integer.to_string(challenge)])

  defp broken(step, reason), do: {:error, {:handshake, step, reason}}
end
