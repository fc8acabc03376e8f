defmodule NxVulkanGo.Installer.CacheTest do
  # The folder of downloads: who has its lock, and what it cannot hold.
  use NxVulkanGo.InstallerCase

  alias NxVulkanGo.{Error, Installer, Mirror}
  alias NxVulkanGo.Installer.Lock

  @name archive()

  describe "two at once" do
    test "of a VM share a download", context do
      mirror = Mirror.start(%{@name => {:slow, context.bytes, true}})
      first = Task.async(fn -> Installer.install!(from(mirror, context)) end)
      assert_receive {:half, server}
      test = self()

      lock =
        Path.join(Path.dirname(Installer.installed(context.options) || path_of(context)), "lock")

      second = Task.async(fn -> Lock.run(lock, fn -> send(test, :waits) end, & &1) end)
      third = Task.async(fn -> Installer.install!(from(mirror, context)) end)
      assert_receive :waits
      send(server, :go)
      assert Task.await(first, :infinity) == Task.await(third, :infinity)
      assert Task.await(second, :infinity) == true
      assert count(mirror) == 1
      clean!(context.cache)
    end

    test "of two VMs share a download, also where one is killed", context do
      mirror = Mirror.start(%{@name => {:slow, context.bytes, true}})
      {:ok, peer, _} = :peer.start(%{connection: :standard_io, args: paths()})
      {:ok, _} = :peer.call(peer, :application, :ensure_all_started, [:inets])
      pid = :peer.call(peer, :os, :getpid, [])
      :peer.cast(peer, Installer, :install!, [from(mirror, context)])
      assert_receive {:half, _server}
      task = Task.async(fn -> install(from(mirror, context)) end)
      Process.unlink(peer)
      {_, 0} = System.cmd("kill", ["-9", "#{pid}"])
      # The lock is free at once, and the archive is asked for again.
      assert_receive {:half, server}
      send(server, :go)
      {path, _} = Task.await(task, :infinity)
      assert File.read!(path) == context.program
      assert count(mirror) == 2
    end

    defp path_of(context), do: context.cache |> Path.join("*/lock") |> Path.wildcard() |> hd()
    defp paths, do: Enum.flat_map(:code.get_path(), &[~c"-pa", &1])
  end

  test "a lock that a killed process has left is no lock", %{tmp_dir: dir} do
    lock = Path.join(dir, "lock")

    for left <- ["", "no number", "99999999 word", "1 word"] do
      File.write!(lock, left)
      assert Lock.run(lock, fn -> flunk("it waits") end, & &1) == false
    end

    # The port has another owner now.
    {:ok, listener} = :gen_tcp.listen(0, [:binary, ip: {127, 0, 0, 1}, active: false])
    {:ok, port} = :inet.port(listener)

    spawn_link(fn ->
      with {:ok, s} <- :gen_tcp.accept(listener), do: :gen_tcp.send(s, "SSH") && :gen_tcp.close(s)
    end)

    File.write!(lock, "#{port} word")
    assert Lock.run(lock, fn -> flunk("it waits") end, & &1) == false
    refute File.exists?(lock)
  end

  test "a lock that cannot be removed is no reason to wait for ever", %{tmp_dir: dir} do
    # A folder is as little a lock as another user's file.
    lock = Path.join(dir, "lock")
    File.mkdir!(lock)
    assert_raise File.Error, fn -> Lock.run(lock, fn -> flunk("it waits") end, & &1) end
  end

  describe "a folder" do
    # Mounting takes root; nobody else is kept from what they may do by rights.
    @mounts (with {id, 0} <- System.cmd("id", ["-u"]), "0" <- String.trim(id) do
               dir =
                 Path.join(System.tmp_dir!(), "nxvk_mount_#{System.unique_integer([:positive])}")

               File.mkdir_p!(dir)

               {_, status} =
                 System.cmd("mount", ["-t", "tmpfs", "-o", "size=64k", "none", dir],
                   stderr_to_stdout: true
                 )

               if status == 0, do: System.cmd("umount", [dir])
               File.rmdir(dir)
               status == 0
             else
               _ -> false
             end)

    unless @mounts, do: @describetag(skip: "no file system can be mounted here, which takes root")

    defp mount!(dir, options) do
      File.mkdir_p!(dir)
      {_, 0} = System.cmd("mount", ["-t", "tmpfs", "-o", options, "none", dir])
      on_exit(fn -> {_, 0} = System.cmd("umount", [dir]) end)
    end

    test "without space is named, with what to do", context do
      mount!(context.cache, "size=64k")
      mirror = Mirror.start(%{@name => {:ok, context.bytes}})

      refused!(
        from(mirror, context),
        ~r/there is no space left for #{context.cache}.*config :nx_vulkan_go, install_dir:/
      )

      assert count(mirror) == 1
    end

    test "that is read only, too", context do
      mount!(context.cache, "ro")
      mirror = Mirror.start(%{@name => {:ok, context.bytes}})

      refused!(
        from(mirror, context),
        ~r/cannot write #{context.cache}.*read-only.*config :nx_vulkan_go, install_dir:/
      )

      assert count(mirror) == 0
    end
  end

  test "a folder that cannot be made", %{tmp_dir: dir} = context do
    File.write!(Path.join(dir, "file"), "")
    options = Keyword.put(context.options, :install_dir, Path.join(dir, "file/cache"))
    assert {%Error{kind: :not_installed} = error, _} = install(options)
    assert error.reason =~ ~r"cannot write .*/file/cache.* \(not a directory\): name a folder"
  end
end
