defmodule NxVulkanGo.Launcher.Executable do
  @moduledoc false
  # Finds the program; see NxVulkanGo.Launcher for the order.

  alias NxVulkanGo.Error
  alias NxVulkanGo.Launcher.Build

  @name "nxvk-node"

  @doc "Returns the path of the program; raises `NxVulkanGo.Error` with the ways to get it."
  def find! do
    configured() || System.find_executable(@name) || built() || existing(packaged()) ||
      raise Error.new(:not_installed, """
            nxvk-node, the server that owns the GPU, is not installed. Do one of:

              * put nxvk-node in the PATH
              * config :nx_vulkan_go, binary: "/path/to/nxvk-node", or set NXVK_NODE
              * install Go 1.21 or later, which fetches the release it needs, and use this package from a checkout of its repository
              * config :nx_vulkan_go, server: :"nxvk@host" for a server on another machine\
            """)
  end

  defp configured do
    path = Application.get_env(:nx_vulkan_go, :binary) || System.get_env("NXVK_NODE")

    cond do
      path in [nil, ""] ->
        nil

      File.exists?(path) ->
        path

      true ->
        raise Error.new(
                :not_installed,
                "there is no nxvk-node at #{path}; correct #{where()}"
              )
    end
  end

  defp where do
    if Application.get_env(:nx_vulkan_go, :binary),
      do: "config :nx_vulkan_go, binary: ...",
      else: "NXVK_NODE"
  end

  defp packaged, do: Application.app_dir(:nx_vulkan_go, Path.join(["priv", "bin", @name]))
  defp existing(path), do: if(File.exists?(path), do: path)

  # The checkout is two folders above the package.
  defp built do
    root = Path.expand("../../../../..", __DIR__)
    go = System.find_executable("go")

    if go && File.dir?(Path.join(root, "cmd/#{@name}")),
      do: Build.run!(go, root, @name, packaged())
  end
end
