defmodule Nx.Vulkan.MixProject do
  use Mix.Project

  @source_url "https://github.com/nxvk/nxvk"
  @version "0.2.0"

  def project do
    [
      app: :nx_vulkan,
      version: @version,
      elixir: "~> 1.17",
      name: "Nx.Vulkan",
      description: "The names of nx_vulkan, carried out by nx_vulkan_go",
      deps: deps(),
      package: package()
    ]
  end

  def application do
    [extra_applications: [:logger, :crypto], mod: {Nx.Vulkan.Application, []}]
  end

  # NX_PATH, COMPLEX_PATH and TELEMETRY_PATH are those of nx_vulkan_go.
  defp deps do
    [
      {:nx_vulkan_go, path: "../nx_vulkan_go"},
      nx_dep(System.get_env("NX_PATH")) | beside(:complex) ++ beside(:telemetry)
    ]
  end

  defp nx_dep(nil), do: {:nx, "~> 0.13 or ~> 1.0"}
  defp nx_dep(path), do: {:nx, path: Path.join(path, "nx")}

  defp beside(app) do
    nx = System.get_env("NX_PATH")
    variable = "#{String.upcase("#{app}")}_PATH"
    path = System.get_env(variable) || (nx && Path.join(Path.dirname(nx), "#{app}"))
    if path && File.dir?(path), do: [{app, path: path, override: true}], else: []
  end

  defp package do
    [
      licenses: ["Apache-2.0"],
      links: %{"GitHub" => @source_url},
      files: ~w(lib mix.exs README.md LICENSE .formatter.exs)
    ]
  end
end
