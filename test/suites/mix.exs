defmodule Suites.MixProject do
  use Mix.Project

  def project do
    [
      app: :suites,
      version: "0.1.0",
      elixir: "~> 1.17",
      deps: deps(),
      # The suites bring containers of their own.
      consolidate_protocols: false
    ]
  end

  def application, do: [extra_applications: [:logger, :ex_unit]]

  # Every package is a checkout, beside NX_PATH unless a variable says where. Those
  # that are not there have no suite.
  defp deps do
    [
      {:nx_vulkan_go, path: "../../elixir/nx_vulkan_go"},
      {:nx, path: Path.join(checkouts(), "nx"), override: true}
    ] ++
      for name <- [:complex, :telemetry, :nimble_options, :polaris, :axon, :scholar],
          path = checkout(name),
          File.dir?(path),
          do: {name, path: path, override: true}
  end

  defp checkouts do
    System.get_env("NX_PATH") || Mix.raise("NX_PATH must be a checkout of the Nx repository")
  end

  defp checkout(name) do
    System.get_env(String.upcase("#{name}_PATH")) ||
      Path.join(Path.dirname(checkouts()), "#{name}")
  end
end
