defmodule NxVulkanGo.LauncherTest do
  use ExUnit.Case, async: false

  alias NxVulkanGo.Launcher.Binary

  setup do
    path = System.get_env("PATH")
    node = System.get_env("NXVK_NODE")
    toolchain = System.get_env("GOTOOLCHAIN")

    on_exit(fn ->
      System.put_env("PATH", path)
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
    assert Binary.find!() == a
    Application.delete_env(:nx_vulkan_go, :binary)
    assert Binary.find!() == b
    System.delete_env("NXVK_NODE")
    System.put_env("PATH", dir)
    assert Binary.find!() == c
  end

  @tag :tmp_dir
  test "it is built where the sources and go are", %{tmp_dir: dir} do
    target = Application.app_dir(:nx_vulkan_go, "priv/bin/nxvk-node")
    kept = if File.exists?(target), do: File.read!(target)
    go = Path.join(dir, "go")
    File.write!(go, "#!/bin/sh\necho built by \"$1 $2 $4\" with \"$GOTOOLCHAIN\" > \"$3\"\n")
    File.chmod!(go, 0o755)
    System.delete_env("NXVK_NODE")
    System.delete_env("GOTOOLCHAIN")
    System.put_env("PATH", dir)
    assert Binary.find!() == target
    assert File.read!(target) == "built by build -o ./cmd/nxvk-node with auto\n"
    if kept, do: File.write!(target, kept), else: File.rm!(target)
  end

  @tag :tmp_dir
  test "without any, an error says how to get one", %{tmp_dir: dir} do
    System.delete_env("NXVK_NODE")
    System.put_env("PATH", dir)

    unless File.exists?(Application.app_dir(:nx_vulkan_go, "priv/bin/nxvk-node")) do
      assert_raise ArgumentError, ~r/not installed.*install Go/s, fn -> Binary.find!() end
    end
  end

  test "a configured binary that is not there is an error" do
    Application.put_env(:nx_vulkan_go, :binary, "/nowhere/nxvk-node")
    assert_raise ArgumentError, ~r"no nxvk-node at /nowhere", fn -> Binary.find!() end
  end
end
