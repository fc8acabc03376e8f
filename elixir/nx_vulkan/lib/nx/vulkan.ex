defmodule Nx.Vulkan do
  @moduledoc """
  The names of `nx_vulkan`, for programs that depend on it, such as eXMC.

  Everything here is a thin name for `NxVulkanGo`: no NIF is loaded and no shader is
  built in. The device is that of an `nxvk-node`, which `NxVulkanGo.Launcher` starts or
  the configuration of `:nx_vulkan_go` names. New programs use `NxVulkanGo` itself.

    * `Nx.Vulkan.VulkanoBackend` - `NxVulkanGo.Backend`
    * `Nx.Vulkan.Compiler` - `NxVulkanGo`, the compiler
    * `Nx.Vulkan.NativeV` - leapfrog chains of SPIR-V files, and buffers
    * `Nx.Vulkan.Node` - a guard around calls
  """

  @doc "Connects to the server, starting it where it is this VM's own."
  @spec init :: :ok | {:error, String.t()}
  def init do
    NxVulkanGo.connect()
    :ok
  rescue
    error in NxVulkanGo.Error -> {:error, Exception.message(error)}
  end

  @doc "The name of the device, or `nil` where there is none."
  @spec device_name :: String.t() | nil
  def device_name, do: with(%{name: name} <- device(), do: name)

  @doc "Whether the device computes numbers of 64 bits."
  @spec has_f64? :: boolean
  def has_f64? do
    case device() do
      %{types: types} -> :f64 in types
      nil -> false
    end
  end

  @doc "Compiles a function; see `Nx.Vulkan.Compiler`."
  @spec jit(fun, keyword) :: fun
  def jit(fun, options \\ []),
    do: Nx.Defn.jit(fun, Keyword.put(options, :compiler, Nx.Vulkan.Compiler))

  defp device do
    index = Application.get_env(:nx_vulkan_go, :device, 0)
    Enum.find(NxVulkanGo.devices(), &(&1.index == index))
  end
end
