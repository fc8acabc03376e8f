defmodule Suites.MixProject do
  use Mix.Project

  def project do
    [
      app: :suites,
      version: "0.1.0",
      elixir: "~> 1.17",
      # The VM that runs the cells of a livebook is in the tests of the package.
      elixirc_paths: [
        "lib",
        Path.expand("../../elixir/nx_vulkan_go/test/support/notebook", __DIR__)
      ],
      deps: deps(),
      # The suites bring containers of their own. Elsewhere a protocol that is not consolidated asks the code
      # server at each use: a call with two hundred parameters takes milliseconds longer.
      consolidate_protocols: Mix.env() != :test
    ]
  end

  def cli, do: [preferred_envs: [suite: :test]]

  def application, do: [extra_applications: [:logger, :ex_unit]]

  @suites [:complex, :telemetry, :nimble_options, :polaris, :axon, :scholar, :nx_signal]
  # What Bumblebee needs besides, without its NIF: it has a suite where all of them are.
  @bumblebee [:bumblebee, :axon, :nx_signal, :nx_image, :unpickler, :safetensors] ++
               [:jason, :unzip, :progress_bar, :decimal]
  # What livebooks need besides.
  @livebooks [:table, :fss, :kino, :vega_lite, :kino_vega_lite]

  # Every package is a checkout, beside NX_PATH unless a variable says where. Those
  # that are not there have no suite, and a livebook that needs one is not run.
  defp deps do
    [
      {:nx_vulkan_go, path: "../../elixir/nx_vulkan_go"},
      {:nx, path: Path.join(checkouts(), "nx"), override: true}
    ] ++ Enum.map(Enum.uniq(Enum.filter(@suites, &here?/1) ++ bumblebee() ++ livebooks()), &dep/1)
  end

  defp bumblebee,
    do: if(Enum.all?(@bumblebee, &here?/1), do: [:tokenizers | @bumblebee], else: [])

  defp livebooks, do: if(Enum.all?(@livebooks, &here?/1), do: @livebooks, else: [])

  defp here?(name), do: File.dir?(checkout(name))

  defp dep(:tokenizers), do: {:tokenizers, path: "tokenizers", override: true}
  defp dep(name), do: {name, path: checkout(name), override: true}

  defp checkouts do
    System.get_env("NX_PATH") || Mix.raise("NX_PATH must be a checkout of the Nx repository")
  end

  defp checkout(name) do
    System.get_env(String.upcase("#{name}_PATH")) ||
      Path.join(Path.dirname(checkouts()), "#{name}")
  end
end
