defmodule NxVulkanGo.Installer.Platform do
  @moduledoc false
  # Names the system of this VM as the archives of a release do: linux_amd64.

  alias NxVulkanGo.Error

  @doc "Returns the name of this VM's system; raises `NxVulkanGo.Error` where no archive fits it."
  @spec name!() :: String.t()
  def name! do
    architecture = :erlang.system_info(:system_architecture) |> List.to_string()
    name!(:os.type(), architecture, :erlang.system_info(:wordsize) * 8)
  end

  @doc "Names a system by its `:os.type/0`, its architecture as Erlang calls it, and its bits."
  @spec name!({atom, atom}, String.t(), pos_integer) :: String.t()
  def name!({_family, os} = type, architecture, bits) do
    if os == :linux and architecture =~ "musl" do
      raise Error.new(:not_installed, """
            there is no nxvk-node for #{architecture}, because the archives for Linux need glibc; use an image \
            with glibc, such as Debian's, or build it from its source, by CGO_ENABLED=0 go build -ldflags \
            "-I /lib/ld-musl-#{architecture |> String.split("-") |> hd()}.so.1" ./cmd/nxvk-node, and name it by \
            config :nx_vulkan_go, binary:\
            """)
    end

    case {system(type), processor(type, architecture, bits)} do
      {system, processor} when is_binary(system) and is_binary(processor) ->
        "#{system}_#{processor}"

      _ ->
        raise unknown("#{os}, #{architecture}")
    end
  end

  @doc "The error of a system that no archive is for."
  def unknown(system) do
    Error.new(:not_installed, """
    there is no nxvk-node for this system (#{system}); build it from its source with Go and set \
    config :nx_vulkan_go, binary: "/path/to/nxvk-node", or use one on another machine by server:\
    """)
  end

  @doc "The name of the program."
  @spec program() :: String.t()
  def program,
    do: if(match?({:win32, _}, :os.type()), do: "nxvk-node.exe", else: "nxvk-node")

  defp system({:unix, :linux}), do: "linux"
  defp system({:unix, :freebsd}), do: "freebsd"
  defp system({:unix, :darwin}), do: "darwin"
  defp system({:win32, _}), do: "windows"
  defp system(_), do: nil

  # Erlang calls the architecture of each Windows win32.
  defp processor({:win32, _}, _architecture, 64), do: "amd64"

  defp processor(_type, architecture, 64) do
    case architecture |> String.split("-") |> hd() do
      name when name in ["x86_64", "amd64"] -> "amd64"
      # Erlang writes arm of some builds for macOS.
      name when name in ["aarch64", "arm64", "arm"] -> "arm64"
      _ -> nil
    end
  end

  defp processor(_type, _architecture, _bits), do: nil
end
