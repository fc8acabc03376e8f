defmodule NxVulkanGo.Launcher.Executable do
  @moduledoc false
  # Finds the program; see NxVulkanGo.Launcher for the order.

  alias NxVulkanGo.{Configuration, Error, Installer, Options}
  alias NxVulkanGo.Installer.Platform
  alias NxVulkanGo.Launcher.Build

  @name "nxvk-node"

  @doc "Returns the path of the program; raises `NxVulkanGo.Error` with the ways to get it."
  def find! do
    configured() || System.find_executable(@name) || built() || existing(packaged()) ||
      Installer.installed() || installed!()
  end

  defp configured do
    path = Configuration.get(:binary) || System.get_env("NXVK_NODE")

    cond do
      path in [nil, ""] ->
        nil

      File.dir?(path) ->
        raise Error.new(
                :not_installed,
                "#{path} is a folder; write the path of nxvk-node itself#{inside(path)} in #{where()}"
              )

      File.exists?(path) ->
        path

      true ->
        raise Error.new(
                :not_installed,
                "there is no nxvk-node at #{path}; correct #{where()}"
              )
    end
  end

  defp inside(folder) do
    path = Path.join(folder, Platform.program())
    if File.regular?(path), do: ", #{path},", else: ""
  end

  defp where do
    if Configuration.get(:binary),
      do: "config :nx_vulkan_go, binary: ...",
      else: "NXVK_NODE"
  end

  defp packaged,
    do: Application.app_dir(:nx_vulkan_go, Path.join(["priv", "bin", Platform.program()]))

  defp existing(path), do: if(File.exists?(path), do: path)

  # The checkout is two folders above the package.
  defp built do
    root = Path.expand("../../../../..", __DIR__)
    go = System.find_executable("go")

    if go && File.dir?(Path.join(root, "cmd/#{@name}")),
      do: Build.run!(go, root, @name, packaged())
  end

  # A release, and whoever wants no downloads, gets the ways to have the program before.
  defp installed! do
    if Installer.archives?() and Options.install?() and not Installer.release?(),
      do: Installer.install!(),
      else: raise(not_installed())
  end

  defp not_installed do
    Error.new(:not_installed, """
    nxvk-node, the server that owns the GPU, is not installed. Do one of:
    #{Enum.map_join(ways(), &"\n  * #{&1}")}\
    """)
  end

  defp ways do
    first =
      cond do
        not Installer.archives?() ->
          "install Go 1.21 or later, which fetches the release it needs, and use this package from a checkout of its repository"

        Installer.release?() ->
          "add the step &NxVulkanGo.Installer.into_release/1 to the release, which takes nxvk-node along"

        true ->
          "run mix nx_vulkan_go.install (config :nx_vulkan_go, install: false keeps this VM from it)"
      end

    [
      first,
      "put nxvk-node in the PATH",
      ~s(config :nx_vulkan_go, binary: "/path/to/nxvk-node", or set NXVK_NODE),
      ~s(config :nx_vulkan_go, server: :"nxvk@host" for a server on another machine)
    ]
  end

  @doc "Says how to have the program of this package's version in place of the one at `path`."
  @spec replacement(Path.t()) :: String.t()
  def replacement(path) do
    cond do
      path == Configuration.get(:binary) ->
        "run `mix nx_vulkan_go.install`, and remove config :nx_vulkan_go, binary: or write there the path that it prints"

      path == System.get_env("NXVK_NODE") ->
        "run `mix nx_vulkan_go.install`, and unset NXVK_NODE or set it to the path that is printed"

      path == System.find_executable(@name) ->
        "run `mix nx_vulkan_go.install`, and remove #{path} from the PATH or set NXVK_NODE to the path that is printed"

      path == packaged() ->
        "remove #{path}, and run `mix nx_vulkan_go.install`"

      true ->
        "run `mix nx_vulkan_go.install --force`"
    end
  end
end
