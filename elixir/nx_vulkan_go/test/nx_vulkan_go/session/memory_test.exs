defmodule NxVulkanGo.Session.MemoryTest do
  # A session that may have 4 MB, so that running out of memory is quick.
  use ExUnit.Case, async: false

  alias NxVulkanGo.Error
  alias NxVulkanGo.Session.Registry

  @limit 4 * 1024 * 1024
  @quarter_megabyte {65_536}

  setup do
    Application.put_env(:nx_vulkan_go, :limit, @limit)
    Application.put_env(:nx_vulkan_go, :weight, 20)
    reopen()

    on_exit(fn ->
      for key <- [:limit, :weight], do: Application.delete_env(:nx_vulkan_go, key)
      reopen()
    end)

    Nx.default_backend(NxVulkanGo.Backend)
    :ok
  end

  # The limit is told when a session is opened.
  defp reopen do
    session = Registry.fetch!([])
    ref = Process.monitor(session.pid)
    send(session.pid, :stale)
    assert_receive {:DOWN, ^ref, _, _, _}
  end

  test "garbage is collected before anybody sees an error" do
    for i <- 1..200, do: Nx.broadcast(Nx.tensor(i, type: :f32), @quarter_megabyte)
    last = Nx.broadcast(Nx.tensor(7.0), @quarter_megabyte)
    assert Nx.to_number(last[65_535]) == 7.0
  end

  test "garbage of processes that sleep is collected too" do
    for _ <- 1..8 do
      test = self()

      spawn_link(fn ->
        Nx.default_backend(NxVulkanGo.Backend)
        for i <- 1..2, do: Nx.to_binary(Nx.broadcast(Nx.tensor(i), @quarter_megabyte), limit: 1)
        send(test, :made)
        Process.sleep(:infinity)
      end)

      assert_receive :made
    end

    kept = for i <- 1..12, do: Nx.broadcast(Nx.tensor(i), @quarter_megabyte)
    for {t, i} <- Enum.with_index(kept, 1), do: assert(Nx.to_number(t[0]) == i)
  end

  test "sessions with a weight compute, those of chains too" do
    assert Nx.to_flat_list(Nx.add(Nx.tensor([1, 2]), 1)) == [2, 3]
    density = fn q -> Nx.multiply(-0.5, Nx.sum(Nx.multiply(q, q))) end
    model = NxVulkanGo.Sampler.compile(density, Nx.template({2}, :f64))
    result = NxVulkanGo.Sampler.nuts(model, chains: 1, warmup: 10, draws: 10, progress: false)
    assert Nx.shape(result.draws) == {1, 10, 2}
  end

  test "too much that lives is an error, and what is there stays" do
    kept = for i <- 1..10, do: Nx.broadcast(Nx.tensor(i), @quarter_megabyte)
    large = Nx.broadcast(Nx.tensor(1.0), {2_000_000})
    error = assert_raise(Error, fn -> Nx.to_binary(large) end)
    assert error.kind in [:limit, :out_of_memory]
    for {t, i} <- Enum.with_index(kept, 1), do: assert(Nx.to_number(t[0]) == i)
    assert %{session: %{limit: @limit}} = NxVulkanGo.memory()
  end
end
