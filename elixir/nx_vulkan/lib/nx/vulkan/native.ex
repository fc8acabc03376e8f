defmodule Nx.Vulkan.Native do
  @moduledoc """
  The older name of `Nx.Vulkan.NativeV`, as far as eXMC's notebooks use it.
  """

  alias Nx.Vulkan.NativeV

  @doc "The name of the device."
  defdelegate device_name, to: NativeV

  @doc "Whether the device computes f64."
  def has_f64, do: NativeV.device_supports_f64()

  @doc "Leapfrog steps of one instance, in f32."
  defdelegate leapfrog_chain_synth(q, p, extras, push, k, spv_path), to: NativeV
end
