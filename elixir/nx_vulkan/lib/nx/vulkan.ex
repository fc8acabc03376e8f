defmodule Nx.Vulkan do
  @moduledoc """
  A replacement for `nx_vulkan`, for programs that depend on it, such as eXMC.

  The modules are thin names for those of `NxVulkanGo`: no NIF is loaded and no shader is
  built in. The device belongs to an `nxvk-node`, which `NxVulkanGo.Launcher` starts or the
  configuration of `:nx_vulkan_go` names. Programs without this dependency use `NxVulkanGo`.

    * `Nx.Vulkan.VulkanoBackend` - `NxVulkanGo.Backend`
    * `Nx.Vulkan.Compiler` - `NxVulkanGo`, the compiler
    * `Nx.Vulkan.NativeV` - leapfrog chains with SPIR-V files, and buffers
    * `Nx.Vulkan.Node` - a guard that returns errors as values
  """

  @doc "Connects to the server. Starts a server where none is configured."
  @spec init :: :ok | {:error, String.t()}
  def init do
    NxVulkanGo.connect()
    :ok
  rescue
    error in NxVulkanGo.Error -> {:error, Exception.message(error)}
  end

  @doc "Returns the name of the device, or `nil` where there is none."
  @spec device_name :: String.t() | nil
  def device_name, do: with(%{name: name} <- device(), do: name)

  @doc "Whether the device computes f64."
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
