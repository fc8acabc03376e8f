defmodule NxVulkanGo.InstallerTest do
  # A mirror on this machine, and a cache in a folder of the test. Nothing reaches a network.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO

  alias NxVulkanGo.{Error, Installer, Mirror}
  alias NxVulkanGo.Installer.{Lock, Platform, Progress}

  @moduletag :tmp_dir

  @variables ~w(NXVK_ARCHIVE HTTP_PROXY http_proxy HTTPS_PROXY https_proxy NO_PROXY no_proxy)
  @name "nxvk-node_1.2.3_#{Platform.name!()}.tar.gz"
  @foreign "nxvk-node_1.2.3_plan9_mips.tar.gz"

  setup %{tmp_dir: dir} do
    kept = for name <- @variables, do: {name, System.get_env(name)}
    for name <- @variables, do: System.delete_env(name)
    on_exit(fn -> for {name, "" <> value} <- kept, do: System.put_env(name, value) end)
    # Of no use compressed, so that a part of the archive is some of it.
    program = "#!/bin/sh\n# " <> Base.encode64(:crypto.strong_rand_bytes(200_000)) <> "\n"
    {bytes, line} = Mirror.archive(dir, @name, program)
    {other, other_line} = Mirror.archive(dir, @foreign, "other")
    sums = Path.join(dir, "checksums.txt")

    File.write!(
      sums,
      line <> other_line <> String.duplicate("0", 64) <> "  nxvk-node_1.2.3_linux_amd64.deb\n"
    )

    cache = Path.join(dir, "cache")
    options = [checksums: sums, install_dir: cache, pause: 0]
    {:ok, bytes: bytes, other: other, program: program, cache: cache, options: options}
  end

  # What standard error had comes with the value.
  defp install(options) do
    parent = self()

    text =
      capture_io(:stderr, fn ->
        send(
          parent,
          {:installed, try(do: Installer.install!(options), rescue: (error in Error -> error))}
        )
      end)

    assert_receive {:installed, outcome}
    {outcome, text}
  end

  defp from(mirror, context), do: [base_url: mirror.url <> "/v1"] ++ context.options
  defp count(mirror), do: length(Mirror.asked(mirror))

  # No part of a download is left, and no lock.
  defp clean!(cache) do
    names =
      for path <- Path.wildcard(cache <> "/**", match_dot: true),
          File.regular?(path),
          do: Path.basename(path)

    assert names -- ["nxvk-node"] == []
  end

  defp refused!(options, pattern) do
    {%Error{kind: :not_installed} = error, text} = install(options)
    assert error.reason =~ pattern
    clean!(options[:install_dir])
    text
  end

  test "the archive is downloaded once, and its program can be executed", context do
    mirror = Mirror.start(%{@name => {:ok, context.bytes}})
    {path, text} = install(from(mirror, context))
    assert File.read!(path) == context.program
    assert {_, 0} = System.cmd(path, [])
    assert String.starts_with?(path, context.cache)
    assert text =~ "fetching #{mirror.url}/v1/#{@name}"
    assert text =~ "100 % of 0.2 MB"
    clean!(context.cache)
    assert install(from(mirror, context)) == {path, ""}
    assert Installer.installed(context.options) == path
    assert [{"/v1/" <> @name, _}] = Mirror.asked(mirror)
    {^path, _} = install([force: true] ++ from(mirror, context))
    assert count(mirror) == 2
  end

  test "redirections are followed, as to the store of a publisher", context do
    mirror =
      Mirror.start(%{@name => {:redirect, "/store/x?key=1"}, "x?key=1" => {:ok, context.bytes}})

    {path, _} = install(from(mirror, context))
    assert File.read!(path) == context.program
    assert [{"/v1/" <> _, _}, {"/store/x?key=1", _}] = Mirror.asked(mirror)
    circle = Mirror.start(%{@name => {:redirect, @name}})

    refused!(
      [force: true] ++ from(circle, context),
      "redirects to #{circle.url}/v1/#{@name}, which is not followed"
    )

    assert count(circle) == 6
    ftp = Mirror.start(%{@name => {:redirect, "ftp://a/b"}})
    refused!([force: true] ++ from(ftp, context), "redirects to ftp://a/b, which is not followed")
  end

  test "a server of https without a certificate that the system trusts is refused", context do
    chain = %{root: [], intermediates: [], peer: []}

    %{server_config: server} =
      :public_key.pkix_test_data(%{server_chain: chain, client_chain: chain})

    {:ok, listener} = :ssl.listen(0, [ip: {127, 0, 0, 1}, log_level: :none] ++ server)
    {:ok, {_, port}} = :ssl.sockname(listener)

    spawn_link(fn ->
      {:ok, socket} = :ssl.transport_accept(listener)
      {:error, _} = :ssl.handshake(socket)
    end)

    refused!(
      [base_url: "https://127.0.0.1:#{port}"] ++ context.options,
      ~r/(certificate is not trusted by this system|no certificates to check https by)/
    )
  end

  test "a mirror may be a folder", %{tmp_dir: dir} = context do
    {path, _} = install([base_url: "file://" <> dir] ++ context.options)
    assert File.read!(path) == context.program

    refused!(
      [base_url: "file:///nowhere", force: true] ++ context.options,
      "there is no file:///nowhere/#{@name}; correct base_url"
    )

    refused!(
      [base_url: "ftp://a/b", force: true] ++ context.options,
      "is no URL of http, https or file"
    )
  end

  test "without a network the archive is a file", %{tmp_dir: dir} = context do
    System.put_env("NXVK_ARCHIVE", Path.join(dir, @name))
    {path, _} = install(context.options)
    assert File.read!(path) == context.program
    options = [force: true] ++ context.options
    System.put_env("NXVK_ARCHIVE", Path.join(dir, "nowhere"))
    refused!(options, ~r"there is no archive .*nowhere; correct NXVK_ARCHIVE")
    System.put_env("NXVK_ARCHIVE", Path.join(dir, @foreign))

    refused!(
      options,
      ~r/is #{@foreign}, the archive for another system .*this one needs #{@name}/
    )
  end

  test "a wrong byte is refused with both sums", context do
    at = div(byte_size(context.bytes), 2)
    <<before::binary-size(at), byte, rest::binary>> = context.bytes
    wrong = <<before::binary, Bitwise.bxor(byte, 1), rest::binary>>

    [right, other] =
      for b <- [context.bytes, wrong], do: Base.encode16(:crypto.hash(:sha256, b), case: :lower)

    mirror = Mirror.start(%{@name => {:ok, wrong}})

    refused!(
      from(mirror, context),
      ~r/damaged or of another release: its SHA-256 is #{other}, and that of #{@name} is #{right};/
    )

    assert count(mirror) == 1
    assert Installer.installed(context.options) == nil
  end

  test "a connection that is cut is tried again, three times", context do
    cut = {:cut, context.bytes, 1000}
    mirror = Mirror.start(%{@name => [cut, {:status, 503}, {:ok, context.bytes}]})
    {path, text} = install(from(mirror, context))
    assert File.read!(path) == context.program
    assert text =~ ~r/broke off after \d+ of #{byte_size(context.bytes)} bytes; trying again/
    assert text =~ "answers 503 No; trying again"
    mirror = Mirror.start(%{@name => cut})

    refused!(
      [force: true] ++ from(mirror, context),
      ~r/broke off after \d+ of \d+ bytes; a machine without a network/
    )

    assert count(mirror) == 3
  end

  test "an archive that is not there is not asked for again", context do
    mirror = Mirror.start(%{})
    refused!(from(mirror, context), ~r"there is no http://.*/#{@name} \(404\); correct base_url")
    assert count(mirror) == 1
    mirror = Mirror.start(%{@name => {:status, 403}})
    refused!(from(mirror, context), "answers 403 No; a machine without a network")
    assert count(mirror) == 1
  end

  test "a slow server is waited for, a silent one is not", context do
    mirror = Mirror.start(%{@name => {:slow, context.bytes, true}})
    task = Task.async(fn -> install(from(mirror, context)) end)
    assert_receive {:half, server}
    assert Installer.installed(context.options) == nil
    send(server, :go)
    {path, _} = Task.await(task, :infinity)
    assert File.read!(path) == context.program
    mirror = Mirror.start(%{@name => {:silent, context.bytes, 1000}})

    refused!(
      [silence: 50, force: true] ++ from(mirror, context),
      "has sent nothing for 0.1 seconds; a machine without"
    )

    assert count(mirror) == 3
  end

  test "nobody listens", context do
    {:ok, listener} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
    {:ok, port} = :inet.port(listener)
    :gen_tcp.close(listener)

    refused!(
      [base_url: "http://127.0.0.1:#{port}"] ++ context.options,
      ~r/cannot connect to 127.0.0.1 .*a proxy is taken from HTTPS_PROXY/
    )
  end

  test "proxies are those of the environment", context do
    proxy = Mirror.start(%{@name => {:ok, context.bytes}})
    System.put_env("http_proxy", String.replace(proxy.url, "//", "//me:se%20cret@"))
    {path, _} = install([base_url: "http://mirror.invalid/x"] ++ context.options)
    assert File.read!(path) == context.program
    assert [{"http://mirror.invalid" <> _, headers}] = Mirror.asked(proxy)
    assert headers["proxy-authorization"] == "Basic " <> Base.encode64("me:se cret")
    System.put_env("NO_PROXY", "example.com, 127.0.0.1")
    mirror = Mirror.start(%{@name => {:ok, context.bytes}})
    {^path, _} = install([force: true] ++ from(mirror, context))
    assert {count(proxy), count(mirror)} == {1, 1}
  end

  describe "the proxy of https" do
    unless match?(
             {:ok, _},
             try do
               {:ok, :public_key.cacerts_get()}
             rescue
               _ -> :none
             end
           ),
           do:
             @describetag(
               skip: "this system has no certificates, without which https asks nobody"
             )

    test "is asked for a tunnel, with the user of its URL", context do
      for {answer, said} <- [
            {"403 No",
             ~r/proxy of HTTPS_PROXY lets nobody through to mirror.invalid: it answers 403 No; a machine/},
            {"407 User",
             ~r"proxy of HTTPS_PROXY wants a user: write HTTPS_PROXY as http://USER:PASSWORD@HOST:PORT; a"}
          ] do
        port = answering(answer)
        System.put_env("HTTPS_PROXY", "http://me:se%20cret@127.0.0.1:#{port}")
        refused!([base_url: "https://mirror.invalid/x"] ++ context.options, said)
        assert_received {:asked, head}
        assert head =~ ~r"^CONNECT mirror.invalid:443 HTTP/1.1\r\n"
        assert head =~ "roxy-authorization: Basic " <> Base.encode64("me:se cret")
      end
    end

    # A proxy that answers one request, and tells this process what it was.
    defp answering(status) do
      {:ok, listener} = :gen_tcp.listen(0, [:binary, ip: {127, 0, 0, 1}, active: false])
      {:ok, port} = :inet.port(listener)
      test = self()

      spawn_link(fn ->
        {:ok, socket} = :gen_tcp.accept(listener)
        send(test, {:asked, head(socket, "")})
        :gen_tcp.send(socket, "HTTP/1.1 #{status}\r\ncontent-length: 0\r\n\r\n")
        # Until the client has had enough.
        :gen_tcp.recv(socket, 0)
      end)

      port
    end

    defp head(socket, text) do
      if text =~ "\r\n\r\n" do
        text
      else
        {:ok, more} = :gen_tcp.recv(socket, 0)
        head(socket, text <> more)
      end
    end
  end

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

  test "an archive without the program", %{tmp_dir: dir} = context do
    {_, line} = Mirror.archive(dir, @name, "text", "README.md")
    File.write!(context.options[:checksums], line)
    refused!([base_url: "file://" <> dir] ++ context.options, ~r/has no nxvk-node; get it again/)
  end

  test "systems have the names of the archives, and others are told what to do" do
    for {type, architecture, bits, name} <- [
          {{:unix, :linux}, "x86_64-pc-linux-gnu", 64, "linux_amd64"},
          {{:unix, :linux}, "aarch64-unknown-linux-gnu", 64, "linux_arm64"},
          {{:unix, :freebsd}, "amd64-portbld-freebsd14.1", 64, "freebsd_amd64"},
          {{:unix, :darwin}, "aarch64-apple-darwin24.1.0", 64, "darwin_arm64"},
          {{:unix, :darwin}, "x86_64-apple-darwin23", 64, "darwin_amd64"},
          {{:win32, :nt}, "win32", 64, "windows_amd64"}
        ],
        do: assert(Platform.name!(type, architecture, bits) == name)

    for {type, architecture, bits, said} <- [
          {{:unix, :linux}, "armv7l-unknown-linux-gnueabihf", 32,
           "no nxvk-node for this system (linux, armv7l"},
          {{:unix, :linux}, "x86_64-alpine-linux-musl", 64,
           ~r"archives for Linux need glibc.*-I /lib/ld-musl-x86_64.so.1"},
          {{:unix, :openbsd}, "amd64-unknown-openbsd", 64, "build it from its source with Go"}
        ] do
      error = assert_raise Error, fn -> Platform.name!(type, architecture, bits) end
      assert error.kind == :not_installed
      assert error.reason =~ said
    end
  end

  test "a system that the release has no archive for", context do
    refused!(
      [system: "plan9_amd64"] ++ context.options,
      "no nxvk-node for this system (plan9_amd64)"
    )
  end

  test "a checkout knows no archives", context do
    refused!(
      [checksums: "/nowhere", install_dir: context.cache],
      "run make release, which writes priv/checksums.txt"
    )

    assert Installer.installed(checksums: "/nowhere") == nil
  end

  test "the bar says how far it is" do
    assert Progress.text(%Progress{total: 10_000_000, count: 4_500_000}) ==
             "nx_vulkan_go: [=============                 ]  45 % of 10.0 MB"

    assert Progress.text(%Progress{total: nil, count: 4_500_000}) == "nx_vulkan_go: 4.5 MB"
  end

  test "values of the configuration that are refused" do
    for {key, value} <- [install: "no", base_url: "mirror.example", install_dir: :here] do
      Application.put_env(:nx_vulkan_go, key, value)

      assert_raise ArgumentError, ~r/config :nx_vulkan_go, #{key}: must be /, fn ->
        apply(NxVulkanGo.Options, if(key == :install, do: :install?, else: key), [])
      end

      Application.delete_env(:nx_vulkan_go, key)
    end
  end
end
