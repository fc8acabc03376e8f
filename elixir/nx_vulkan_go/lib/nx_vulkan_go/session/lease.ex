defmodule NxVulkanGo.Session.Lease do
  @moduledoc false
  # Holds a tensor that is on its way to another BEAM node until that node has
  # used it, and so holds it itself; or until it has taken too long.

  alias NxVulkanGo.Session

  @longest :timer.minutes(10)
  # The receiver's import is on its way to the server when its word arrives.
  @grace 1_000

  @doc "Starts one; its pid."
  @spec start(struct) :: pid
  def start(%{session: %Session{pid: stream}, id: id} = handle) do
    pid = spawn(fn -> hold(Process.monitor(stream), handle) end)
    send(stream, {:lease, id, pid})
    pid
  end

  @doc "Tells the lease, if there is one, that another node holds the value."
  def notify_retained(leases, id) do
    {pid, leases} = Map.pop(leases, id)
    if pid, do: Process.send_after(pid, :retained, @grace)
    leases
  end

  defp hold(monitor, handle) do
    receive do
      :retained -> :ok
      {:DOWN, ^monitor, _, _, _} -> :ok
    after
      @longest -> :ok
    end

    Session.keep_alive(handle)
  end
end
