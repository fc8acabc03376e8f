defmodule NxVulkanGo.Session.Compatibility do
  @moduledoc false
  # Compares the version of a server with that of this package. The node compares the tables of
  # operations. Node, protocol and package are released together, under one version.

  alias NxVulkanGo.{Error, Launcher, Ops}
  alias NxVulkanGo.Launcher.Executable

  @version Mix.Project.config()[:version]

  @doc "Returns what `open` has answered, or an error that says what to install."
  @spec check({:ok, map} | {:error, Error.t()}, node) :: {:ok, map} | {:error, Error.t()}
  def check({:ok, %{version: version}} = opened, server) do
    # A version may name the commit of the build: 0.2.0+1a2b3c4.
    if version |> String.split("+") |> hd() == @version,
      do: opened,
      else: {:error, incompatible(server, "is of version #{version}")}
  end

  def check({:error, %Error{kind: :bad_argument, reason: reason}} = error, server) do
    if reason =~ "op table",
      do: {:error, incompatible(server, "has another table of operations: #{reason}")},
      else: error
  end

  def check(answer, _server), do: answer

  defp incompatible(server, how) do
    {name, remedy} =
      case Launcher.program(server) do
        nil ->
          {"nxvk-node of #{server}",
           "install nxvk-node #{@version} there, or nx_vulkan_go of its version here"}

        program ->
          {program, Executable.replacement(program)}
      end

    Error.new(
      :incompatible,
      "#{name} #{how}, and this nx_vulkan_go is of version #{@version} (digest #{Ops.digest()}); #{remedy}"
    )
  end
end
