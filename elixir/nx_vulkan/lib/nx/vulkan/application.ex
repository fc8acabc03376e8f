defmodule Nx.Vulkan.Application do
  @moduledoc false
  use Application

  @impl true
  def start(_type, _args) do
    # Densities are shaders of the client. The first operation starts the server, after this.
    if Application.get_env(:nx_vulkan_go, :allow_shaders) == nil,
      do: Application.put_env(:nx_vulkan_go, :allow_shaders, true)

    Supervisor.start_link([Nx.Vulkan.Shaders, Nx.Vulkan.Buffers],
      strategy: :one_for_one,
      name: Nx.Vulkan.Supervisor
    )
  end
end
