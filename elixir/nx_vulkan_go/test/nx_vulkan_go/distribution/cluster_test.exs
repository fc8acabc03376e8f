defmodule NxVulkanGo.Distribution.ClusterTest do
  # A tensor that is sent to another BEAM node is used there, on the same server.
  use ExUnit.Case, async: false

  import NxVulkanGo.Eventually

  alias NxVulkanGo.Peer

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    server = NxVulkanGo.connect()
    peer = Peer.start!(server)
    on_exit(fn -> Peer.stop(peer) end)
    {:ok, peer: peer, server: server}
  end

  test "computes with it, reads it, inspects it", %{peer: peer} do
    t = Nx.iota({4}, type: :f32)
    assert Peer.on(peer, :double, [t]) == [0.0, 2.0, 4.0, 6.0]
    assert Peer.on(peer, :read, [t]) == [0.0, 1.0, 2.0, 3.0]
    assert Peer.on(peer, :show, [t]) =~ "[0.0, 1.0, 2.0, 3.0]"
    assert Nx.to_flat_list(t) == [0.0, 1.0, 2.0, 3.0]
  end

  test "the receiver keeps it once it has used it", %{peer: peer, server: server} do
    t = Nx.iota({10})
    holder = Peer.on(peer, :hold, [t])
    assert Nx.backend_deallocate(t) == :ok
    assert Peer.on(peer, :buffers, [server]) == 1
    assert Peer.on(peer, :sum, [holder]) == 45
    eventually(fn -> Peer.on(peer, :buffers, [server]) == 0 end)
  end

  test "a tensor made there is used here", %{peer: peer, server: server} do
    {t, holder} = Peer.on(peer, :make, [server])
    assert Nx.to_flat_list(Nx.multiply(t, 3)) == [0, 3, 6]
    Peer.on(peer, :kill, [holder])
    eventually(fn -> Peer.on(peer, :buffers, [server]) == 0 end)
    assert Nx.to_flat_list(t) == [0, 1, 2]
    assert Nx.to_flat_list(Nx.backend_copy(t, NxVulkanGo.Backend)) == [0, 1, 2]
  end

  test "a lease holds a tensor until it is used elsewhere", %{peer: peer, server: server} do
    {t, lease} = Peer.on(peer, :lease, [server])
    assert Peer.on(peer, :buffers, [server]) == 1
    assert Nx.to_flat_list(Nx.add(t, 1)) == [1, 2, 3]
    eventually(fn -> not Peer.on(peer, :alive?, [lease]) end)
    eventually(fn -> Peer.on(peer, :buffers, [server]) == 0 end)
    assert Nx.to_flat_list(t) == [0, 1, 2]
  end

  test "a node that is killed leaves nothing", %{peer: peer, server: server} do
    NxVulkanGo.sync()
    before = length(NxVulkanGo.sessions())
    {_t, _holder} = Peer.on(peer, :make, [server])
    eventually(fn -> length(NxVulkanGo.sessions()) == before + 1 end)
    Peer.kill_9(peer)
    eventually(fn -> length(NxVulkanGo.sessions()) == before end)
  end
end
