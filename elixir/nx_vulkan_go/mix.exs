defmodule NxVulkanGo.MixProject do
  use Mix.Project

  @source_url "https://github.com/nxvk/nxvk"
  @version "0.2.0"

  # Optional libraries, their versions on Hex, and what each needs where it comes from a folder.
  @optional [
    {:kino, "~> 0.12", [:table, :fss]},
    {:flame, "~> 0.5", []},
    {:opentelemetry_api, "~> 1.2", []},
    {:phoenix_live_dashboard, "~> 0.8",
     [:phoenix_live_view, :phoenix, :phoenix_html, :phoenix_template, :phoenix_pubsub, :plug] ++
       [:plug_crypto, :mime, :websock, :websock_adapter, :telemetry_metrics]}
  ]

  # What their tests need besides, with the library that is tested.
  @test [
    {:opentelemetry, "~> 1.3", :opentelemetry_api},
    {:floki, "~> 0.36", :phoenix_live_dashboard},
    {:jason, "~> 1.4", :phoenix_live_dashboard}
  ]

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
  # Optional libraries are compiled before this package where a project has them, and only
  # then does it have the modules for them. Beside a checkout of Nx each is taken from its
  # folder (KINO_PATH, …), where that and the folders of what it needs exist.
  defp deps do
    [
      nx_dep(System.get_env("NX_PATH"))
      | beside(:complex, "COMPLEX_PATH") ++
          telemetry_dep() ++ Enum.flat_map(@optional, &optional/1) ++ test_deps() ++ docs_deps()
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
  defp nx_dep(path), do: {:nx, path: Path.join(path, "nx"), override: true}

  defp telemetry_dep do
    case beside(:telemetry, "TELEMETRY_PATH") do
      [] -> [{:telemetry, "~> 1.2"}]
      dep -> dep
    end
  end

  defp optional({app, requirement, needs}) do
    folders = Enum.map([app | needs], &{&1, beside(&1)})

    cond do
      System.get_env("NX_PATH") == nil -> [{app, requirement, optional: true}]
      Enum.any?(folders, fn {_, dep} -> dep == [] end) -> []
      true -> for {_, [{app, options}]} <- folders, do: {app, [optional: true] ++ options}
    end
  end

  defp test_deps do
    for {app, requirement, library} <- @test,
        Enum.any?(@optional, &(elem(&1, 0) == library and optional(&1) != [])),
        dep <- test_dep(System.get_env("NX_PATH"), app, requirement),
        do: dep
  end

  defp test_dep(nil, app, requirement), do: [{app, requirement, only: :test, runtime: false}]

  defp test_dep(_, app, _) do
    for {app, options} <- beside(app), do: {app, [only: :test, runtime: false] ++ options}
  end

  defp beside(app), do: beside(app, String.upcase("#{app}_PATH"))

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
        Use: ~r"guides/(several_devices|remote_gpus|compiler|performance|sampling)",
        Operate: ~r"guides/(deployment|trouble)",
        Livebooks: ~r"livebooks/",
        Contributing: ~r"guides/contributing/"
      ],
      skip_undefined_reference_warnings_on: ["CHANGELOG.md"],
      groups_for_modules: [
        Compiling: [NxVulkanGo.Compiler, NxVulkanGo.Explanation],
        Watching: [
          NxVulkanGo.Overview,
          NxVulkanGo.Telemetry,
          NxVulkanGo.OpenTelemetry,
          NxVulkanGo.LiveDashboard,
          NxVulkanGo.SmartCell
        ],
        Running: [
          NxVulkanGo.Launcher,
          NxVulkanGo.Cluster,
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
      ~w(first_tensor eager_and_compiled where_numbers_are_computed memory several_devices remote_gpus compiler
         performance sampling deployment trouble)

    livebooks = ~w(introduction axon bumblebee bayes remote explain)

    ["README.md"] ++
      for(name <- guides, do: "guides/#{name}.md") ++
      for(name <- livebooks, do: "livebooks/#{name}.livemd") ++
      ["guides/contributing/design.md", "CHANGELOG.md"]
  end
end
