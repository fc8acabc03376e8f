defmodule NxVulkanGo.Launcher.Binary do
  @moduledoc false
  # Where the program is; see NxVulkanGo.Launcher for the order.

  @name "nxvk-node"

  @doc "The path of the program, or an `ArgumentError` that says how to get it."
  def find! do
    configured() || System.find_executable(@name) || built() || existing(packaged()) ||
      raise ArgumentError, """
      nxvk-node, the server that owns the GPU, is not installed. Do one of:

        * put nxvk-node in the PATH
        * config :nx_vulkan_go, binary: "/path/to/nxvk-node", or set NXVK_NODE
        * install Go 1.21 or later, which fetches the release it needs, and use this package from a checkout of its repository
        * config :nx_vulkan_go, server: :"nxvk@host" for a server on another machine
      """
  end

  defp configured do
    path = Application.get_env(:nx_vulkan_go, :binary) || System.get_env("NXVK_NODE")

    cond do
      path in [nil, ""] ->
        nil

      File.exists?(path) ->
        path

      true ->
        raise ArgumentError, "there is no nxvk-node at #{path}, where the configuration says"
    end
  end

  defp packaged, do: Application.app_dir(:nx_vulkan_go, Path.join(["priv", "bin", @name]))
  defp existing(path), do: if(File.exists?(path), do: path)

  # The checkout is two folders above the package. It is built each time: the
  # sources may have changed, and go knows whether they have.
  defp built do
    root = Path.expand("../../../../..", __DIR__)
    go = System.find_executable("go")

    if go && File.dir?(Path.join(root, "cmd/#{@name}")), do: build!(go, root)
  end

  defp build!(go, root) do
    target = packaged()
    File.mkdir_p!(Path.dirname(target))

    # Some systems keep go from fetching the release that go.mod asks for.
    toolchain = System.get_env("GOTOOLCHAIN") || "auto"

    case System.cmd(go, ["build", "-o", target, "./cmd/#{@name}"],
           cd: root,
           env: [{"GOTOOLCHAIN", toolchain}],
           stderr_to_stdout: true
         ) do
      {_, 0} -> target
      {output, _} -> raise ArgumentError, "building nxvk-node failed:\n" <> output
    end
  end
end
