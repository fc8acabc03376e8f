defmodule NxVulkanGo.Session.Lease do
  @moduledoc false
  # Holds a tensor that is on its way to another BEAM node, until that node has imported the
  # value or ten minutes have passed. FLAME starts it for the tensors that a runner returns.

  alias NxVulkanGo.Session
  alias NxVulkanGo.Session.Tracker

  @longest :timer.minutes(10)
  # Milliseconds: the receiver's import is still on its way to the server when its message
  # arrives.
  @grace 1_000

  @doc """
  Starts the process of a lease on the node of the session; returns its pid. The handle may be a copy that has come from another
  node, while the original is held.
  """
  @spec start(struct) :: pid
  def start(%{session: %Session{pid: stream}, id: id} = handle) when node(stream) == node() do
    token = Tracker.token(handle)
    pid = spawn(fn -> hold(Process.monitor(stream), token) end)
    send(stream, {:lease, id, pid})
    pid
  end

  @doc "Tells the lease of a value, if there is one, that another node holds the value."
  def notify_retained(leases, id) do
    {pid, leases} = Map.pop(leases, id)
    if pid, do: Process.send_after(pid, :retained, @grace)
    leases
  end

  defp hold(monitor, token) do
    receive do
      :retained -> :ok
      {:DOWN, ^monitor, _, _, _} -> :ok
    after
      @longest -> :ok
    end

    Session.keep_alive(token)
  end
end
