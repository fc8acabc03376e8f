defmodule NxVulkanGo.CompilerDoctestTest do
  # The examples of the modules of Nx that are made of defn, compiled. They are
  # compared as numbers: nx_doctest_test.exs says how the last digits differ.
  use ExUnit.Case, async: false

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    Nx.Defn.default_options(compiler: NxVulkanGo)
    :ok
  end

  # Of equal eigenvalues rounding says which comes first.
  @ties %{{:eigh, 2} => "[2, 2, 3]"}

  for module <- [Nx.LinAlg, Nx.Random],
      {:docs_v1, _, _, _, _, _, docs} = Code.fetch_docs(module),
      {{:function, name, arity}, _, _, %{"en" => text}, _} <- docs,
      text =~ "iex>" do
    test "#{inspect(module)}.#{name}/#{arity}" do
      except = @ties[unquote({name, arity})]
      NxVulkanGo.Examples.check!(unquote(module), unquote({name, arity}), 2.0e-5, except)
    end
  end

  doctest Nx.Defn
end
