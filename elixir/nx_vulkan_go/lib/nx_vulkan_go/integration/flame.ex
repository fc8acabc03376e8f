# A FLAME runner that returns a tensor stays alive until its parent has used the tensor,
# and so holds it.
if Code.ensure_loaded?(FLAME.Trackable) do
  defimpl FLAME.Trackable, for: NxVulkanGo.Backend do
    def track(%{id: nil} = scalar, pids, _node), do: {scalar, pids}
    def track(handle, pids, _node), do: {handle, [NxVulkanGo.Session.Lease.start(handle) | pids]}
  end
end
