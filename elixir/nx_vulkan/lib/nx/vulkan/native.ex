defmodule Nx.Vulkan.Native do
  @moduledoc """
  The older name of `Nx.Vulkan.NativeV`, with the functions that eXMC's notebooks use.
  """

  alias Nx.Vulkan.NativeV

  @doc "Returns the name of the device."
  defdelegate device_name, to: NativeV

  @doc "Whether the device computes f64."
  def has_f64, do: NativeV.device_supports_f64()

  @doc "Takes leapfrog steps of one instance, in f32."
  defdelegate leapfrog_chain_synth(q, p, extras, push, k, spv_path), to: NativeV
end
