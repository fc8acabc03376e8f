defmodule Nx.Vulkan.Application do
  @moduledoc false
  use Application

  @impl true
  def start(_type, _args) do
    Supervisor.start_link([Nx.Vulkan.Shaders, Nx.Vulkan.Buffers],
      strategy: :one_for_one,
      name: Nx.Vulkan.Supervisor
    )
  end
end
