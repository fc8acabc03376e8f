defmodule NxVulkanGo.Distribution.ConnectionTest do
  # The connection of this package's own, which a VM without a node name has.
  use ExUnit.Case, async: false

  import NxVulkanGo.Eventually

  alias NxVulkanGo.{Distribution, Error, Launcher, Session}
  alias NxVulkanGo.Distribution.Link
  alias NxVulkanGo.Session.Registry

  setup_all do
    :ok = Application.put_env(:nx_vulkan_go, :distribution, :own)
    on_exit(fn -> Application.delete_env(:nx_vulkan_go, :distribution) end)
    :ok
  end

  @moduletag :launched
  @moduletag :capture_log

  # Another test may have connected by the VM's distribution, or just killed the server.
  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    session = session()

    unless link(session.server) do
      System.cmd("kill", ["-9", "#{Launcher.os_pid()}"])
      assert eventually(fn -> Session.closed?(session) end)
    end

    %{server: server} = session()
    {:ok, server: server, link: link(server)}
  end

  # One whose server answers.
  defp session do
    eventually(fn ->
      try do
        session = Registry.fetch!([])
        Session.sync(session)
        session
      rescue
        Error -> nil
      end
    end)
  end

  defp link(server), do: :persistent_term.get({Distribution, server}, nil)

  test "pids and references have the name that the server knows, and come back", %{link: link} do
    for term <- [self(), make_ref(), Process.monitor(self()), spawn(fn -> :ok end)] do
      address = Link.address(link, term)
      assert node(address) == link.name
      assert Link.localize(link, address) == term
      assert Link.localize(link, term) == term
    end

    assert :erlang.is_process_alive(Link.localize(link, Link.address(link, self())))
  end

  test "terms of any kind come back as they were", %{server: server} do
    :rand.seed(:exsss, {1, 2, 3})

    for size <- [0, 1, 63, 64, 65, 70_000, 3_000_000] do
      term = {:rand.bytes(size), [1.5, %{2 => "é", a: {}}], Enum.to_list(1..div(size, 1000)//1)}
      assert Distribution.call({:nxvk, server}, {:echo, term}, 30_000) == {:ok, term}
    end
  end

  test "a call of a process that is not there exits as one of GenServer does", context do
    to = {:nxvk_99, context.server}
    assert {:noproc, {GenServer, :call, [^to, :info, 5000]}} = catch_exit(call(to))
  end

  defp call(to), do: Distribution.call(to, :info, 5000)

  test "computes, uploads and downloads", %{link: link} do
    data = :rand.bytes(16 * 1024 * 1024)
    t = Nx.from_binary(data, :u8)
    assert t.data.session.address == Link.address(link, t.data.session.pid)
    assert Nx.to_binary(t) == data

    assert Nx.to_number(Nx.sum(Nx.as_type(t[0..99], :s32))) ==
             Enum.sum(for <<x <- binary_part(data, 0, 100)>>, do: x)
  end

  test "hooks and runtime calls reach this VM" do
    test = self()
    fun = fn x -> Nx.Defn.Kernel.hook(Nx.add(x, 1), &send(test, {:hooked, Nx.to_number(&1)})) end
    assert Nx.to_number(Nx.Defn.jit(fun, compiler: NxVulkanGo).(1)) == 2
    assert_receive {:hooked, 2}
  end

  test "the server frees a session whose process ends" do
    before = length(NxVulkanGo.sessions())
    t = Nx.iota({10})
    Nx.to_binary(t)
    opened = NxVulkanGo.sessions()
    mine = fn -> Enum.count(NxVulkanGo.sessions(), &(&1.pid == t.data.session.address)) end
    assert mine.() == 1
    assert length(opened) >= before
    Process.exit(t.data.session.pid, :kill)
    assert eventually(fn -> mine.() == 0 end)
    assert Nx.to_flat_list(Nx.add(Nx.iota({2}), 1)) == [1, 2]
  end

  test "a connection that breaks ends the sessions, and the next operation has another", %{
    link: link
  } do
    t = Nx.iota({10})
    Nx.to_binary(t)
    Process.exit(link.pid, :kill)
    assert eventually(fn -> Session.closed?(t.data.session) end)
    assert_raise Error, fn -> Nx.to_binary(t) end
    assert Nx.to_flat_list(Nx.add(Nx.iota({2}), 1)) == [1, 2]
  end

  test "a server that is killed is told by a monitor", %{server: server, link: link} do
    session = Nx.iota({10}).data.session
    down = Distribution.monitor({:nxvk, server})
    System.cmd("kill", ["-9", "#{Launcher.os_pid()}"])
    assert_receive {:DOWN, ^down, :process, _, {:shutdown, _}}
    refute Process.alive?(link.pid)
    assert eventually(fn -> Session.closed?(session) end)
    assert Nx.to_flat_list(Nx.iota({2})) == [0, 1]
  end
end
