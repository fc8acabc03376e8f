defmodule Mix.Tasks.NxVulkanGo.Install do
  @shortdoc "Installs the nxvk-node of this package's version"

  @moduledoc """
  Installs the `nxvk-node` that belongs to this package, unless it is installed.

      mix nx_vulkan_go.install
      mix nx_vulkan_go.install --force     # again, also where it is installed

  It prints the path of the program. `NxVulkanGo.Installer` explains where the archive comes
  from, how it is checked, and the configuration. Where `config :nx_vulkan_go, server:` names a
  server, this VM needs no program, and the task installs none.
  """

  use Mix.Task

  alias NxVulkanGo.{Configuration, Installer}

  @requirements ["app.config"]

  @impl true
  def run(args) do
    {options, []} = OptionParser.parse!(args, strict: [force: :boolean])

    case Configuration.get(:server) do
      nil ->
        Mix.shell().info(Installer.install!(options))

      server ->
        Mix.shell().info("config :nx_vulkan_go, server: is #{server}, so nothing is installed")
    end
  rescue
    error in NxVulkanGo.Error -> Mix.raise(Exception.message(error))
  end
end
