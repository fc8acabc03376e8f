defmodule NxVulkanGo.Distribution do
  @moduledoc false
  # Makes this VM able to connect to a server: a VM that is not distributed
  # becomes a hidden node that listens on no port and asks no epmd for a name.

  alias NxVulkanGo.Error

  @doc "Starts distribution unless it runs."
  def ensure_started! do
    unless Node.alive?() do
      options = %{name_domain: :longnames, dist_listen: false, hidden: true}

      case :net_kernel.start(:"nx_#{random(6)}@127.0.0.1", options) do
        {:ok, _} -> Node.set_cookie(String.to_atom(random(24)))
        {:error, {:already_started, _}} -> :ok
        {:error, reason} -> raise Error.new(:server_down, started(reason))
      end
    end

    :ok
  end

  defp started(reason), do: "cannot make this VM distributed: #{inspect(reason)}"

  @doc "A host of this machine that nodes of this VM's kind of names can have."
  def loopback, do: if(:net_kernel.longnames() == false, do: "localhost", else: "127.0.0.1")

  @doc "Connects to a node."
  def connect(node) do
    ensure_started!()
    set_cookie(node, Application.get_env(:nx_vulkan_go, :cookie))

    if :net_kernel.hidden_connect_node(node) == true do
      :ok
    else
      {:error,
       Error.new(:server_down, """
       cannot connect to #{node} from #{node()}; see that nxvk-node runs there, that its epmd \
       answers, that both have the same cookie (config :nx_vulkan_go, cookie: ...), and that both \
       have names of the same kind (long ones have a dot in the host)\
       """)}
    end
  end

  defp set_cookie(_node, nil), do: :ok

  defp set_cookie(node, cookie) do
    if node == Application.get_env(:nx_vulkan_go, :server),
      do: Node.set_cookie(node, :"#{cookie}"),
      else: :ok
  end

  @doc "Random lower-case text of 2n characters."
  def random(n), do: Base.encode16(:crypto.strong_rand_bytes(n), case: :lower)
end
