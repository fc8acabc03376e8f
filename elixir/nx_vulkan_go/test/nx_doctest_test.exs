defmodule NxVulkanGo.NxDoctestTest do
  # The documentation of Nx under this backend. Doctests compare printed text, so
  # a difference in the last digit fails one; what is excluded says why.
  use ExUnit.Case, async: false

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    :ok
  end

  # f64 results within 2 units in the last place, not the digit of the C library
  # that printed the documentation.
  @rounding [acos: 1, acosh: 1, log: 1, log1p: 1, sin: 1, tan: 1]

  # Nx.BinaryBackend's erf_inv has seven correct digits; the node has all of them.
  @closer [erf_inv: 1]
  @closer_random [normal: 2, normal: 4, multivariate_normal: 4]

  doctest Nx, except: @rounding ++ @closer ++ [:moduledoc]
  doctest Nx.LinAlg
  doctest Nx.Random, except: @closer_random
  doctest Nx.Constants
end
