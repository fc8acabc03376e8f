defmodule Nx.Vulkan.VulkanoBackend do
  @moduledoc """
  A name for `NxVulkanGo.Backend`.

      Nx.default_backend(Nx.Vulkan.VulkanoBackend)

  Tensors that are made with it are tensors of `NxVulkanGo.Backend`, with its options
  and its memory management.
  """

  @behaviour Nx.Backend

  alias NxVulkanGo.Backend

  defstruct []

  # Copies and transfers name the backend that they go to.
  @impl true
  def backend_copy(tensor, backend, options),
    do: Backend.backend_copy(tensor, target(backend), options)

  @impl true
  def backend_transfer(tensor, backend, options),
    do: Backend.backend_transfer(tensor, target(backend), options)

  defp target(__MODULE__), do: Backend
  defp target(other), do: other

  Code.ensure_loaded!(Backend)
  callbacks = Nx.Backend.behaviour_info(:callbacks) -- [backend_copy: 3, backend_transfer: 3]

  for {name, arity} <- callbacks, function_exported?(Backend, name, arity) do
    args = Macro.generate_arguments(arity, __MODULE__)
    @impl true
    defdelegate unquote(name)(unquote_splicing(args)), to: Backend
  end
end
