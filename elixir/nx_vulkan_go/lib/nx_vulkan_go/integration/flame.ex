# A FLAME runner that returns a tensor stays alive until its parent has used the tensor,
# and so holds it. FLAME calls this in the parent, for pools with `track_resources: true`.
if Code.ensure_loaded?(FLAME.Trackable) do
  defimpl FLAME.Trackable, for: NxVulkanGo.Backend do
    alias NxVulkanGo.Session.Lease

    # A scalar that is in the VM.
    def track(%{id: nil} = scalar, pids, _node), do: {scalar, pids}
    # The runner is this VM, whose session has the value.
    def track(handle, pids, node) when node == node(), do: {handle, pids}

    def track(handle, pids, node),
      do: {handle, [:erpc.call(node, Lease, :start, [handle]) | pids]}
  end

  # FLAME looks into tuples, lists and maps, but not into structs.
  unless Code.ensure_loaded?(FLAME.Trackable.Nx.Tensor) do
    defimpl FLAME.Trackable, for: Nx.Tensor do
      def track(%{data: data} = tensor, pids, node) do
        {data, pids} = FLAME.Trackable.track(data, pids, node)
        {%{tensor | data: data}, pids}
      end
    end
  end
end
