defmodule Nx.Vulkan.Compiler do
  @moduledoc "A name for the compiler of `NxVulkanGo`; see `NxVulkanGo.Compiler`."

  alias Nx.Defn.Compiler, as: Behaviour

  @behaviour Behaviour

  Code.ensure_loaded!(NxVulkanGo)

  for {name, arity} <- Behaviour.behaviour_info(:callbacks),
      function_exported?(NxVulkanGo, name, arity) do
    args = Macro.generate_arguments(arity, __MODULE__)
    @impl true
    defdelegate unquote(name)(unquote_splicing(args)), to: NxVulkanGo
  end
end
