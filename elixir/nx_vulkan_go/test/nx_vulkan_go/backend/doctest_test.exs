defmodule NxVulkanGo.Backend.DoctestTest do
  # The documentation of Nx under this backend; NxVulkanGo.Doctests says what is left
  # out, and why.
  use ExUnit.Case, async: false

  alias NxVulkanGo.Doctests

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    :ok
  end

  doctest Nx, except: Doctests.except(Nx)
  doctest Nx.LinAlg, except: Doctests.except(Nx.LinAlg)
  doctest Nx.Random, except: Doctests.except(Nx.Random)
  doctest Nx.Constants
  doctest Nx.Batch

  for module <- [Nx, Nx.LinAlg, Nx.Random],
      {name, arity} = function <- Doctests.except(module) do
    test "#{inspect(module)}.#{name}/#{arity} as documented, but for the last digits" do
      assert Doctests.check!(unquote(module), unquote(function)) <=
               Doctests.digits(unquote(module), unquote(function))
    end
  end
end
