defmodule NxVulkanGo.Distribution.Dialer do
  @moduledoc false
  # Opens the socket of a connection: address of the host, port of the name, TCP, TLS,
  # handshake. Each step that can fail has an error of its own, which says what to do.

  alias NxVulkanGo.Distribution.Handshake
  alias NxVulkanGo.Error

  @timeout 10_000
  @epmd 4369
  # Bytes that the socket buffers before senders must wait.
  @high_watermark 8 * 1024 * 1024
  @low_watermark 4 * 1024 * 1024

  @socket [:binary, active: false, nodelay: true, keepalive: true, buffer: 256 * 1024] ++
            [high_watermark: @high_watermark, low_watermark: @low_watermark]

  @typedoc "What is known about a server: its cookie, its address where epmd need not be asked, TLS options."
  @type known :: %{
          cookie: (-> String.t()),
          place: nil | {:inet.ip_address(), :inet.port_number()},
          tls: nil | keyword
        }

  @doc "Opens a socket and shakes hands with `node`; packets of the socket then have a length of four bytes."
  @spec dial(node, {node, non_neg_integer}, known) ::
          {:ok, :gen_tcp | :ssl, term} | {:error, Error.t()}
  def dial(node, identity, known) do
    with {:ok, name, host} <- parts(node),
         {:ok, address, port} <- find(node, name, host, known.place),
         {:ok, socket} <- open(node, address, port),
         {:ok, transport, socket} <- secure(node, socket, host, known.tls) do
      shake(transport, socket, node, identity, known, {address, port})
    end
  end

  @doc "Returns the name and the host of a node."
  @spec parts(node) :: {:ok, String.t(), charlist} | {:error, Error.t()}
  def parts(node) do
    case String.split(Atom.to_string(node), "@") do
      [name, host] when name != "" and host != "" ->
        {:ok, name, String.to_charlist(host)}

      _ ->
        error(~s(#{inspect(node)} is not the name of a node; write it as :"nxvk@host"))
    end
  end

  defp find(_node, _name, _host, {address, port}), do: {:ok, address, port}

  defp find(node, name, host, nil) do
    with {:ok, address} <- resolve(node, host),
         {:ok, port} <- port(node, name, host, address),
         do: {:ok, address, port}
  end

  defp resolve(node, host) do
    with {:error, _} <- :inet.getaddr(host, :inet),
         {:error, reason} <- :inet.getaddr(host, :inet6) do
      error("""
      the host #{host} of #{node} has no address (#{reason}); see that `getent hosts #{host}` finds \
      it, or use the address itself: :"#{node |> Atom.to_string() |> String.replace(~r/@.*/, "@ADDRESS")}"\
      , with the same in --name of nxvk-node\
      """)
    end
  end

  defp port(node, name, host, address) do
    case :erl_epmd.port_please(String.to_charlist(name), address, @timeout) do
      {:port, port, _version} -> {:ok, port}
      :noport -> no_port(node, name, host, address)
      {:error, _} -> no_epmd(node, host)
    end
  end

  # OTP answers `noport` also where there is no epmd.
  defp no_port(node, name, host, address) do
    case :erl_epmd.names(address) do
      {:ok, names} -> not_registered(node, name, host, for({known, _} <- names, do: known))
      {:error, _} -> no_epmd(node, host)
    end
  end

  defp no_epmd(node, host) do
    error("""
    epmd, which knows the port of #{node}, does not answer on port #{epmd_port()} of #{host}; start \
    nxvk-node there with --listen 0.0.0.0, and let port #{epmd_port()} and the port of the node \
    (--port) through the firewall\
    """)
  end

  defp not_registered(node, name, host, names) do
    there =
      if names == [],
        do: "It knows none",
        else: "It knows #{Enum.join(names, ", ")}"

    error("""
    epmd on #{host} does not know the name #{name}. #{there}. Start nxvk-node with --name #{node}, \
    or correct config :nx_vulkan_go, server: ...\
    """)
  end

  defp epmd_port do
    case :init.get_argument(:epmd_port) do
      {:ok, [[port | _] | _]} -> "#{port}"
      _ -> System.get_env("ERL_EPMD_PORT", "#{@epmd}")
    end
  end

  defp open(node, address, port) do
    family = if tuple_size(address) == 8, do: [:inet6], else: [:inet]

    with {:error, reason} <-
           :gen_tcp.connect(address, port, family ++ [packet: 2] ++ @socket, @timeout) do
      error("""
      port #{port} of #{:inet.ntoa(address)}, where #{node} listens according to epmd, does not \
      answer (#{reason}); start nxvk-node there with --listen 0.0.0.0, and let port #{port} through \
      the firewall (--port sets it)\
      """)
    end
  end

  defp secure(_node, socket, _host, nil), do: {:ok, :gen_tcp, socket}

  defp secure(node, socket, host, options) do
    :ok = :inet.setopts(socket, packet: 0)
    defaults = [verify: :verify_peer, server_name_indication: host, log_level: :none]
    options = [packet: 4] ++ Keyword.merge(defaults, options)

    with {:ok, _} <- Application.ensure_all_started(:ssl),
         {:ok, _} = connected <- :ssl.connect(socket, options, @timeout) do
      connected
    end
    |> case do
      {:ok, socket} ->
        {:ok, :ssl, socket}

      {:error, reason} ->
        :gen_tcp.close(socket)
        error(no_tls(node, reason))
    end
  end

  defp no_tls(node, reason) do
    """
    the TLS handshake with #{node} failed: #{alert(reason)}; see that it runs with --tls-cert, and \
    that config :nx_vulkan_go, tls: [cacertfile: ..., certfile: ..., keyfile: ...] suits it\
    """
  end

  defp alert({:tls_alert, {_, text}}), do: text |> to_string() |> String.trim()
  defp alert(text) when is_binary(text), do: text
  defp alert(reason), do: inspect(reason)

  defp shake(transport, socket, node, identity, known, place) do
    case Handshake.run(transport, socket, node, identity, known.cookie.()) do
      :ok ->
        :ok = setopts(transport, socket, packet: 4)
        {:ok, transport, socket}

      {:error, failure} ->
        transport.close(socket)
        error(failed(failure, node, known, place))
    end
  end

  defp setopts(:gen_tcp, socket, options), do: :inet.setopts(socket, options)
  defp setopts(:ssl, socket, options), do: :ssl.setopts(socket, options)

  defp failed(:cookie, node, _known, _place) do
    """
    #{node} has another cookie; give this VM the cookie of the file that nxvk-node names when it \
    starts: config :nx_vulkan_go, cookie: "..."\
    """
  end

  defp failed({:other_name, other}, node, _known, _place),
    do:
      "#{node} calls itself #{other}; use that name: config :nx_vulkan_go, server: :\"#{other}\""

  defp failed({:refused, status}, node, _known, _place),
    do: "#{node} does not let this VM connect: it answers #{inspect(status)}"

  # A server tells of a certificate that it does not trust when the handshake is over.
  defp failed({:handshake, _step, {:tls_alert, _} = reason}, node, _known, _place),
    do: no_tls(node, reason)

  defp failed({:handshake, step, :closed}, node, %{tls: [_ | _]}, _place)
       when step in [:name, :status] do
    no_tls(node, "it broke off, as a server does that does not trust the certificate")
  end

  defp failed({:handshake, step, reason}, node, known, {address, port}) do
    if known.tls == nil and tls?(address, port) do
      """
      #{node} speaks TLS; set config :nx_vulkan_go, tls: [cacertfile: "...", certfile: "...", \
      keyfile: "..."], which are options of :ssl.connect/3\
      """
    else
      """
      #{node} broke off the handshake (#{step}: #{inspect(reason)}); see what nxvk-node says there, \
      and that it is of the same release as this package\
      """
    end
  end

  # A server with TLS answers the greeting of a client, at least with an alert.
  defp tls?(address, port) do
    with {:ok, _} <- Application.ensure_all_started(:ssl),
         {:error, reason} <-
           :ssl.connect(address, port, [verify: :verify_none, log_level: :none], @timeout) do
      match?({:tls_alert, _}, reason)
    else
      {:ok, socket} ->
        :ssl.close(socket)
        true

      _ ->
        false
    end
  end

  defp error(text), do: {:error, Error.new(:no_connection, text)}
end
