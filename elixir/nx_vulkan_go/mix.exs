defmodule NxVulkanGo.MixProject do
  use Mix.Project

  @source_url "https://github.com/nxvk/nxvk"
  @version "0.2.0"

  def project do
    [
      app: :nx_vulkan_go,
      version: @version,
      elixir: "~> 1.17",
      name: "NxVulkanGo",
      description: "Nx on any Vulkan device, local or remote, without native code in the VM",
      elixirc_paths: elixirc_paths(Mix.env()),
      deps: deps(),
      docs: docs(),
      aliases: aliases(),
      package: package(),
      test_ignore_filters: [~r"^test/support/"]
    ]
  end

  def application do
    [
      extra_applications: [:logger, :crypto, ssl: :optional, inets: :optional],
      mod: {NxVulkanGo.Application, []}
    ]
  end

  def cli do
    [preferred_envs: [docs: :docs, "hex.publish": :docs]]
  end

  defp elixirc_paths(:test), do: ["lib", "test/support"]
  defp elixirc_paths(_), do: ["lib"]

  # NX_PATH is a checkout of the Nx repository to build against instead of the
  # release on Hex. Nx's own two dependencies then come from COMPLEX_PATH and
  # TELEMETRY_PATH, or from folders beside the checkout, where these exist.
  #
  # Kino and FLAME are compiled before this package where a project has them, and only
  # then does this package implement their protocols. Beside a checkout of Nx they are
  # taken from folders too, where these exist.
  defp deps do
    [
      nx_dep(System.get_env("NX_PATH"))
      | beside(:complex, "COMPLEX_PATH") ++
          telemetry_dep() ++
          optional(:kino, "~> 0.12") ++ optional(:flame, "~> 0.5") ++ docs_deps()
    ]
  end

  # ExDoc makes the documents: that of Hex, or beside a checkout of Nx those of folders.
  @ex_doc [:ex_doc, :earmark_parser, :makeup, :makeup_elixir, :makeup_erlang, :nimble_parsec]

  defp docs_deps do
    folders = for app <- @ex_doc, do: beside(app, String.upcase("#{app}_PATH"))

    if [] in folders,
      do: [{:ex_doc, "~> 0.34", only: :docs, runtime: false}],
      else: for([{app, options}] <- folders, do: {app, [only: :docs, runtime: false] ++ options})
  end

  defp nx_dep(nil), do: {:nx, "~> 0.13 or ~> 1.0"}
  defp nx_dep(path), do: {:nx, path: Path.join(path, "nx")}

  defp telemetry_dep do
    case beside(:telemetry, "TELEMETRY_PATH") do
      [] -> [{:telemetry, "~> 1.2"}]
      dep -> dep
    end
  end

  defp optional(app, requirement) do
    case {beside(app, String.upcase("#{app}_PATH")), System.get_env("NX_PATH")} do
      {[{app, options}], _} -> [{app, [optional: true] ++ options}]
      {[], nil} -> [{app, requirement, optional: true}]
      {[], _} -> []
    end
  end

  defp beside(app, variable) do
    nx = System.get_env("NX_PATH")
    path = System.get_env(variable) || (nx && Path.join(Path.dirname(nx), Atom.to_string(app)))

    if path && File.dir?(path), do: [{app, path: path, override: true}], else: []
  end

  # A package without the sums of the release could not bring its binary.
  defp aliases do
    for task <- ["hex.build", "hex.publish"], do: {:"#{task}", [&check_checksums!/1, task]}
  end

  defp check_checksums!(_args) do
    unless File.exists?("priv/checksums.txt") and
             File.read!("priv/checksums.txt") =~ "nxvk-node_#{@version}_" do
      Mix.raise(
        "priv/checksums.txt has no sums of #{@version}; run make release in the root of the repository"
      )
    end
  end

  defp package do
    [
      licenses: ["Apache-2.0"],
      links: %{"GitHub" => @source_url},
      files:
        ~w(lib priv/ops.eterm priv/checksums.txt mix.exs README.md CHANGELOG.md LICENSE .formatter.exs)
    ]
  end

  defp docs do
    [
      main: "readme",
      source_url: @source_url,
      source_ref: "v#{@version}",
      extras: extras(),
      groups_for_extras: [
        Start: ~r"guides/(first_tensor|eager_and_compiled|where_numbers_are_computed|memory)",
        Use: ~r"guides/(remote_gpus|compiler|performance|sampling)",
        Operate: ~r"guides/(deployment|trouble)",
        Livebooks: ~r"livebooks/",
        Contributing: ~r"guides/contributing/"
      ],
      skip_undefined_reference_warnings_on: ["CHANGELOG.md"],
      groups_for_modules: [
        Compiling: [NxVulkanGo.Compiler, NxVulkanGo.Explanation],
        Running: [
          NxVulkanGo.Launcher,
          NxVulkanGo.Installer,
          NxVulkanGo.Check,
          NxVulkanGo.Options
        ],
        Internals: [NxVulkanGo.Ops, NxVulkanGo.Session]
      ]
    ]
  end

  # In the order in which one reads them.
  defp extras do
    guides =
      ~w(first_tensor eager_and_compiled where_numbers_are_computed memory remote_gpus compiler
         performance sampling deployment trouble)

    livebooks = ~w(introduction axon bumblebee bayes remote explain)

    ["README.md"] ++
      for(name <- guides, do: "guides/#{name}.md") ++
      for(name <- livebooks, do: "livebooks/#{name}.livemd") ++
      ["guides/contributing/design.md", "CHANGELOG.md"]
  end
end
