defmodule Suites do
  @moduledoc """
  The test suites of Nx, EXLA, Axon, Polaris, Scholar, NxSignal and Bumblebee on `NxVulkanGo`.

  The files are those of a checkout, unmodified. They are compiled with a few
  substitutions, all about what a tensor is and where it is computed, none about what
  it holds: see `Suites.Source`. A fallback to `Nx.BinaryBackend`, or of the compiler to
  `Nx.Defn.Evaluator`, fails its test.

  Suites whose name ends in `_numbers` are our own, in `test/`: networks and estimators
  of these packages beside `Nx.BinaryBackend`, and the models of Bumblebee, tiny and with
  parameters that are drawn, since its own tests download theirs. The tokenizers that it
  depends on are a NIF, and here an empty package. The suite `livebooks` runs the livebooks
  of our package from top to bottom.

  The node is one that a suite starts, with `NXVK_NODE_ARGS`, or the one that
  `NXVK_TEST_SERVER` names. Where that was started with `--host-limit 1 --no-warm-up`, the
  device computes whatever it can; otherwise the host computes what is small, as for users.
  Nothing is computed in the VM (`vm_limit: 0`).

  A suite runs on `NxVulkanGo.Backend`, its numerical definitions by `Nx.Defn.Evaluator`;
  those whose name ends in `_compiled`, and that of EXLA, by `compiler: NxVulkanGo`.

  What is known to fail is written in `known/`, by file and test, with its cause.
  A run passes when exactly those fail: a test of the list that passes is as
  wrong as one that fails without being there.
  """

  alias Nx.Defn.Evaluator

  @here Path.expand("..", __DIR__)

  # The others download what they load, or read images by a NIF.
  @bumblebee ~w(bumblebee/conversion/pytorch_loader_test bumblebee/diffusion/ddim_scheduler_test
                bumblebee/diffusion/lcm_scheduler_test bumblebee/diffusion/pndm_scheduler_test
                bumblebee/shared_test bumblebee/text/generation/logits_processing_test
                bumblebee/text/generation_config_test bumblebee/utils/nx_test)
  # Nothing in these passes on Nx.BinaryBackend: their numbers were printed by another Nx.
  @scholar_without ~w(scholar/decomposition/truncated_svd_test scholar/preprocessing/normalizer_test)
  @nx ~w(nx/vectorize_test nx/lin_alg_test nx/random_test nx/defn/grad_test nx/defn/evaluator_test
         nx/defn/kernel_test)

  @suites %{
    "nx" => %{
      app: :nx,
      files:
        @nx ++
          ~w(nx_test nx/non_finite_test nx/serving_test nx/complex_test nx/constants_test
             nx/batch_test nx/floating_test nx/defn_test nx/defn/runtime_call_evaluator_test)
    },
    "nx_compiled" => %{
      app: :nx,
      compiler: NxVulkanGo,
      default_backend: Nx.BinaryBackend,
      files: @nx
    },
    "exla" => %{
      app: :exla,
      compiler: NxVulkanGo,
      # As there: arguments are tensors of it, and it computes what tests expect.
      default_backend: Nx.BinaryBackend,
      # These start clients of XLA.
      without: ~w(test/test_helper.exs test/support/exla_helpers.ex
                  test/support/exla_test_qr_alias_block.ex),
      files: ~w(exla/defn/expr_test exla/defn/vectorize_test exla/defn/runtime_call_test
                exla/defn/api_test exla/nx_linalg_doctest_test exla/random_test)
    },
    "axon" => %{app: :axon, files: :all},
    # Tests that are left out compile nothing.
    "axon_compiled" => %{
      app: :axon,
      compiler: NxVulkanGo,
      files: :all,
      except: ~w(axon/mixed_precision_test axon/shape_test)
    },
    "polaris" => %{app: :polaris, files: :all},
    "polaris_compiled" => %{app: :polaris, compiler: NxVulkanGo, files: :all},
    "scholar" => %{app: :scholar, files: :all, except: @scholar_without},
    "scholar_compiled" => %{
      app: :scholar,
      compiler: NxVulkanGo,
      files: :all,
      except: @scholar_without
    },
    "nx_signal" => %{app: :nx_signal, files: :all},
    "nx_signal_compiled" => %{
      app: :nx_signal,
      compiler: NxVulkanGo,
      files: :all,
      except: ~w(nx_signal/transforms_test)
    },
    "bumblebee" => %{app: :bumblebee, without: ~w(test/test_helper.exs), files: @bumblebee},
    "axon_numbers" => %{app: :axon, root: @here, files: ~w(numbers/axon_test)},
    "bumblebee_numbers" => %{
      app: :bumblebee,
      root: @here,
      files:
        ~w(numbers/bumblebee_test numbers/bumblebee_generation_test numbers/bumblebee_serving_test)
    },
    "livebooks" => %{app: :nx_vulkan_go, root: @here, files: ~w(livebooks/livebook_test)},
    "scholar_numbers" => %{app: :scholar, root: @here, files: ~w(numbers/scholar_test)}
  }

  @doc "The names of the suites whose packages are here."
  def names do
    for {name, %{app: app}} <- Enum.sort(@suites), path = folder(app), File.dir?(path), do: name
  end

  @doc "The files of a suite, relative to its test folder and without extension."
  def files(name) do
    case Map.fetch!(@suites, name) do
      %{files: :all, app: app} = suite ->
        all(Path.join(folder(app), "test")) -- Map.get(suite, :except, [])

      %{files: files} ->
        files
    end
  end

  defp all(tests) do
    for path <- Enum.sort(Path.wildcard(Path.join(tests, "**/*_test.exs"))),
        do: path |> Path.relative_to(tests) |> Path.rootname()
  end

  # The folder of a package, nil where it is not here.
  # EXLA is in the checkout of Nx and is not compiled.
  defp folder(:exla), do: Path.join(Path.dirname(folder(:nx)), "exla")
  defp folder(app), do: Map.get(Mix.Project.deps_paths(), app)

  @doc "The compiler of a suite."
  def compiler(name), do: Map.get(Map.fetch!(@suites, name), :compiler, Evaluator)

  @doc "The backend on which tests run."
  def backend, do: Application.fetch_env!(:suites, :backend)

  @doc "The compiler by which numerical definitions run."
  def compiler, do: Application.fetch_env!(:suites, :compiler)

  @doc """
  Runs one file of a suite on a backend, by a compiler, and returns its outcomes,
  `{module, test, outcome}` with `:passed`, `:skipped` or `{:failed, text}`. Where the
  compiler is `NxVulkanGo` and it has compiled nothing, that is one that failed.

  ExUnit runs once in a VM, and so does this.
  """
  def run(name, file, {backend, compiler}, options) do
    suite = Map.fetch!(@suites, name)
    without = Map.get(suite, :without, [])
    root = Map.get_lazy(suite, :root, fn -> folder(suite.app) end)
    Application.put_all_env(suites: [backend: backend, compiler: compiler])
    Code.put_compiler_option(:ignore_module_conflict, true)
    Application.put_env(:ex_unit, :autorun, false)
    options = [formatters: [Suites.Outcomes], seed: 0] ++ options

    File.cd!(root, fn ->
      # It names nodes, and tests that other backends pass.
      Enum.each(Path.wildcard("test/test_helper.exs") -- without, &Code.eval_file/1)
      ExUnit.start(options)
      sources = (Path.wildcard("test/support/**/*.ex") -- without) ++ ["test/#{file}.exs"]
      modules = Enum.flat_map(sources, &Suites.Source.load/1)
      prepare(Node.list(:connected), modules)
      Nx.global_default_backend(Map.get(suite, :default_backend, backend))
      # The default backend is not set: a serving is told its backend.
      unless compiler == Evaluator, do: Nx.Defn.global_default_options(compiler: compiler)
      programs = count([:nx_vulkan_go, :compile, :stop])
      ExUnit.run()
      Suites.Outcomes.all() ++ idle(compiler, :counters.get(programs, 1))
    end)
  end

  # How often an event has happened since.
  defp count(event) do
    counter = :counters.new(1, [])
    happened = fn _, _, _, _ -> :counters.add(counter, 1, 1) end
    :ok = :telemetry.attach(__MODULE__, event, happened, nil)
    counter
  end

  defp idle(NxVulkanGo, 0),
    do: [{inspect(__MODULE__), "compiles", {:failed, "NxVulkanGo has compiled nothing"}}]

  defp idle(_compiler, _programs), do: []

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
