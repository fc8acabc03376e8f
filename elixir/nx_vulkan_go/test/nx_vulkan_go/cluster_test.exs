defmodule NxVulkanGo.ClusterTest do
  # Servers that are found, their load, and where sessions are placed.
  use ExUnit.Case, async: false
  @moduletag :launched

  alias NxVulkanGo.{Clustered, Eventually, Peer, SeveralDevices}

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

  test "servings of several VMs share requests by their weights, and one goes on alone" do
    %{server: server} = NxVulkanGo.Session.Registry.fetch!([])
    Peer.name_vm!()
    name = :"Shared#{System.unique_integer([:positive])}"

    [light, heavy] =
      for {factor, weight} <- [{10, 1}, {100, 3}] do
        vm = Peer.start!(server)
        on_exit(fn -> Peer.stop(vm) end)
        :ok = Peer.on(vm, :serve, [server, name, factor, weight])
        vm
      end

    ask = fn count ->
      1..count
      |> Task.async_stream(
        fn i ->
          batch = Nx.Batch.stack([Nx.tensor([i], backend: Nx.BinaryBackend)])

          result = Nx.Serving.batched_run({:distributed, name}, batch)

          assert [product] = Nx.to_flat_list(result)
          assert product in [10 * i, 100 * i]
          div(product, i)
        end,
        timeout: :infinity
      )
      |> Enum.frequencies_by(&elem(&1, 1))
    end

    # The VMs have told each other of their servings.
    Eventually.eventually(fn -> map_size(ask.(20)) == 2 end)
    shares = ask.(400)
    assert_in_delta shares[100] / 400, 0.75, 0.12
    Peer.stop(light)
    Eventually.eventually(fn -> ask.(20) == %{100 => 20} end)
    assert ask.(40) == %{100 => 40}
    Peer.stop(heavy)
  end
end
