defmodule Suites do
  @moduledoc """
  The test suites of Nx, Axon, Polaris and Scholar on `NxVulkanGo.Backend`.

  The files are those of a checkout, unmodified. They are compiled with three
  substitutions, all about what a tensor is and none about what it holds: see
  `Suites.Source`. A fallback to `Nx.BinaryBackend` fails its test.

  What is known to fail is written in `known/`, by file and test, with its cause.
  A run passes when exactly those fail: a test of the list that passes is as
  wrong as one that fails without being there.
  """

  @suites %{
    "nx" => %{
      app: :nx,
      files: ~w(nx_test nx/non_finite_test nx/vectorize_test nx/lin_alg_test nx/serving_test
                nx/random_test nx/complex_test nx/defn/grad_test nx/defn/evaluator_test)
    },
    "axon" => %{
      app: :axon,
      files: ~w(axon/layers_test axon/compiler_test axon/loop_test axon/integration_test
                axon/activations_test axon/losses_test axon/metrics_test)
    },
    "polaris" => %{app: :polaris, files: ~w(polaris/updates_test polaris/optimizers_test)},
    "scholar" => %{
      app: :scholar,
      files: ~w(scholar/linear/linear_regression_test scholar/cluster/k_means_test
                scholar/decomposition/pca_test)
    }
  }

  @doc "The names of the suites whose packages are here."
  def names do
    for {name, %{app: app}} <- Enum.sort(@suites),
        Map.has_key?(Mix.Project.deps_paths(), app),
        do: name
  end

  @doc "The files of a suite, relative to its test folder and without extension."
  def files(name), do: Map.fetch!(@suites, name).files

  @doc "The folder of a suite's package."
  def root(name), do: Map.fetch!(Mix.Project.deps_paths(), Map.fetch!(@suites, name).app)

  @doc "The backend on which tests run."
  def backend, do: Application.fetch_env!(:suites, :backend)

  @doc """
  Runs one file of a suite on a backend and returns its outcomes,
  `{module, test, outcome}` with `:passed`, `:skipped` or `{:failed, text}`.

  ExUnit runs once in a VM, and so does this.
  """
  def run(name, file, backend, options) do
    root = root(name)
    Application.put_env(:suites, :backend, backend)
    Code.put_compiler_option(:ignore_module_conflict, true)
    Application.put_env(:ex_unit, :autorun, false)
    options = [formatters: [Suites.Outcomes], seed: 0] ++ options

    File.cd!(root, fn ->
      # It names nodes, and tests that other backends pass.
      Code.eval_file("test/test_helper.exs")
      ExUnit.start(options)
      sources = Path.wildcard("test/support/**/*.ex") ++ ["test/#{file}.exs"]
      modules = Enum.flat_map(sources, &Suites.Source.load/1)
      prepare(Node.list(:connected), modules)
      Nx.global_default_backend(backend)
      ExUnit.run()
    end)

    Suites.Outcomes.all()
  end

  # The nodes that a helper started get what they would find on disk, and may use the
  # server of this one.
  defp prepare([], _modules), do: :ok

  defp prepare(peers, modules) do
    [_ | _] = NxVulkanGo.devices()
    servers = Node.list(:connected) -- peers

    for peer <- peers do
      for {module, binary} <- modules do
        {:module, ^module} = :erpc.call(peer, :code, :load_binary, [module, ~c"nofile", binary])
      end

      for server <- servers,
          do: :erpc.call(peer, Node, :set_cookie, [server, :erlang.get_cookie(server)])

      {:ok, _} = :erpc.call(peer, Application, :ensure_all_started, [:nx_vulkan_go])
    end
  end
end
