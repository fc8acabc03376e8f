if Code.ensure_loaded?(FLAME.Backend) do
  defmodule NxVulkanGo.PeerRunner do
    @moduledoc false
    # A backend of FLAME whose runners are VMs of this machine, connected to this one, with the same server.
    @behaviour FLAME.Backend

    alias NxVulkanGo.Peer

    @impl true
    def init(options), do: {:ok, Map.new(options)}

    @impl true
    def remote_boot(%{server: server} = state) do
      peer = Peer.start!(server)
      node = :peer.call(peer, :erlang, :node, [])
      parent = FLAME.Parent.new(make_ref(), self(), __MODULE__, "peer", nil)
      {:ok, terminator} = :peer.call(peer, __MODULE__, :boot, [parent])
      send(state.told, {:booted, node})
      {:ok, terminator, Map.put(state, :node, node)}
    end

    @doc "Starts what a runner needs, in its VM."
    def boot(parent) do
      caller = self()

      spawn(fn ->
        {:ok, _} = Application.ensure_all_started(:flame)
        {:ok, supervisor} = DynamicSupervisor.start_link([])
        name = __MODULE__.Terminator

        child =
          Supervisor.child_spec({FLAME.Terminator, name: name, parent: parent},
            restart: :temporary
          )

        {:ok, _} = DynamicSupervisor.start_child(supervisor, child)
        send(caller, {:terminator, Process.whereis(name)})
        Process.sleep(:infinity)
      end)

      receive do
        {:terminator, pid} -> {:ok, pid}
      end
    end

    @impl true
    def remote_spawn_monitor(%{node: node}, fun) when is_function(fun, 0),
      do: {:ok, Node.spawn_monitor(node, fun)}

    def remote_spawn_monitor(%{node: node}, {module, name, arguments}),
      do: {:ok, Node.spawn_monitor(node, module, name, arguments)}

    @doc "Has a runner of a pool make tensors; the runner has this module."
    def tensors(pool, server) do
      FLAME.call(pool, fn ->
        backend = {NxVulkanGo.Backend, server: server}
        %{one: Nx.iota({3}, backend: backend), more: [{Nx.iota({4}, backend: backend), nil}]}
      end)
    end

    @impl true
    def system_shutdown, do: :init.stop()
  end
end
