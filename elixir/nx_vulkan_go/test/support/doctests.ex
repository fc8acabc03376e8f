defmodule NxVulkanGo.Doctests do
  @moduledoc false
  # Doctests compare printed text, so a difference in the last digit fails one. These are
  # the functions of Nx whose examples are not run as doctests, by the reason.

  # Results within a unit in the last place of f64, mostly nearer than those of the C
  # library and of the formulas that printed the documentation.
  @rounding [acos: 1, acosh: 1, atanh: 1, erfc: 1, expm1: 1, sigmoid: 1, sinh: 1]

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

  # Of equal eigenvalues rounding says which comes first.
  @ties %{{Nx.LinAlg, {:eigh, 2}} => "[2, 2, 3]"}

  # Kernels keep to 2 units in the last place of f32, where the host rounds once. Other
  # devices may round others of these.
  @on_devices [atan: 1, atan2: 2, exp: 1, log: 1, log1p: 1, phase: 1]
  @on_devices_random [gumbel: 2]

  @doc "The functions of a module that are no doctests. Their examples hold but for the last digits."
  def except(Nx), do: @rounding ++ @closer ++ on_devices(@on_devices)
  def except(Nx.LinAlg), do: @rounding_linalg ++ @when_read
  def except(Nx.Random), do: @closer_random ++ on_devices(@on_devices_random)

  # Whether the tests run on a device that computes whatever it can.
  defp device?, do: System.get_env("NXVK_TEST_DEVICE") != nil

  defp on_devices(functions), do: if(device?(), do: functions, else: [])

  # How many of their examples print other digits than the documentation: 10 of Nx, 22 of
  # Nx.LinAlg, 4 of Nx.Random. The others print the same.
  @digits %{
    Nx => [acos: 1, acosh: 1, atanh: 1, erfc: 1, expm1: 2, sigmoid: 1, sinh: 1, erf_inv: 2],
    Nx.LinAlg =>
      [cholesky: 3, determinant: 4, eigh: 2, least_squares: 3, lu: 3, matrix_power: 2] ++
        [pinv: 1, qr: 1, solve: 2, svd: 1, triangular_solve: 0],
    Nx.Random => [normal: 2, multivariate_normal: 2]
  }

  @doc "How many examples of a function may print other digits than the documentation."
  def digits(module, {name, _}) do
    if device?(), do: :infinity, else: @digits |> Map.fetch!(module) |> Keyword.fetch!(name)
  end

  @doc """
  Checks the examples of a function but for the last digits, and returns how many print others
  than the documentation.
  """
  def check!(module, function),
    do: NxVulkanGo.Examples.check!(module, function, 2.0e-5, @ties[{module, function}])
end
