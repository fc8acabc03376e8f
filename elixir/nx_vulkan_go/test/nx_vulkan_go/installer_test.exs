defmodule NxVulkanGo.InstallerTest do
  # A mirror on this machine, and a cache in a folder of the test. Nothing reaches a network.
  use NxVulkanGo.InstallerCase

  alias NxVulkanGo.{Error, Installer, Mirror}
  alias NxVulkanGo.Installer.{Platform, Progress}

  @name archive()
  @foreign foreign()

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
