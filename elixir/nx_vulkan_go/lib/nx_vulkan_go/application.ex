defmodule NxVulkanGo.Application do
  @moduledoc false
  use Application

  @impl true
  def start(_type, _args) do
    NxVulkanGo.Options.check_configuration()

    children = [
      {DynamicSupervisor, name: NxVulkanGo.ConnectionSupervisor, strategy: :one_for_one},
      NxVulkanGo.Distribution,
      NxVulkanGo.Launcher,
      NxVulkanGo.Cluster,
      {DynamicSupervisor, name: NxVulkanGo.SessionSupervisor, strategy: :one_for_one},
      NxVulkanGo.Session.Registry,
      NxVulkanGo.Compiler.LoadedCode,
      NxVulkanGo.Compiler.Cache,
      NxVulkanGo.Compiler.Constants
    ]

    register_smart_cell()

    # Each child relies on those before it, and knows processes of theirs.
    Supervisor.start_link(children, strategy: :rest_for_one, name: NxVulkanGo.Supervisor)
  end

  # Livebook then offers the cell, which is there in builds with Kino.
  defp register_smart_cell do
    with {:module, cell} <- Code.ensure_loaded(NxVulkanGo.SmartCell), do: cell.register()
  end
end
