defmodule NxVulkanGo.Sampler.StreamTest do
  # Chunks on their way, and runs whose reader is slow, leaves or dies.
  use ExUnit.Case, async: true

  import NxVulkanGo.Eventually

  alias NxVulkanGo.Sampler

  defp normal,
    do: Sampler.compile(&Nx.sum(Nx.multiply(-0.5, Nx.multiply(&1, &1))), Nx.template({2}, :f64))

  test "stream/2 gives the draws of nuts/2, and may be left" do
    session = Sampler.session(normal())
    options = [chains: 2, warmup: 20, draws: 30, chunk: 7, seed: 5]
    %{draws: draws, stats: stats} = Sampler.nuts(session, options)
    chunks = Enum.to_list(Sampler.stream(session, options))

    for chain <- 0..1 do
      mine = Enum.filter(chunks, &(&1.chain == chain))
      assert Enum.all?(mine, &(&1.phase == :draws))
      assert Enum.map(mine, &Nx.axis_size(&1.draws, 0)) == [7, 7, 7, 7, 2]
      assert Nx.concatenate(Enum.map(mine, & &1.draws)) == draws[chain]
      assert Nx.concatenate(Enum.map(mine, & &1.stats.energy)) == stats.energy[chain]
    end

    label = "chains of #{node()} #{inspect(self())}"
    assert [%{chain: _}] = Enum.take(Sampler.stream(session, draws: 1_000_000, chunk: 5), 1)
    assert over?(label)
    refute_received {_pid, _}
  end

  test "a slow consumer of stream/2 has two chunks of a chain before it" do
    session = Sampler.session(normal())
    options = [chains: 1, warmup: 0, adapt: false, step: 0.5, draws: 1_000_000, chunk: 1]

    taken =
      Enum.reduce_while(Sampler.stream(session, options), 0, fn _chunk, taken ->
        if taken in [0, 20], do: assert_backlog(2)
        if taken == 20, do: {:halt, taken}, else: {:cont, taken + 1}
      end)

    assert taken == 20
  end

  # So many messages come while nobody takes any, and no more however long the node is busy
  # with other requests.
  defp assert_backlog(count) do
    eventually(fn -> backlog() == count end)
    for _ <- 1..50, do: NxVulkanGo.metrics()
    assert backlog() == count
  end

  defp backlog, do: self() |> Process.info(:message_queue_len) |> elem(1)

  test "a caller that dies ends its run" do
    model = normal()
    me = self()

    pid =
      spawn(fn ->
        Sampler.nuts(model,
          draws: 1_000_000,
          chains: 2,
          chunk: 10,
          progress: fn _ -> send(me, :on) end
        )
      end)

    assert_receive :on
    label = "chains of #{node()} #{inspect(pid)}"
    assert session?(label)
    Process.exit(pid, :kill)
    assert over?(label)
  end

  defp session?(label), do: Enum.any?(NxVulkanGo.sessions(), &(&1.label == label))

  # The server has no session of this label any more.
  defp over?(label), do: eventually(fn -> not session?(label) end)
end
