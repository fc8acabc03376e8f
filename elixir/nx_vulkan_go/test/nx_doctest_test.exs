defmodule NxVulkanGo.NxDoctestTest do
  # The documentation of Nx under this backend. Doctests compare printed text, so
  # a difference in the last digit fails one; what is excluded says why.
  use ExUnit.Case, async: false

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    :ok
  end

  # Results within 2 units in the last place, or sums in another order, not the
  # digits of the C library and the loop that printed the documentation. Host and
  # devices differ in which; this is the union.
  @rounding [acos: 1, acosh: 1, asinh: 1, atan: 1, atan2: 2, atanh: 1, erf: 1, erfc: 1] ++
              [exp: 1, expm1: 1, log: 1, log1p: 1, sigmoid: 1, sin: 1, sinh: 1, tan: 1]
  @rounding_linalg [least_squares: 3, lu: 1, matrix_power: 2]
  @rounding_random [gumbel: 2]

  # Nx.BinaryBackend's erf_inv has seven correct digits; the node has all of them.
  @closer [erf_inv: 1]
  @closer_random [normal: 2, normal: 4, multivariate_normal: 4]

  # The error of a singular matrix is raised where the result is read, and the
  # documentation does not read it.
  @when_read [triangular_solve: 3]

  # Deprecated in favour of pad_outer/3, whose documentation is the same.
  @old_names [reflect: 2]

  doctest Nx, except: @rounding ++ @closer ++ @old_names
  doctest Nx.LinAlg, except: @rounding_linalg ++ @when_read
  doctest Nx.Random, except: @rounding_random ++ @closer_random
  doctest Nx.Constants
end
