defmodule NxVulkanGo.Session.TrackerTest do
  # Who has a slot, and what becomes of its token. The server is a fake.
  use NxVulkanGo.FakeCase, async: false

  alias NxVulkanGo.{Error, Session}
  alias NxVulkanGo.Session.Registry
  alias NxVulkanGo.Session.{Slots, Tracker}

  setup %{place: place}, do: {:ok, session: Registry.fetch!(place)}

  # The tokens that the table of a tracker has.
  defp tokens(session) do
    for {_pid, slots} <- Tuple.to_list(Tracker.lookup(session)),
        {_slot, token} <- :ets.tab2list(slots.tokens),
        do: token
  end

  test "a slot is one value's until it is given back" do
    slots = Slots.new()
    taken = for _ <- 1..16, do: Slots.claim(slots, 5)
    assert hd(taken) == 5
    assert Enum.uniq(taken) == taken
    assert Slots.claim(slots, 5) == nil

    assert Slots.value(Slots.states(slots), 5) == nil
    {token, 0} = Slots.give(slots, 5, 77, 12)
    assert Slots.slot(token) == 5
    assert Slots.value(Slots.states(slots), 5) == 77
    assert Slots.bytes(slots, 5) == 12

    refute Slots.release(slots, 5, 78)
    assert Slots.release(slots, 5, 77)
    refute Slots.release(slots, 5, 77)
    assert Slots.value(Slots.states(slots), 5) == :released
    assert Slots.claim(slots, 5) == nil

    Slots.free(slots, 5)
    assert Slots.claim(slots, 5) == 5
    assert {^token, 1} = Slots.give(slots, 5, 79, 1)
  end

  test "sizes tell the slots of tokens apart" do
    slots = Slots.new()
    all = for slot <- 0..(Slots.count() - 1), do: Slots.claim(slots, slot)
    assert all == Enum.to_list(0..(Slots.count() - 1))
    tokens = for slot <- all, do: elem(Slots.give(slots, slot, slot + 1, 0), 0)
    assert Enum.map(tokens, &Slots.slot/1) == all
    assert tokens |> Enum.map(&byte_size/1) |> Enum.min() > 64
    for size <- [64, 65 + Slots.count()], do: assert(Slots.slot_of_size(size) == nil)
  end

  test "garbage takes half a gigabyte, or a quarter of what is kept", c do
    mb = 1024 * 1024
    live = fn -> div(:atomics.get(c.session.counters, 6), mb) end
    for _ <- 1..100, do: Session.new_value(c.session, 64 * mb)
    assert live.() <= 512 + 64

    kept = for _ <- 1..64, do: Session.new_value(c.session, 64 * mb)
    for _ <- 1..100, do: Session.new_value(c.session, 64 * mb)
    assert live.() in (64 * 64)..(64 * 64 + 1024 + 512)
    assert length(kept) == 64
  end

  test "garbage of the old heap does not pass for what is kept", c do
    mb = 1024 * 1024
    value = fn _ -> Session.new_value(c.session, 64 * mb) end

    for _ <- 1..40 do
      old = value.(1)
      for _ <- 1..2, do: :erlang.garbage_collect(self(), type: :minor)
      assert tuple_size(old) == 3
      Enum.each(1..7, value)
      assert div(:atomics.get(c.session.counters, 6), mb) <= 256 + 512 + 64
    end
  end

  test "a tensor outlives a token that was its slot's before", %{place: place} do
    for _ <- 1..20 do
      gone = for i <- 1..100, do: Nx.tensor([i])
      assert gone |> List.last() |> Nx.to_flat_list() == [100]
      kept = Nx.tensor([1, 2])
      assert buffers(place) >= 1
      assert Nx.to_flat_list(kept) == [1, 2]
    end

    :erlang.garbage_collect()
    assert buffers(place) == 0
  end

  test "a deallocated tensor keeps its slot from others", %{place: place, session: session} do
    t = Nx.tensor([1, 2])
    Nx.backend_deallocate(t)
    for _ <- 1..5_000, do: Nx.tensor([3])
    size = byte_size(t.data.token)
    keeper = t.data.keeper

    others = for i <- 1..2_000, do: Nx.tensor([i])
    same = for o <- others, o.data.keeper == keeper, byte_size(o.data.token) == size, do: o
    assert same == []
    assert buffers(place) == 2_000
    assert Nx.to_flat_list(List.last(others)) == [2_000]
    assert tuple_size(Tracker.lookup(session)) >= 2
    assert Nx.backend_deallocate(t) == :already_deallocated
  end

  test "tokens are let go of when nobody has wanted any for a while", %{session: session} do
    kept = Nx.tensor([7])
    for i <- 1..500, do: Nx.tensor([i])
    :erlang.garbage_collect()
    Session.sweep(session)
    made = length(tokens(session))
    assert made > 100

    # The first word finds that slots have been taken, the second one that none was.
    for _ <- 1..2 do
      Tracker.trim(Tracker.lookup(session))
      Session.sweep(session)
    end

    assert [token] = tokens(session)
    assert token == kept.data.token
    assert Nx.to_flat_list(Nx.add(kept, Nx.tensor([1]))) == [8]
  end

  test "binaries of a handler of telemetry are not taken for tokens", %{session: session} do
    table = :ets.new(:copies, [:public])

    # One of every size, with as many references as a token that no tensor has.
    leave = fn _event, _measurements, _metadata, _config ->
      unless Process.get(:left) do
        left = for size <- 65..(64 + Slots.count()), do: :binary.copy(<<1>>, size)
        for b <- left, do: :ets.insert(table, {byte_size(b), b})
        Process.put(:left, left)
      end
    end

    :telemetry.attach(__MODULE__, [:nx_vulkan_go, :memory, :sweep], leave, nil)
    on_exit(fn -> :telemetry.detach(__MODULE__) end)

    kept = for i <- 1..200, do: Nx.tensor([i])
    for i <- 1..200, do: Nx.tensor([i])
    :erlang.garbage_collect()
    for _ <- 1..3, do: Session.sweep(session)
    assert :ets.info(table, :size) == Slots.count()
    assert Enum.map(kept, &Nx.to_flat_list/1) == for(i <- 1..200, do: [i])
  end

  test "many processes at once lose nothing and leave nothing", context do
    %{place: place, session: session} = context
    trimmer = spawn_link(fn -> trim_again_and_again(session) end)

    results =
      1..16
      |> Task.async_stream(
        fn seed ->
          Nx.default_backend({NxVulkanGo.Backend, place})
          one = Nx.tensor([1])
          all = for i <- 1..200, do: {i + 1, Nx.add(one, i)}
          Enum.take_every(all, seed)
        end,
        max_concurrency: 8,
        timeout: :infinity
      )
      |> Enum.flat_map(fn {:ok, kept} -> kept end)

    assert buffers(place) >= length(results)
    for {expected, t} <- results, do: assert(Nx.to_flat_list(t) == [expected])
    Process.unlink(trimmer)
    Process.exit(trimmer, :kill)
  end

  # Bytes of the values that live, as the session counts them.
  defp live_bytes(session), do: :atomics.get(session.counters, 6)

  test "what is deallocated while trackers look for garbage is freed once", context do
    %{place: place, session: session} = context
    before = live_bytes(session)
    trimmer = spawn_link(fn -> trim_again_and_again(session) end)

    1..8
    |> Task.async_stream(
      fn _ ->
        Nx.default_backend({NxVulkanGo.Backend, place})

        for _ <- 1..2_000 do
          assert :ok = Nx.backend_deallocate(Nx.tensor([1, 2, 3, 4]))
          :erlang.garbage_collect()
        end
      end,
      timeout: :infinity
    )
    |> Stream.run()

    await_buffers(place, 0)
    assert live_bytes(session) == before
    Process.unlink(trimmer)
    Process.exit(trimmer, :kill)
  end

  defp trim_again_and_again(session) do
    Tracker.trim(Tracker.lookup(session))
    Tracker.sweep(Tracker.lookup(session))

    receive do
    after
      1 -> trim_again_and_again(session)
    end
  end

  test "a sweep waits for a tracker that is kept waiting, and for none that has died", %{
    session: session
  } do
    {pid, _slots} = elem(Tracker.lookup(session), 0)
    :erlang.suspend_process(pid)
    waiting = Task.async(fn -> Tracker.sweep_and_wait(session, :routine) end)
    assert Task.yield(waiting, 1_500) == nil
    :erlang.resume_process(pid)
    assert Task.await(waiting) == 0

    :erlang.suspend_process(pid)
    waiting = Task.async(fn -> Tracker.sweep_and_wait(session, :routine) end)
    Process.exit(pid, :kill)
    assert Task.await(waiting) == 0
  end

  test "processes that are killed in the middle leave nothing", %{place: place} do
    for _ <- 1..200 do
      pid =
        spawn(fn ->
          Nx.default_backend({NxVulkanGo.Backend, place})
          t = Nx.tensor([1])
          Enum.reduce(1..1_000_000, t, fn _, t -> Nx.add(t, 1) end)
        end)

      receive do
      after
        :rand.uniform(3) -> Process.exit(pid, :kill)
      end
    end

    await_buffers(place, 0)
  end

  test "a value of a session that has just died is an error", %{session: session} do
    ref = Process.monitor(session.pid)
    # Nobody is told before this test has tried.
    :sys.suspend(Registry)
    Process.exit(session.pid, :kill)
    assert_receive {:DOWN, ^ref, _, _, _}
    assert_raise Error, ~r/stale/, fn -> Session.new_value(session, 4) end
  after
    :sys.resume(Registry)
  end
end
