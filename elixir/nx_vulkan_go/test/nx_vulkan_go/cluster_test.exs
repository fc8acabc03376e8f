defmodule NxVulkanGo.ClusterTest do
  # Servers that are found, their load, and where sessions are placed.
  use ExUnit.Case, async: false
  @moduletag :launched

  alias NxVulkanGo.{Clustered, SeveralDevices}

  setup do
    {:ok, peer: SeveralDevices.start_for_tests!(["host", "host", "host"])}
  end

  defp on(peer, function, args \\ []), do: :peer.call(peer, Clustered, function, args, 240_000)

  test "a VM knows its own server once that runs, and each of its devices", %{peer: peer} do
    assert on(peer, :servers) == []
    [server] = on(peer, :start)
    devices = on(peer, :devices)

    assert for(d <- devices, do: {d.server, d.index, d.waiting}) ==
             for(i <- 0..2, do: {server, i, 0})

    assert Enum.all?(devices, &(&1.used == 0 and is_binary(&1.name)))
  end

  test "an announced server is known until it is withdrawn, and one that does not answer is named",
       %{peer: peer} do
    on(peer, :start)
    nowhere = :"nxvk_nowhere@127.0.0.1"
    assert on(peer, :announced, [nowhere]) |> Enum.member?(nowhere)
    assert [{^nowhere, text}] = on(peer, :unreachable, [[]])
    assert text =~ "nxvk_nowhere"
    assert length(on(peer, :devices)) == 3
    refute on(peer, :withdrawn, [nowhere]) |> Enum.member?(nowhere)
    assert [{^nowhere, _}] = on(peer, :unreachable, [[servers: [nowhere]]])
  end

  test "the least used device is that with the least memory in use, and :auto stays there", %{
    peer: peer
  } do
    assert on(peer, :placed, [[{0, 2_000_000}, {1, 1_000_000}]]) == {2, 2}
  end

  test "without any server there is no least used device", %{peer: peer} do
    assert {:error, text} = on(peer, :least_used)
    assert text =~ "announce one"
  end

  test "a serving has a partition on each device", %{peer: peer} do
    assert {sums, [0, 1, 2]} = on(peer, :serving, [12])
    assert sums == for(i <- 1..12, do: [i * 1.0, i * 2.0])
  end
end
