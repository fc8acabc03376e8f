defmodule Exmc.MixProject do
  # eXMC's project with dependencies that need no network and no Rust; MIX_EXS names
  # this file, and everything else is eXMC's own checkout. See README.md.
  use Mix.Project

  def project do
    [
      app: :exmc,
      version: "0.3.0",
      elixir: "~> 1.18",
      compilers: [:yecc, :leex | Mix.compilers()],
      config_path: Path.expand("config.exs", __DIR__),
      deps: deps()
    ]
  end

  def application, do: [extra_applications: [:logger]]

  defp deps do
    [
      {:nx, path: Path.join(System.fetch_env!("NX_PATH"), "nx"), override: true},
      {:complex, path: System.fetch_env!("COMPLEX_PATH"), override: true},
      {:telemetry, path: System.fetch_env!("TELEMETRY_PATH"), override: true},
      {:jason, path: System.fetch_env!("JASON_PATH")},
      {:nx_vulkan, path: Path.expand("../../elixir/nx_vulkan", __DIR__)},
      {:rustler, path: Path.expand("rustler", __DIR__)}
    ]
  end
end
