defmodule NxVulkanGo.Launcher.ScriptsTest do
  # Programs as users run them: each makes a tensor, then defines a module, and
  # prints what that computes. The compiler keeps pids between the two, so the VM
  # must be the same node throughout.
  use ExUnit.Case, async: true

  @moduletag :tmp_dir
  @moduletag :launched

  @program """
  t = Nx.tensor([1, 2, 3], backend: NxVulkanGo.Backend)

  defmodule Doubled do
    import Nx.Defn
    defn add_one(t), do: t * 2 + 1
  end

  compiled = Nx.Defn.jit(&Doubled.add_one/1, compiler: NxVulkanGo)
  IO.puts("eager " <> inspect(Nx.to_list(Doubled.add_one(t))))
  IO.puts("compiled " <> inspect(Nx.to_list(compiled.(t))) <> " on " <> inspect(node()))
  """

  @started "{:ok, _} = Application.ensure_all_started(:nx_vulkan_go)\n"

  setup %{tmp_dir: dir} do
    path = Path.join(dir, "program.exs")
    File.write!(path, @started <> @program)
    {:ok, path: path}
  end

  # The application need not be started by hand where Mix has done so.
  test "mix run", %{path: path} do
    File.write!(path, @program)
    assert computed(mix(["run", "--no-compile", path])) =~ "on :nonode@nohost"
  end

  test "elixir, a script", %{path: path} do
    assert computed(elixir([path])) =~ "on :nonode@nohost"
  end

  test "elixir, text on the command line", %{path: path} do
    assert computed(elixir(["-e", File.read!(path)])) =~ "on :nonode@nohost"
  end

  test "elixir, with a short name and with a long one", %{path: path} do
    quiet = ["--erl", "-dist_listen false -start_epmd false"]
    name = "program_#{NxVulkanGo.Distribution.random_hex(4)}"
    assert computed(elixir(quiet ++ ["--sname", name, path])) =~ "on :#{name}@"
    assert computed(elixir(quiet ++ ["--name", "#{name}@127.0.0.1", path])) =~ ~s(on :"#{name}@)
  end

  test "a script that gives the VM a name when it has made a tensor", %{path: path} do
    name = "program_#{NxVulkanGo.Distribution.random_hex(4)}@127.0.0.1"
    options = "%{name_domain: :longnames, dist_listen: false, hidden: true}"

    File.write!(path, """
    #{@started}
    t = Nx.tensor([1, 2, 3], backend: NxVulkanGo.Backend)
    {:ok, _} = :net_kernel.start(:"#{name}", #{options})
    u = Nx.add(t, 1)
    IO.puts("eager " <> inspect(Nx.to_list(Nx.add(u, t))))
    compiled = Nx.Defn.jit(&Nx.add(&1, &1), compiler: NxVulkanGo)
    IO.puts("compiled " <> inspect(Nx.to_list(Nx.add(compiled.(t), 1))))
    """)

    computed(elixir([path]))
  end

  test "a server that is not connected is down, not an error of the VM", %{path: path} do
    File.write!(path, """
    alias NxVulkanGo.Distribution
    to = {:nxvk, :"nxvk@127.0.0.1"}
    Distribution.send(to, :hello)
    ref = Distribution.monitor(to)
    :noconnection = receive do {:DOWN, ^ref, :process, ^to, reason} -> reason end
    {:noconnection, _} = catch_exit = try do Distribution.call(to, :info, 5000) catch :exit, e -> e end
    IO.inspect(catch_exit)
    """)

    assert {said, 0} = elixir([path])
    assert said =~ ":noconnection"
  end

  test "iex -S mix", %{path: path} do
    input = String.replace(@program, "defmodule", "\ndefmodule")
    File.write!(path, input)
    quoted = Enum.map_join(["-S", "mix", "run", "--no-compile"], " ", &inspect/1)
    {output, 0} = sh("iex #{quoted} < #{path}")
    computed({output, 0})
  end

  test "a module of a project that computes while it is compiled", %{tmp_dir: dir} do
    path = Path.join(dir, "compiled.ex")

    File.write!(path, """
    defmodule Constants do
      @table Nx.to_list(Nx.multiply(Nx.iota({3}, backend: NxVulkanGo.Backend), 2))
      def table, do: @table
    end

    defmodule User do
      def sum, do: Enum.sum(Constants.table())
    end
    """)

    script = """
    #{@started}
    [_, _] = Kernel.ParallelCompiler.compile([#{inspect(path)}]) |> elem(1)
    IO.puts("sum \#{apply(User, :sum, [])}")
    """

    assert {output, 0} = elixir(["-e", script])
    assert output =~ "sum 6"
  end

  test "ExUnit", %{tmp_dir: dir} do
    path = Path.join(dir, "program_test.exs")

    File.write!(path, """
    #{@started}
    ExUnit.start()
    t = Nx.tensor([1, 2, 3], backend: NxVulkanGo.Backend)
    Process.put(:t, t)

    defmodule ProgramTest do
      use ExUnit.Case, async: true
      test "adds", do: assert(Nx.to_list(Nx.add(Nx.tensor([1], backend: NxVulkanGo.Backend), 1)) == [2])
    end
    """)

    assert {output, 0} = elixir([path])
    assert output =~ ~r/1 test, 0 failures|1 passed/
  end

  @tag :soak
  test "a release", %{tmp_dir: dir, path: path} do
    root = Path.join(dir, "release")
    {_, 0} = mix(["release", "--no-compile", "--quiet", "--path", root])
    bin = Path.join([root, "bin", "nx_vulkan_go"])
    program = ~s[Code.eval_file("#{path}")]

    for distribution <- ["none", "sname"] do
      env = [{"RELEASE_DISTRIBUTION", distribution}]
      computed(System.cmd(bin, ["eval", program], env: env, stderr_to_stdout: true))
    end
  end

  @tag :soak
  test "Mix.install at the top of a script", %{tmp_dir: dir, path: path} do
    File.write!(path, "Mix.install(#{inspect(dependencies())})\n" <> @program)
    env = [{"MIX_INSTALL_DIR", Path.join(dir, "install")}, {"MIX_ENV", "prod"}]
    computed(System.cmd("elixir", [path], env: env, stderr_to_stdout: true))
  end

  # Those of this project, by the folders that they lie in.
  defp dependencies do
    paths = Mix.Project.deps_paths()
    others = for app <- [:nx, :complex, :telemetry], do: {app, path: paths[app], override: true}
    [{:nx_vulkan_go, path: File.cwd!()} | others]
  end

  defp computed({output, status}) do
    assert {output, status} == {output, 0}
    assert output =~ "eager [3, 5, 7]"
    assert output =~ "compiled [3, 5, 7]"
    output
  end

  defp mix(args), do: System.cmd("mix", args, stderr_to_stdout: true)

  defp elixir(args) do
    paths =
      for path <- :code.get_path(), path = List.to_string(path), arg <- ["-pa", path], do: arg

    System.cmd("elixir", paths ++ args, stderr_to_stdout: true)
  end

  defp sh(line), do: System.cmd("sh", ["-c", line <> " 2>&1"])
end
