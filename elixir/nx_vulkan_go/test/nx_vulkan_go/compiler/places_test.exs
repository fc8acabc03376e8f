defmodule NxVulkanGo.Compiler.PlacesTest do
  # Meshes that are laid on devices of several servers.
  use ExUnit.Case, async: false
  @moduletag :launched

  alias NxVulkanGo.{Nodes, Peer, Places, SeveralDevices}

  setup do
    {peer, servers} = Nodes.start!([["host", "host"], ["host", "host"], ["host"]])
    on_exit(fn -> Peer.stop(peer) end)
    {:ok, peer: peer, servers: servers, names: for({name, _} <- servers, do: name)}
  end

  defp on(peer, function, args), do: :peer.call(peer, Places, function, args, 120_000)

  test "partition n is on the nth place", %{peer: peer, names: [a, b, c]} do
    places = [[server: c], [server: b, device: 1], [server: a, device: 0], [server: b]]
    where = [{c, 0}, {b, 1}, {a, 0}, {b, 0}]

    assert on(peer, :sums, [places, [[1], [2], [3], [4]]]) == for(w <- where, do: {10, w})

    assert on(peer, :sums, [places, [[1], [2]]]) ==
             for(w <- Enum.take(where, 2), do: {3, w})
  end

  test "functions over other places take turns", %{peer: peer, names: [a, b, c]} do
    lists = [
      [[server: a, device: 0], [server: b, device: 0]],
      [[server: a, device: 1], [server: a, device: 0]],
      [[server: b, device: 0], [server: a, device: 0], [server: c]]
    ]

    assert on(peer, :turns, [lists, 4]) == [[6, 6], [12, 12, 12]]
    assert on(peer, :configured, [[[1], [2], [3], [4], [5]]]) == [15, 15, 15, 15, 15]
  end

  test "two VMs use the same places at once, and one goes on when the other ends", context do
    %{peer: peer, names: [a, b, c]} = context
    other = Nodes.another!(peer)
    on_exit(fn -> Peer.stop(other) end)

    lists = [
      for({server, device} <- [{a, 0}, {b, 1}, {c, 0}], do: [server: server, device: device])
    ]

    both = for vm <- [peer, other], do: Task.async(fn -> on(vm, :turns, [lists, 20]) end)
    assert Task.await_many(both, 120_000) == [[[12, 12, 12]], [[12, 12, 12]]]

    busy = Task.async(fn -> on(peer, :turns, [lists, 60]) end)
    gone = Task.async(fn -> catch_exit(on(other, :turns, [lists, 100_000])) end)
    # The rounds before were 20.
    Stream.repeatedly(fn -> on(other, :turned, []) end) |> Enum.find(&(&1 > 20))
    Peer.kill_9(other)
    Task.await(gone)
    assert Task.await(busy, 120_000) == [[12, 12, 12]]
  end

  test "places that cannot be are an error before anything runs", %{peer: peer, names: [a, b, _]} do
    two = [[1], [2]]
    assert {ArgumentError, text} = on(peer, :sums, [[[server: a]], two])
    assert text =~ "2 partitions, and there are 1 places"
    assert {ArgumentError, text} = on(peer, :sums, [[[server: a], [server: a, device: 0]], two])
    assert text =~ "two places are the same device"
    assert {ArgumentError, text} = on(peer, :sums, [[[server: a, gpu: 1], [server: b]], two])
    assert text =~ ":places must be a list"
    assert {ArgumentError, _} = on(peer, :sums, [[], two])

    nowhere = :"nxvk_nowhere@127.0.0.1"
    assert {NxVulkanGo.Error, text} = on(peer, :sums, [[[server: a], [server: nowhere]], two])
    assert text =~ "nxvk_nowhere"

    assert {NxVulkanGo.Error, text} =
             on(peer, :sums, [[[server: a], [server: b, device: 7]], two])

    assert text =~ "7"
    assert [{3, _}, {3, _}] = on(peer, :sums, [[[server: a], [server: b]], two])
  end

  test "a server of another cookie is an error that names it", %{peer: peer, names: [a | _]} do
    {other, [{stranger, _}]} = Nodes.start!([["host"]])
    on_exit(fn -> Peer.stop(other) end)

    assert {NxVulkanGo.Error, text} =
             on(peer, :sums, [[[server: a], [server: stranger]], [[1], [2]]])

    assert text =~ "#{stranger}"
  end

  for signal <- ["KILL", "STOP"] do
    test "training goes on without a server that gets SIG#{signal}", %{peer: peer} = context do
      [{a, _}, {b, port}, _] = context.servers
      places = for server <- [a, b], device <- [0, 1], do: [server: server, device: device]

      {weights, _} =
        Enum.map_reduce(1..12, {places, 0.0}, fn step, {places, kept} ->
          if step == 5, do: signal(port, unquote(signal))
          {places, w, error} = on(peer, :step, [places, kept])
          assert length(places) == if(step < 5, do: 4, else: 2)
          if step == 5, do: assert(error in [:rank_failed, :server_down, :no_connection])
          {w, {places, w}}
        end)

      assert abs(List.last(weights) - 3) < 0.2
      assert weights == Enum.sort(weights)
    end
  end

  defp signal(port, name) do
    {:os_pid, pid} = Port.info(port, :os_pid)
    {_, 0} = System.cmd("kill", ["-#{name}", "#{pid}"])
    on_exit(fn -> System.cmd("kill", ["-KILL", "#{pid}"], stderr_to_stdout: true) end)
  end

  test "a configuration that is no list of places is an error", %{peer: peer} do
    SeveralDevices.set(peer, :mesh, [:one])

    assert_raise ArgumentError, ~r"config :nx_vulkan_go, mesh: must be a list of places", fn ->
      on(peer, :configured, [[[1], [2]]])
    end
  end
end
