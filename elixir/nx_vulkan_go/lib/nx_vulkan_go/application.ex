defmodule NxVulkanGo.Application do
  @moduledoc false
  use Application

  @impl true
  def start(_type, _args) do
    NxVulkanGo.Options.check_configuration()

    children = [
      NxVulkanGo.Launcher,
      {DynamicSupervisor, name: NxVulkanGo.SessionSupervisor, strategy: :one_for_one},
      NxVulkanGo.Sessions,
      NxVulkanGo.Compiler.Cache,
      NxVulkanGo.Compiler.Captured
    ]

    Supervisor.start_link(children, strategy: :one_for_one, name: NxVulkanGo.Supervisor)
  end
end
