defmodule NxVulkanGo.Launcher.FirstNeedTest do
  # VMs of users without a program: the first operation installs it, or says what to do.
  use ExUnit.Case, async: true

  alias NxVulkanGo.Installer.Platform
  alias NxVulkanGo.{Mirror, Notebook}

  @moduletag :tmp_dir
  @moduletag :launched

  @name "nxvk-node_1.2.3_#{Platform.name!()}.tar.gz"

  # Not in the folder of this package, which Erlang would take for its own by the name. No PATH
  # has a program or Go.
  @program """
  Logger.configure(level: :warning)
  {:ok, _} = Application.ensure_all_started(:nx_vulkan_go)
  System.put_env("PATH", "/nowhere")

  try do
    IO.puts("computed " <> inspect(Nx.to_number(Nx.iota({1000}, backend: NxVulkanGo.Backend)[999])))
  rescue
    error in NxVulkanGo.Error -> IO.puts("\#{error.kind}: \#{error.reason}")
    error in ArgumentError -> IO.puts(Exception.message(error))
  end
  """

  defp published(dir) do
    node = NxVulkanGo.Launcher.Executable.find!()
    {bytes, sums} = Mirror.archive(dir, @name, File.read!(node))
    mirror = Mirror.start(%{@name => [{:slow, bytes, nil}, {:status, 410}]})
    %{mirror: mirror, paths: Mirror.package(dir, sums), cache: Path.join(dir, "cache")}
  end

  defp config(release, more \\ []) do
    for {key, value} <- [base_url: release.mirror.url, install_dir: release.cache] ++ more,
        do: "Application.put_env(:nx_vulkan_go, #{inspect(key)}, #{inspect(value)})\n"
  end

  defp elixir(paths, code, env \\ []) do
    paths = for path <- paths, arg <- ["-pa", path], do: arg
    env = [{"NXVK_NODE", nil}, {"NXVK_ARCHIVE", nil}] ++ env

    args = paths ++ ["-e", to_string(code)]
    options = [stderr_to_stdout: true, env: env, cd: System.tmp_dir!()]
    {text, status} = System.cmd("elixir", args, options)

    assert {text, status} == {text, 0}
    text
  end

  test "the first operation installs it, and the next VM finds it", %{tmp_dir: dir} do
    release = published(dir)
    code = [config(release), @program]
    first = elixir(release.paths, code)
    assert first =~ "fetching #{release.mirror.url}/#{@name}"
    assert first =~ "100 % of"
    assert first =~ "computed 999"
    assert elixir(release.paths, code) == "computed 999\n"
    assert length(Mirror.asked(release.mirror)) == 1
  end

  test "in Livebook the cell that waits shows the bar", %{tmp_dir: dir} do
    release = published(dir)

    cells =
      Notebook.run!(
        dir,
        [
          {:cell, :configured,
           to_string([config(release), ~s[System.put_env("PATH", "/nowhere")]])},
          {:cell, :first, "Nx.to_number(Nx.iota({1000}, backend: NxVulkanGo.Backend)[999])"},
          {:cell, :second, "Nx.to_number(Nx.iota({1000}, backend: NxVulkanGo.Backend)[998])"}
        ],
        paths: release.paths,
        env: [{"NXVK_NODE", nil}, {"NXVK_ARCHIVE", nil}]
      )

    assert %{value: "999", output: output} = cells.first
    assert output =~ "nx_vulkan_go: fetching #{release.mirror.url}/#{@name}"
    assert output =~ "[==============================] 100 % of"
    assert %{value: "998", output: ""} = cells.second
  end

  test "it is not installed where the configuration forbids it, in a release, and beside a server",
       %{tmp_dir: dir} do
    release = published(dir)
    forbidden = elixir(release.paths, [config(release, install: false), @program])

    assert forbidden =~
             ~r/^not_installed: .*run mix nx_vulkan_go.install.*put nxvk-node in the PATH/s

    within = elixir(release.paths, [config(release), @program], [{"RELEASE_ROOT", dir}])
    assert within =~ ~r/^not_installed: .*add the step &NxVulkanGo.Installer.into_release\/1/s
    elsewhere = elixir(release.paths, [config(release, server: :"nobody@127.0.0.1"), @program])
    assert elsewhere =~ ~r/^no_connection: /
    invalid = elixir(release.paths, [config(release, install: "no"), @program])
    assert invalid =~ "config :nx_vulkan_go, install: must be true or false"
    assert Mirror.asked(release.mirror) == []
  end

  test "a program that does not start is told by a sentence", %{tmp_dir: dir} do
    bad = Path.join(dir, "nxvk-node")

    for {contents, mode, said} <- [
          {"#!/bin/sh\necho of this and that\nkill -SEGV $$\n", 0o755,
           ~r/^not_started: nxvk-node crashed at its start by signal 11; run `#{bad} doctor`.*of this and that/s},
          {"#!/bin/sh\nexit 0\n", 0o755,
           ~r/^not_started: #{bad} ended at once without a word, which nxvk-node does not do; run/},
          {"#!/bin/sh\nexit 1\n", 0o755,
           ~r/^not_started: nxvk-node stopped at its start with status 1; run `#{bad} doctor`/},
          {"#!/nowhere/sh\n", 0o755,
           ~r/^not_started: #{bad} needs a loader of programs that this system lacks/},
          {"#!/bin/sh\necho no such flag\nexit 2\n", 0o755,
           ~r/^not_started: nxvk-node does not take its arguments; correct config/},
          {"#!/bin/sh\nexit 4\n", 0o755,
           ~r/^not_started: nxvk-node cannot use the loopback interface/},
          # The magic number of programs for macOS on arm64.
          {<<0xCF, 0xFA, 0xED, 0xFE, 0x0C, 0, 0, 1, 0::800>>, 0o755,
           ~r/^not_started: #{bad} is no program of this system .*run `mix nx_vulkan_go.install`, and unset NXVK_NODE/},
          {"#!/bin/sh\n", 0o644,
           ~r/^not_started: #{bad} cannot be executed; give it the right by chmod \+x/}
        ] do
      File.rm(bad)
      File.write!(bad, contents)
      File.chmod!(bad, mode)
      said? = elixir(Enum.map(:code.get_path(), &to_string/1), @program, [{"NXVK_NODE", bad}])
      assert said? =~ said
    end
  end

  test "the task installs it, and a step takes it into a release", %{tmp_dir: dir} do
    release = published(dir)

    code = """
    #{config(release)}
    Mix.start()
    Mix.Tasks.NxVulkanGo.Install.run(["--force"])
    app = [vsn: ~c"1.2.3"]
    NxVulkanGo.Installer.into_release(%{path: #{inspect(dir)}, applications: %{nx_vulkan_go: app}})
    Application.put_env(:nx_vulkan_go, :server, :a@b)
    Mix.Tasks.NxVulkanGo.Install.run(["--force"])
    """

    text = elixir(release.paths, code)
    [path] = Path.wildcard(release.cache <> "/*/nxvk-node")
    assert text =~ "\n" <> path <> "\n"
    assert text =~ "config :nx_vulkan_go, server: is a@b, so nothing is installed"
    taken = Path.join(dir, "lib/nx_vulkan_go-1.2.3/priv/bin/nxvk-node")
    assert File.read!(taken) == File.read!(path)
    assert {_, 0} = System.cmd(taken, ["version"])
  end
end
