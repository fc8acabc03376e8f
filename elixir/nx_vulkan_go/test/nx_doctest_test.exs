defmodule NxVulkanGo.NxDoctestTest do
  # The documentation of Nx under this backend. Doctests compare printed text, so
  # a difference in the last digit fails one; what is excluded says why.
  use ExUnit.Case, async: false

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    :ok
  end

  # Results within a unit in the last place of f64, not those of the C library that
  # printed the documentation.
  @rounding [acos: 1, acosh: 1, log: 1, log1p: 1, sin: 1, tan: 1]

  # The node factors f32 in f64 and rounds once; the documentation shows the errors of
  # loops in f32. linalg_test.exs has the properties of the results.
  @rounding_linalg [cholesky: 1, determinant: 1, eigh: 2, least_squares: 3, lu: 1] ++
                     [matrix_power: 2, pinv: 2, qr: 2, solve: 2, svd: 2]

  # Nx.BinaryBackend's erf_inv has seven correct digits; the node has all of them.
  @closer [erf_inv: 1]
  @closer_random [normal: 4, multivariate_normal: 4]

  # The error of a singular matrix is raised where the result is read, and the
  # documentation does not read it.
  @when_read [triangular_solve: 3]

  doctest Nx, except: @rounding ++ @closer
  doctest Nx.LinAlg, except: @rounding_linalg ++ @when_read
  doctest Nx.Random, except: @closer_random
  doctest Nx.Constants

  # Of equal eigenvalues rounding says which comes first.
  @ties %{{:eigh, 2} => "[2, 2, 3]"}

  for {module, list} <- [
        {Nx, @rounding ++ @closer},
        {Nx.LinAlg, @rounding_linalg ++ @when_read},
        {Nx.Random, @closer_random}
      ],
      {name, arity} = function <- list do
    test "#{inspect(module)}.#{name}/#{arity} as documented, but for the last digits" do
      except = @ties[unquote(function)]
      NxVulkanGo.Examples.check!(unquote(module), unquote(function), 2.0e-5, except)
    end
  end
end
