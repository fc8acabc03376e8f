defmodule NxVulkanGo.OptionsTest do
  # What is misspelt is refused, wherever options are taken; what Nx, EXLA and Axon know is not.
  use NxVulkanGo.FakeCase, async: false

  alias NxVulkanGo.{Backend, Configuration, Options}

  defp refused(text, fun) do
    error = assert_raise ArgumentError, fun
    assert error.message =~ text
  end

  test "options of the backend", %{place: place} do
    host = Nx.tensor([1, 2], backend: Nx.BinaryBackend)
    there = Nx.backend_copy(host, {Backend, place})
    bad = {Backend, [devce: 0] ++ place}

    for fun <- [
          fn -> Nx.default_backend(bad) end,
          fn -> Nx.with_default_backend(bad, fn -> :ok end) end,
          fn -> Nx.tensor(1, backend: bad) end,
          fn -> Nx.tensor([1, 2, 3], backend: bad) end,
          fn -> Nx.iota({3}, backend: bad) end,
          fn -> Nx.eye(3, backend: bad) end,
          fn -> Nx.from_binary(<<1, 2>>, :u8, backend: bad) end,
          fn -> Nx.backend_copy(host, bad) end,
          fn -> Nx.backend_copy(there, bad) end,
          fn -> Nx.backend_transfer(host, bad) end,
          fn -> Nx.backend_transfer(there, bad) end,
          fn -> Nx.backend_transfer(Nx.tensor(1, backend: {Backend, place}), bad) end
        ] do
      refused("has no option :devce; did you mean :device?", fun)
    end

    # A transfer that is refused leaves the tensor.
    assert Nx.to_flat_list(there) == [1, 2]
    refused(":device must be the index", fn -> Nx.tensor([1], backend: {Backend, device: -1}) end)

    refused(":server must be the name", fn ->
      Nx.tensor([1], backend: {Backend, server: "a@b"})
    end)
  end

  test "options of the functions that look at servers" do
    for fun <- [:devices, :info, :sessions, :memory, :sync, :sweep, :connect] do
      refused("has no option :sever; did you mean :server?", fn ->
        apply(NxVulkanGo, fun, [[sever: node()]])
      end)
    end
  end

  test "options of the compiler", %{place: place} do
    for {misspelt, meant} <- [devise: :device, hoks: :hooks, callback_timout: :callback_timeout] do
      options = [{misspelt, 0}, {:compiler, NxVulkanGo}] ++ place
      text = "has no option #{inspect(misspelt)}; did you mean #{inspect(meant)}?"
      refused(text, fn -> Nx.Defn.jit(&Nx.add(&1, 1), options).(1) end)
      refused(text, fn -> Nx.Defn.compile(&Nx.add(&1, 1), [Nx.template({}, :s32)], options) end)
      refused(text, fn -> NxVulkanGo.explain(&Nx.add(&1, 1), [1], options) end)
      refused(text, fn -> NxVulkanGo.__to_backend__(options) end)
      refused(text, fn -> NxVulkanGo.__partitions_options__(options) end)
    end

    refused("did you mean :profile?", fn ->
      NxVulkanGo.explain(&Nx.add(&1, 1), [1], [profle: true] ++ place)
    end)

    refused("has no option :profile;", fn ->
      Nx.Defn.jit_apply(&Nx.add(&1, 1), [1], [compiler: NxVulkanGo, profile: true] ++ place)
    end)
  end

  test "options of others are ignored, as the documents list them", %{place: place} do
    {:docs_v1, _, _, _, %{"en" => text}, _, _} = Code.fetch_docs(Options)
    [_, text] = String.split(text, "Options of other libraries")
    [text, _] = String.split(text, "All others raise")

    listed =
      for [_, name] <- Regex.scan(~r/`:([a-z_]+)`/, text), do: String.to_existing_atom(name)

    assert length(listed) > 20

    for name <- [EXLA | listed], name not in [:on_conflict, :compiler] do
      options = [{:compiler, NxVulkanGo}, {name, nil}] ++ place
      assert Nx.to_number(Nx.Defn.jit_apply(&Nx.add(&1, 1), [1], options)) == 2
    end
  end

  test "keys of the configuration" do
    assert capture(fn -> Options.check_configuration() end) == ""
    Application.put_env(:nx_vulkan_go, :falback, :warn)
    on_exit(fn -> Application.delete_env(:nx_vulkan_go, :falback) end)

    assert capture(fn -> Options.check_configuration() end) =~
             "config :nx_vulkan_go has no key :falback; did you mean :fallback?"
  end

  test "values of the configuration that a session cannot have" do
    for {key, bad, good} <- [
          {:weight, [0, 101, 1.5, :infinity, nil], [1, 10, 100]},
          {:limit, [0, -1, "1 GB", nil], [1, :infinity]},
          {:deadline, [0, 0.5, nil], [250, :infinity]}
        ] do
      on_exit(fn -> Application.delete_env(:nx_vulkan_go, key) end)

      for value <- good do
        Application.put_env(:nx_vulkan_go, key, value)
        assert Options.session!() == %{key => value}
      end

      for value <- bad do
        Application.put_env(:nx_vulkan_go, key, value)
        refused("config :nx_vulkan_go, #{key}: must be ", fn -> Options.session!() end)
        # It is raised to whoever opens a session, and the next one is opened.
        refused(inspect(value), fn -> Nx.tensor([1], backend: {Backend, device: 77}) end)
      end

      Application.delete_env(:nx_vulkan_go, key)
    end
  end

  # For each key values that it has, and one of each kind of mistake.
  @values [
    server: {[nil, :nxvk@gpubox], ["nxvk@gpubox", ~c"nxvk@gpubox", true]},
    cookie: {["abc", :abc], [1, ~c"abc", <<255>>]},
    device: {[0, 3, :auto], ["0", -1, :gpu]},
    limit: {[1, :infinity], ["1 GB", 0, 1.0e9]},
    deadline: {[250, :infinity], ["1 s", 0]},
    weight: {[1, 100], [0, 101, 1.5]},
    fallback: {[:warn, :silent, :raise], [true, "raise"]},
    check: {[:none, :debug, :each], [true, :all]},
    binary: {["/bin/nxvk-node", ~c"/bin/nxvk-node"], [1, :nxvk, ""]},
    install: {[true, false], ["no", :none]},
    base_url: {["https://mirror", "file:///srv"], ["mirror", 1]},
    install_dir: {["/srv"], [:srv, 1]},
    node_args: {[[], ["--device", "host"]], ["--device host", [~c"--device"], [device: 0]]},
    start_timeout: {[60_000], ["60", 0, :infinity]},
    tls: {[[], [cacertfile: "ca.pem"]], [true, "ca.pem"]},
    distribution: {[:vm, :own], [true, :tcp]},
    label: {["training", :training], [1, <<255>>]},
    allow_shaders: {[true, false], ["yes", 1]},
    matrix: {[:hardware, :ordered], [true, :orderly]},
    mesh:
      {[[0, 1], [[server: :nxvk@one], [server: :nxvk@two, device: 3]]],
       [:one, [], [-1], [[gpu: 0]], [[server: "one"]]]},
    vm_limit: {[0, 128], [-1, "128", :infinity]},
    add_backend_on_inspect: {[true, false], [:no]},
    check_shape_and_type: {[true, false], [:no]}
  ]

  test "each key of the configuration names what it takes" do
    assert Enum.sort(Keyword.keys(@values)) == Enum.sort(Options.configuration())

    for {key, {good, bad}} <- @values do
      kept = Application.fetch_env(:nx_vulkan_go, key)

      try do
        for value <- good do
          Application.put_env(:nx_vulkan_go, key, value)
          assert Configuration.check!() == :ok
        end

        for value <- bad do
          Application.put_env(:nx_vulkan_go, key, value)
          # Whatever asks for a server first: a report, or an operation.
          for fun <- [
                fn -> NxVulkanGo.devices() end,
                fn -> Nx.iota({200}, backend: {Backend, device: 78}) end
              ],
              do: refused("config :nx_vulkan_go, #{key}: must be ", fun)

          error = assert_raise ArgumentError, fn -> Configuration.get(key) end
          assert error.message =~ "got: #{inspect(value)}"
        end
      after
        case kept do
          {:ok, value} -> Application.put_env(:nx_vulkan_go, key, value)
          :error -> Application.delete_env(:nx_vulkan_go, key)
        end
      end
    end
  end

  test "modules in the place of others" do
    refused("the backend is NxVulkanGo.Backend", fn -> Nx.default_backend(NxVulkanGo) end)

    refused("the backend is NxVulkanGo.Backend", fn ->
      Nx.backend_copy(Nx.tensor(1), NxVulkanGo)
    end)

    for module <- [NxVulkanGo.Compiler, Backend] do
      refused("compiler: NxVulkanGo", fn ->
        Nx.Defn.jit_apply(&Nx.sin/1, [1], compiler: module)
      end)

      refused("compiler: NxVulkanGo", fn -> Nx.Defn.compile(&Nx.sin/1, [1], compiler: module) end)
    end
  end

  defp capture(fun), do: ExUnit.CaptureLog.capture_log(fun)

  test "the package reads no key of the configuration that is not known" do
    for path <- Path.wildcard("lib/**/*.ex"),
        [_, key] <-
          Regex.scan(
            ~r/(?:_env!?\(\s*:nx_vulkan_go,\s*|Configuration\.get\():([a-z_]+)/,
            File.read!(path)
          ),
        do: assert(String.to_atom(key) in Options.configuration(), "#{path}: #{key}")
  end
end
