defmodule NxVulkanGo.LauncherTest do
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO

  alias NxVulkanGo.Error
  alias NxVulkanGo.Launcher.{Build, Executable, Output}

  setup do
    path = System.get_env("PATH")
    node = System.get_env("NXVK_NODE")
    toolchain = System.get_env("GOTOOLCHAIN")

    cgo = System.get_env("CGO_ENABLED")

    on_exit(fn ->
      System.put_env("PATH", path)
      if cgo, do: System.put_env("CGO_ENABLED", cgo), else: System.delete_env("CGO_ENABLED")
      if toolchain, do: System.put_env("GOTOOLCHAIN", toolchain)
      if node, do: System.put_env("NXVK_NODE", node)
      Application.delete_env(:nx_vulkan_go, :binary)
    end)

    :ok
  end

  @tag :tmp_dir
  test "the binary of the configuration comes first, then the environment, then the path", %{
    tmp_dir: dir
  } do
    [a, b, c] =
      for name <- ["a", "b", "nxvk-node"] do
        path = Path.join(dir, name)
        File.write!(path, "#!/bin/sh\n")
        File.chmod!(path, 0o755)
        path
      end

    Application.put_env(:nx_vulkan_go, :binary, a)
    System.put_env("NXVK_NODE", b)
    assert Executable.find!() == a
    Application.delete_env(:nx_vulkan_go, :binary)
    assert Executable.find!() == b
    System.delete_env("NXVK_NODE")
    System.put_env("PATH", dir)
    assert Executable.find!() == c
  end

  @tag :tmp_dir
  test "it is built where the sources and go are", %{tmp_dir: dir} do
    target = Application.app_dir(:nx_vulkan_go, "priv/bin/nxvk-node")
    kept = if File.exists?(target), do: File.read!(target)
    go(dir, "1", "echo built by $1 $2 $5 with $GOTOOLCHAIN > $4")
    System.delete_env("NXVK_NODE")
    System.delete_env("GOTOOLCHAIN")
    System.put_env("PATH", dir)
    assert Executable.find!() == target
    assert File.read!(target) == "built by build -v ./cmd/nxvk-node with auto\n"
    if kept, do: File.write!(target, kept), else: File.rm!(target)
  end

  @tag :tmp_dir
  test "without any, an error says how to get one", %{tmp_dir: dir} do
    System.delete_env("NXVK_NODE")
    System.put_env("PATH", dir)
    for {key, value} <- [install: false, install_dir: dir], do: put_env(key, value)

    unless File.exists?(Application.app_dir(:nx_vulkan_go, "priv/bin/nxvk-node")) do
      # A checkout knows archives once it has made a release.
      way =
        ~r/not installed.*(install Go|run mix nx_vulkan_go.install).*put nxvk-node in the PATH/s

      error = assert_raise Error, way, fn -> Executable.find!() end
      assert error.kind == :not_installed
    end
  end

  test "a configured binary that is not there is an error" do
    Application.put_env(:nx_vulkan_go, :binary, "/nowhere/nxvk-node")
    error = assert_raise Error, ~r"no nxvk-node at /nowhere", fn -> Executable.find!() end
    assert error.kind == :not_installed
    refute Exception.message(error) =~ "lost"
  end

  @tag :tmp_dir
  test "a folder is not a program", %{tmp_dir: dir} do
    System.put_env("NXVK_NODE", dir)

    error =
      assert_raise Error, ~r"is a folder; write the path of nxvk-node itself in NXVK_NODE", fn ->
        Executable.find!()
      end

    assert error.kind == :not_installed
    File.write!(Path.join(dir, "nxvk-node"), "")
    assert_raise Error, ~r"itself, #{dir}/nxvk-node, in NXVK_NODE", fn -> Executable.find!() end
  end

  test "the order of sums on matrix hardware is an argument of the program" do
    kept = Application.fetch_env(:nx_vulkan_go, :matrix)

    on_exit(fn ->
      case kept do
        {:ok, value} -> Application.put_env(:nx_vulkan_go, :matrix, value)
        :error -> Application.delete_env(:nx_vulkan_go, :matrix)
      end
    end)

    Application.delete_env(:nx_vulkan_go, :matrix)
    default = NxVulkanGo.Launcher.arguments(:"a@127.0.0.1")
    refute "--matrix" in default
    Application.put_env(:nx_vulkan_go, :matrix, :hardware)
    assert NxVulkanGo.Launcher.arguments(:"a@127.0.0.1") == default
    Application.put_env(:nx_vulkan_go, :matrix, :ordered)
    ordered = NxVulkanGo.Launcher.arguments(:"a@127.0.0.1")
    assert ordered -- default == ["--matrix", "ordered"]
    Application.put_env(:nx_vulkan_go, :matrix, :orderly)
    message = "config :nx_vulkan_go, matrix: must be one of :hardware, :ordered, got: :orderly"
    assert_raise ArgumentError, message, fn -> NxVulkanGo.Launcher.arguments(:"a@127.0.0.1") end
  end

  defp put_env(key, value) do
    Application.put_env(:nx_vulkan_go, key, value)
    on_exit(fn -> Application.delete_env(:nx_vulkan_go, key) end)
  end

  # A go that says whether there is a C compiler, and builds by a line of the shell.
  defp go(dir, cgo, build) do
    path = Path.join(dir, "go")
    File.write!(path, "#!/bin/sh\n[ $1 = env ] && echo #{cgo} && exit\n#{build}\n")
    File.chmod!(path, 0o755)
    path
  end

  describe "building" do
    @describetag :tmp_dir

    test "without a C compiler is an error with the line that installs one", %{tmp_dir: dir} do
      System.delete_env("CGO_ENABLED")
      go = go(dir, "0", "exit 0")
      File.write!(Path.join(dir, "apk"), "")
      File.chmod!(Path.join(dir, "apk"), 0o755)
      System.put_env("PATH", dir <> ":/bin")
      error = assert_raise Error, fn -> Build.run!(go, dir, "nxvk-node", Path.join(dir, "x")) end
      assert error.kind == :cannot_build
      assert Exception.message(error) =~ ~r/no C compiler.*(apt-get|apk|dnf|pacman|zypper)/s
    end

    test "without one is as asked for with CGO_ENABLED=0", %{tmp_dir: dir} do
      System.put_env("CGO_ENABLED", "0")
      target = Path.join(dir, "x")
      assert Build.run!(go(dir, "0", "touch $4"), dir, "nxvk-node", target) == target
      assert File.exists?(target)
    end

    test "that fails says what Go said", %{tmp_dir: dir} do
      go = go(dir, "1", "echo x.go:1: no such thing >&2; exit 1")
      error = assert_raise Error, fn -> Build.run!(go, dir, "nxvk-node", Path.join(dir, "x")) end
      assert error.kind == :cannot_build
      assert Exception.message(error) =~ "x.go:1: no such thing"
    end

    test "that is quick says nothing, and one that is not says how far it is", %{tmp_dir: dir} do
      go = go(dir, "1", "echo nxvk/ops; echo nxvk/synth; touch $4")
      build = &Build.run!(go, dir, "nxvk-node", Path.join(dir, "x"), &1)
      assert capture_io(:stderr, fn -> build.(:timer.hours(1)) end) == ""
      text = capture_io(:stderr, fn -> build.(0) end)
      assert text =~ "building nxvk-node; the first time takes some minutes"
      assert text =~ ~r/nxvk-node has been built: 2 packages in \d+ s/
    end
  end

  test "lines of the server have a level and a text" do
    warning =
      ~S({"level":"warn","vulkan":"no loader","time":"2026-01-01T00:00:00Z","message":"no Vulkan device"})

    assert {:warning, text} = Output.parse(warning)
    assert text =~ "no Vulkan device"
    assert text =~ "no loader"
    assert {:error, _} = Output.parse(~S({"level":"error","message":"no"}))
    assert {:debug, _} = Output.parse(~S({"level":"info","message":"ready"}))
    assert {:debug, "usage: nxvk-node"} = Output.parse("usage: nxvk-node")
    assert {:debug, "{"} = Output.parse("{")
  end
end
