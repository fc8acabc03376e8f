defmodule NxVulkanGo.Overview do
  @moduledoc false
  # What a server does, as tables for people: the rows that LiveDashboard and Livebook show.

  alias NxVulkanGo.{Error, Launcher}

  @doc "Returns `:ok`, or why there is nothing to show. It starts no server."
  @spec state(keyword) :: :ok | String.t()
  def state(options) do
    server = options[:server] || Application.get_env(:nx_vulkan_go, :server)

    if server || Launcher.os_pid() do
      answer(fn ->
        NxVulkanGo.connect(options)
        :ok
      end)
    else
      "No server runs: the first operation starts one."
    end
  end

  @doc "Returns the rows of a table, or why there are none."
  @spec rows(:devices | :sessions | :kernels | :fallbacks | :chains, keyword) :: [map] | String.t()
  def rows(table, options), do: answer(fn -> table(table, options) end)

  @doc "Closes the session of that `:id` in the rows of sessions; returns what happened."
  @spec close(String.t(), keyword) :: String.t()
  def close(id, options) do
    answer(fn ->
      case Enum.find(NxVulkanGo.sessions(options), &(id(&1) == id)) do
        nil ->
          "The session has ended already."

        session ->
          NxVulkanGo.close_session(session, options)
          "The session #{session.label} is closed."
      end
    end)
  end

  defp answer(fun) do
    fun.()
  rescue
    error in Error -> Exception.message(error)
  end

  defp id(%{device: device, pid: pid}), do: "#{device} #{inspect(pid)}"

  defp table(:devices, options) do
    metrics = NxVulkanGo.metrics(options)

    for device <- NxVulkanGo.devices(options) do
      of = fn name -> metrics[name] |> Map.get(device.server, 0.0) |> trunc() end

      device
      |> Map.take([:index, :name, :kind, :driver, :memory])
      |> Map.merge(%{
        used: of.(:device_used_bytes),
        sessions: of.(:sessions),
        queued: of.(:device_queued_messages)
      })
    end
  end

  defp table(:sessions, options) do
    for session <- NxVulkanGo.sessions(options) do
      Map.merge(session, %{id: id(session), owner: inspect(session.pid)})
    end
  end

  defp table(:fallbacks, options) do
    metrics = NxVulkanGo.metrics(options)

    for device <- NxVulkanGo.devices(options) do
      for {field, name} <- [
            instructions: :instructions_total,
            host: :host_instructions_total,
            fallbacks: :fallbacks_total,
            refused: :refused_kernels_total,
            failed: :failed_total
          ],
          into: %{device: device.index},
          do: {field, metrics[name] |> Map.get(device.server, 0.0) |> trunc()}
    end
  end

  defp table(:kernels, options), do: NxVulkanGo.kernels(options)
  defp table(:chains, options), do: NxVulkanGo.chains(options)
end
