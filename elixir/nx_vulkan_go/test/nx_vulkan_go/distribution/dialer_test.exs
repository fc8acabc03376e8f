defmodule NxVulkanGo.Distribution.DialerTest do
  # Whatever keeps this VM from a server, the error says which it was and what to do.
  # Each test has a VM of its own, with a port mapper of its own.
  use ExUnit.Case, async: false

  alias NxVulkanGo.{Distribution, FakeEpmd, Launcher, Served}

  @moduletag :capture_log

  # The error of connecting to `server`, in a VM that asks the port mapper `epmd`.
  defp refusal(server, epmd, settings \\ [cookie: "cookie"]) do
    assert {:error, %NxVulkanGo.Error{kind: :no_connection} = error} =
             connect(server, epmd, settings)

    Exception.message(error)
  end

  defp connect(server, epmd, settings, name \\ []) do
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])
    args = [~c"-epmd_port", ~c"#{epmd}" | paths] ++ name
    {:ok, peer, _} = :peer.start_link(%{connection: :standard_io, args: args})
    settings = [server: server] ++ settings
    on = &:peer.call(peer, &1, &2, &3, 60_000)
    for {key, value} <- settings, do: on.(:application, :set_env, [:nx_vulkan_go, key, value])
    {:ok, _} = on.(:application, :ensure_all_started, [:nx_vulkan_go])
    answer = on.(Distribution, :connect, [server])
    :peer.stop(peer)
    answer
  end

  # A port that was free a moment ago.
  defp unused do
    {:ok, listener} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
    {:ok, port} = :inet.port(listener)
    :gen_tcp.close(listener)
    port
  end

  defp real do
    server = NxVulkanGo.connect()
    %{place: {_, port}, cookie: cookie} = Launcher.access(server)
    [name, _] = String.split("#{server}", "@")
    {server, FakeEpmd.start(%{name => port}), cookie.()}
  end

  test "the host has no address" do
    message = refusal(:"nxvk@nowhere.invalid", unused())
    assert message =~ ~r/host nowhere.invalid of nxvk@nowhere.invalid has no address/
    assert message =~ "getent hosts nowhere.invalid"
  end

  test "what is no name of a node" do
    assert refusal(:nxvk, unused()) =~ ~s(:nxvk is not the name of a node; write it as)
  end

  test "no epmd answers" do
    port = unused()
    message = refusal(:"nxvk@127.0.0.1", port)
    assert message =~ "does not answer on port #{port} of 127.0.0.1"
    assert message =~ "--listen 0.0.0.0"
  end

  test "epmd does not know the name" do
    epmd = FakeEpmd.start(%{"other" => 1})
    message = refusal(:"nxvk@127.0.0.1", epmd)
    assert message =~ "does not know the name nxvk. It knows other. Start nxvk-node with --name"
  end

  test "the port of the node does not answer" do
    port = unused()
    message = refusal(:"nxvk@127.0.0.1", FakeEpmd.start(%{"nxvk" => port}))
    assert message =~ ~r/port #{port} of 127.0.0.1, .*econnrefused.*firewall/
  end

  @tag :launched
  test "the cookie is another" do
    {server, epmd, _cookie} = real()
    message = refusal(server, epmd)
    assert message =~ "#{server} has another cookie; give this VM the cookie of the file"
  end

  @tag :launched
  @tag :tmp_dir
  test "no cookie is known", %{tmp_dir: home} do
    {server, epmd, _cookie} = real()
    was = System.get_env("HOME")
    System.put_env("HOME", home)
    on_exit(fn -> System.put_env("HOME", was) end)
    message = refusal(server, epmd, [])
    assert message =~ ~r"no cookie for #{server} is known \(#{home}/.erlang.cookie: no such file"
  end

  @tag :launched
  test "the server calls itself otherwise" do
    {server, _, cookie} = real()
    {_, port} = Launcher.access(server).place
    epmd = FakeEpmd.start(%{"alias" => port})
    message = refusal(:"alias@127.0.0.1", epmd, cookie: cookie)
    assert message =~ "alias@127.0.0.1 calls itself #{server}; use that name"
  end

  test "the server speaks TLS" do
    {:ok, listener} = :ssl.listen(0, [ip: {127, 0, 0, 1}] ++ certificate())
    {:ok, {_, port}} = :ssl.sockname(listener)
    spawn_link(fn -> accept_tls(listener) end)
    message = refusal(:"nxvk@127.0.0.1", FakeEpmd.start(%{"nxvk" => port}))
    assert message =~ "nxvk@127.0.0.1 speaks TLS; set config :nx_vulkan_go, tls: ["
  end

  @tag :tmp_dir
  test "TLS, with certificates that suit each other and with others", %{tmp_dir: dir} do
    {server, epmd} = serve_tls(dir)
    tls = pem(dir, "client", for(kind <- ~w(cacertfile certfile keyfile)a, do: kind))
    suits = [cookie: "cookie", tls: [server_name_indication: :disable] ++ tls]
    assert connect(server, epmd, suits) == :ok
    stranger = pem(dir, "stranger", ~w(certfile keyfile)a)
    message = refusal(server, epmd, cookie: "cookie", tls: [verify: :verify_none] ++ stranger)
    # The alert may come too late to be read.
    assert message =~ ~r/TLS handshake with #{server} failed: .*(Unknown CA|does not trust)/is
    distrusted = [cacertfile: Path.join(dir, "stranger_cacertfile.pem")]
    message = refusal(server, epmd, cookie: "cookie", tls: distrusted)
    assert message =~ ~r/the TLS handshake with #{server} failed: .*Unknown CA/is
    message = refusal(server, epmd, cookie: "cookie")
    assert message =~ "#{server} speaks TLS; set config :nx_vulkan_go, tls: ["
  end

  # A server with a certificate, that wants one of its clients.
  defp serve_tls(dir) do
    curve = [key: {:namedCurve, :secp256r1}, digest: :sha256]
    chain = %{root: curve, intermediates: [], peer: curve}
    ours = :public_key.pkix_test_data(%{server_chain: chain, client_chain: chain})
    strange = :public_key.pkix_test_data(%{server_chain: chain, client_chain: chain})
    write(dir, "server", ours.server_config)
    write(dir, "client", ours.client_config)
    write(dir, "stranger", strange.client_config)
    name = "tls_#{Distribution.random_hex(4)}"

    [tls_cert, tls_key, tls_ca] =
      for kind <- ~w(certfile keyfile cacertfile), do: path(dir, "server", kind)

    args = ["--name", "#{name}@127.0.0.1", "--tls-cert", tls_cert, "--tls-key", tls_key]
    args = args ++ ["--tls-ca", tls_ca]
    {server, number} = Served.start!(args, env: [{~c"NXVK_COOKIE", ~c"cookie"}])
    {:"#{server}", FakeEpmd.start(%{name => String.to_integer(number)})}
  end

  defp path(dir, who, kind), do: Path.join(dir, "#{who}_#{kind}.pem")
  defp pem(dir, who, kinds), do: for(kind <- kinds, do: {kind, path(dir, who, kind)})

  defp write(dir, who, config) do
    {type, key} = config[:key]

    for {kind, entries} <- [
          cacertfile: for(der <- config[:cacerts], do: {:Certificate, der, :not_encrypted}),
          certfile: [{:Certificate, config[:cert], :not_encrypted}],
          keyfile: [{type, key, :not_encrypted}]
        ] do
      File.write!(path(dir, who, kind), :public_key.pem_encode(entries))
    end
  end

  test "something else listens there" do
    {:ok, listener} = :gen_tcp.listen(0, [:binary, active: false, ip: {127, 0, 0, 1}])
    {:ok, port} = :inet.port(listener)
    spawn_link(fn -> hang_up(listener) end)
    message = refusal(:"nxvk@127.0.0.1", FakeEpmd.start(%{"nxvk" => port}))
    assert message =~ "broke off the handshake (status: "
    assert message =~ "of the same release as this package"
  end

  @tag :launched
  test "names of another kind keep nobody from a server" do
    {server, epmd, cookie} = real()
    short = [~c"-sname", ~c"short_#{Distribution.random_hex(4)}", ~c"-dist_listen", ~c"false"]
    assert connect(server, epmd, [cookie: cookie], short) == :ok

    long = [
      ~c"-name",
      ~c"long_#{Distribution.random_hex(4)}@127.0.0.1",
      ~c"-dist_listen",
      ~c"false"
    ]

    assert connect(server, epmd, [cookie: cookie], long) == :ok
    assert connect(server, epmd, cookie: cookie) == :ok
  end

  defp certificate do
    %{server_config: config} =
      :public_key.pkix_test_data(%{
        server_chain: %{root: [], intermediates: [], peer: []},
        client_chain: %{root: [], intermediates: [], peer: []}
      })

    config
  end

  defp accept_tls(listener) do
    {:ok, socket} = :ssl.transport_accept(listener)
    :ssl.handshake(socket, 10_000)
    accept_tls(listener)
  end

  defp hang_up(listener) do
    {:ok, socket} = :gen_tcp.accept(listener)
    :gen_tcp.close(socket)
    hang_up(listener)
  end
end
