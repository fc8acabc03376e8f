defmodule NxVulkanGo.Session.MemoryPressure do
  @moduledoc false
  # Makes room when the memory of the device runs out: the processes that make tensors
  # collect their garbage, then the trackers sweep. The server waits for that, for a short
  # time, before it raises an error.

  alias NxVulkanGo.Session
  alias NxVulkanGo.Session.Tracker

  @collect_timeout 100

  @doc "Starts that; sends `{:swept, ref}` to `reply_to` at its end."
  def start_collection(reply_to, session, callers, ref) do
    spawn(fn ->
      collect(callers)
      Tracker.sweep_and_wait(session, :pressure)
      send(reply_to, {:swept, ref})
    end)
  end

  @doc "Does that on behalf of the calling process, and waits for it."
  def relieve(%Session{pid: pid}) do
    ref = Process.monitor(pid)
    send(pid, {:relieve, self(), ref})

    receive do
      {:swept, ^ref} -> Process.demonitor(ref, [:flush])
      {:DOWN, ^ref, _, _, _} -> :ok
    end
  end

  defp collect(callers) do
    tag = make_ref()
    for pid <- callers, do: :erlang.garbage_collect(pid, async: tag)
    await(length(callers), @collect_timeout, &match?({:garbage_collect, ^tag, _}, &1))
  end

  defp await(count, timeout, match?) do
    deadline = System.monotonic_time(:millisecond) + timeout
    await_until(count, deadline, match?)
  end

  defp await_until(0, _deadline, _match?), do: :ok

  defp await_until(count, deadline, match?) do
    receive do
      message -> await_until(if(match?.(message), do: count - 1, else: count), deadline, match?)
    after
      max(deadline - System.monotonic_time(:millisecond), 0) -> :timeout
    end
  end
end
