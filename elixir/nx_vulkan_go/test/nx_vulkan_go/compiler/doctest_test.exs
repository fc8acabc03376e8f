defmodule NxVulkanGo.Compiler.DoctestTest do
  # The documentation of Nx with NxVulkanGo as the default compiler.
  use ExUnit.Case, async: false

  alias NxVulkanGo.Doctests

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    Nx.Defn.default_options(compiler: NxVulkanGo)
    :ok
  end

  doctest Nx, except: Doctests.except(Nx)
  doctest Nx.Batch
  doctest Nx.Defn

  # These are made of numerical definitions. Compiled, other functions differ in the
  # last digits.
  for module <- [Nx.LinAlg, Nx.Random],
      {:docs_v1, _, _, _, _, _, docs} = Code.fetch_docs(module),
      {{:function, name, arity}, _, _, %{"en" => text}, _} <- docs,
      text =~ "iex>" do
    test "#{inspect(module)}.#{name}/#{arity} as documented, but for the last digits" do
      Doctests.check!(unquote(module), unquote({name, arity}))
    end
  end
end
