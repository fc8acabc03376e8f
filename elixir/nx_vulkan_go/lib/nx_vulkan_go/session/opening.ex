defmodule NxVulkanGo.Session.Opening do
  @moduledoc false
  # How a session begins: the process monitors the device server, opens the session there, and
  # learns how much memory its values may take. See "Sessions and order" in
  # guides/contributing/design.md.

  alias NxVulkanGo.{Distribution, Error, Ops}
  alias NxVulkanGo.Session.{Compatibility, Label}

  # The host device has no known size.
  @unknown_memory 8 * 1024 * 1024 * 1024

  @doc false
  # The session of the calling process at a device server, and the monitor of that. `limits` are
  # those of `Options.session!/0`.
  def open({_name, server} = destination, limits, timeout) do
    monitor = Distribution.monitor(destination)
    answer = call(destination, monitor, {:open, options(limits)}, timeout)

    with {:ok, opened} <- Compatibility.check(answer, server),
         {:ok, memory} <- call(destination, monitor, :memory, timeout) do
      {:ok, destination, monitor, Map.put(opened, :budget, budget(memory))}
    end
  end

  @doc false
  # The server answers `from`; process and tag belong to this VM.
  def ask({_, server} = destination, {pid, tag}, request) do
    from = {Distribution.address(pid, server), Distribution.address(tag, server)}
    Distribution.send(destination, {:"$gen_call", from, request})
  end

  defp options(limits) do
    Map.merge(
      %{
        sweep: true,
        flow: true,
        digest: Ops.digest(),
        label: Label.text(),
        limit: :infinity,
        deadline: :infinity
      },
      limits
    )
  end

  # The bytes that the values of the session may take: its limit, or the memory of the device.
  defp budget(%{session: session, device: device}) do
    case {session[:limit], device[:total]} do
      {limit, _} when is_integer(limit) -> limit
      {_, total} when is_integer(total) and total > 0 -> total
      _ -> @unknown_memory
    end
  end

  defp call(destination, monitor, request, timeout) do
    ask(destination, {self(), monitor}, request)

    receive do
      {^monitor, {:ok, reply}} -> {:ok, reply}
      {^monitor, {:error, error}} -> {:error, Error.from_wire(error)}
      {:DOWN, ^monitor, _, _, reason} -> {:error, unreachable(destination, reason)}
    after
      timeout -> {:error, unreachable(destination, :timeout)}
    end
  end

  defp unreachable({name, node}, :noproc) do
    Error.new(
      :no_device,
      "#{node} has no device server #{name}: NxVulkanGo.devices/1 lists its devices. A device that its driver gave up is opened again within seconds"
    )
  end

  defp unreachable({name, node}, reason) do
    Error.gone("#{name} of #{node}", reason)
  end
end
