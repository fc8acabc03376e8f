defmodule NxVulkanGo.SessionTest do
  # What the client does on its own: order, batches, liveness. The server is a fake.
  use NxVulkanGo.FakeCase, async: false

  alias NxVulkanGo.{Error, Session}
  alias NxVulkanGo.Session.Registry

  test "an operation and a read" do
    t = Nx.tensor([1.0, 2.0, 3.0])
    assert Nx.to_flat_list(Nx.add(t, 10)) == [11.0, 12.0, 13.0]
  end

  test "scalars need no message", %{place: place} do
    assert Nx.to_number(Nx.tensor(5)) == 5
    assert buffers(place) == 0
  end

  test "operands of another backend", %{place: place} do
    small = Nx.tensor([1, 2], backend: Nx.BinaryBackend)
    large = Nx.iota({100}, backend: Nx.BinaryBackend)
    assert Nx.to_flat_list(Nx.add(small, Nx.tensor([1, 1]))) == [2, 3]
    assert Nx.to_flat_list(Nx.add(large, Nx.tensor([1]))) == Enum.to_list(1..100)
    assert buffers(place) == 0
  end

  test "a dropped tensor is gone after a sweep", %{place: place} do
    t = Nx.tensor([1, 2, 3])
    for _ <- 1..100, do: Nx.add(t, 1)
    assert buffers(place) == 1
    assert Nx.to_flat_list(t) == [1, 2, 3]
  end

  test "a tensor outlives the process that made it", %{place: place} do
    t = Nx.tensor([1, 2, 3])
    sum = Task.await(Task.async(fn -> Nx.add(t, t) end))
    assert buffers(place) == 2
    assert Nx.to_flat_list(Nx.subtract(sum, t)) == [1, 2, 3]
  end

  test "a tensor in ETS lives", %{place: place} do
    table = :ets.new(:tensors, [:public])
    backend = {NxVulkanGo.Backend, place}

    Task.await(
      Task.async(fn -> :ets.insert(table, {:t, Nx.tensor([7, 8], backend: backend)}) end)
    )

    assert buffers(place) == 1
    assert [{:t, t}] = :ets.lookup(table, :t)
    assert Nx.to_flat_list(t) == [7, 8]
    :ets.delete(table, :t)
    Process.put(:t, t)
    assert buffers(place) == 1
    Process.delete(:t)
  end

  test "10,000 processes that make three tensors each leave nothing", %{place: place} do
    1..10_000
    |> Task.async_stream(
      fn i ->
        Nx.default_backend({NxVulkanGo.Backend, place})
        t = Nx.tensor([i, i])
        Nx.multiply(Nx.add(t, t), 2)
        :ok
      end,
      timeout: :infinity
    )
    |> Stream.run()

    await_buffers(place, 0)
  end

  test "100,000 operations in a row keep memory flat and lose nothing", %{place: place} do
    one = Nx.tensor([1])
    last = Enum.reduce(1..100_000, one, fn _, t -> Nx.add(t, one) end)
    assert Nx.to_flat_list(last) == [100_001]
    assert buffers(place) == 2
    assert NxVulkanGo.memory(place).session.messages < 100_000
    assert Nx.to_flat_list(last) == [100_001]
    assert Nx.to_flat_list(one) == [1]
  end

  test "what lives stays while much is dropped" do
    one = Nx.tensor([1])

    kept =
      for i <- 1..300 do
        for _ <- 1..100, do: Nx.add(one, i)
        {i + 1, Nx.add(one, i)}
      end

    for {expected, t} <- kept, do: assert(Nx.to_flat_list(t) == [expected])
  end

  test "as many living tensors as one likes", %{place: place} do
    tensors = for i <- 1..20_000, do: Nx.tensor([i])
    assert buffers(place) == 20_000
    assert tensors |> List.last() |> Nx.to_flat_list() == [20_000]
    assert tensors |> hd() |> Nx.to_flat_list() == [1]
  end

  test "deallocation frees at once, and once", %{place: place} do
    t = Nx.tensor([1, 2])
    assert Nx.backend_deallocate(t) == :ok
    assert NxVulkanGo.memory(place).session.buffers == 0
    assert Nx.backend_deallocate(t) == :already_deallocated
    assert_raise Error, ~r/deallocated/, fn -> Nx.to_binary(t) end
    assert inspect(t) =~ "<deallocated>"
  end

  test "what waits goes along with a call", %{place: place, server: server} do
    session = Registry.fetch!(place)
    t = Nx.tensor([1, 2])
    assert Nx.to_flat_list(t) == [1, 2]
    before = FakeServer.along(server)

    :erlang.suspend_process(session.pid)
    ref = make_ref()
    late = Enum.reduce(1..3, t, fn _, t -> Nx.multiply(t, 2) end)
    send(session.pid, {:call, {self(), ref}, {:download, late.data.id}})
    later = Nx.add(late, t)
    :erlang.resume_process(session.pid)

    assert_receive {^ref, {:ok, <<8::32-little, 16::32-little>>}}
    assert FakeServer.along(server) == before + 3
    assert Nx.to_flat_list(later) == [9, 18]
  end

  test "an error stays with the result", %{place: place} do
    session = Registry.fetch!(place)
    t = Nx.tensor([1])
    Session.instruct(session, {:fail, [{1_000_000, :s32, {1}}], [], []})
    failed = put_in(t.data.id, 1_000_000)
    later = Nx.add(failed, t)
    assert_raise Error, ~r/fail\(\): as asked/, fn -> Nx.to_binary(later) end
    assert Nx.to_flat_list(Nx.add(t, t)) == [2]
  end

  test "pressure makes callers collect", %{place: place, server: server} do
    session = Registry.fetch!(place)
    test = self()
    dictionary = Process.get()

    # One that has begun with the dictionary of another, as evaluators of Livebook do.
    holder =
      spawn_link(fn ->
        for {key, value} <- dictionary, do: Process.put(key, value)
        Nx.default_backend({NxVulkanGo.Backend, place})
        for i <- 1..50, do: Nx.tensor([i])
        send(test, :made)
        Process.sleep(:infinity)
      end)

    assert_receive :made
    send(session.pid, {:nxvk_sweep, server, make_ref()})
    await_buffers(place, 0)
    Process.unlink(holder)
    Process.exit(holder, :kill)
  end

  test "callers wait when they are as far ahead as the server allows", %{place: place} do
    session = Registry.fetch!(place)
    t = Nx.tensor([1])
    allow = &send(session.pid, {:nxvk_flow, node(), &1, 64})
    test = self()

    # One that makes many values, and tells how many it has made.
    make = fn count ->
      Nx.default_backend({NxVulkanGo.Backend, place})

      for i <- 1..count do
        Nx.add(t, 1)
        send(test, {self(), i})
      end
    end

    allow.(:atomics.get(session.counters, 1) + 100)
    Session.flush(session)
    many = spawn_link(fn -> make.(1_000) end)
    assert_receive {^many, 100}
    refute_receive {^many, 170}, 100

    # It does not hold up others that make few.
    few = spawn_link(fn -> make.(10) end)
    assert_receive {^few, 10}
    assert Nx.to_flat_list(Nx.add(t, 1)) == [2]

    allow.(2 ** 52)
    assert_receive {^many, 1_000}
  end

  test "one that waits for its turn meets the end of the session", %{place: place} do
    session = Registry.fetch!(place)
    t = Nx.tensor([1])
    send(session.pid, {:nxvk_flow, node(), 1, 2})
    Session.flush(session)

    waiting =
      Task.async(fn -> assert_raise Error, fn -> for _ <- 1..100, do: Nx.add(t, 1) end end)

    refute Task.yield(waiting, 100)
    Process.exit(session.pid, :kill)
    Task.await(waiting)
  end

  test "a session that is killed is opened again", %{place: place} do
    t = Nx.tensor([1, 2])
    session = Registry.fetch!(place)
    ref = Process.monitor(session.pid)
    Process.exit(session.pid, :kill)
    assert_receive {:DOWN, ^ref, _, _, _}
    :sys.get_state(Registry)
    assert_raise Error, ~r/stale/, fn -> Nx.add(t, 1) end
    assert Nx.to_flat_list(Nx.add(Nx.tensor([1, 2]), 1)) == [2, 3]
  end

  test "a server that dies is an error within a second, and the next one works", context do
    t = Nx.tensor([1, 2])
    assert Nx.to_flat_list(t) == [1, 2]
    FakeServer.stop(context.server)
    {micros, error} = :timer.tc(fn -> assert_raise(Error, fn -> Nx.to_binary(t) end) end)
    assert error.kind in [:server_down, :stale]
    assert micros < 1_000_000
    assert inspect(t) =~ ~r/<(lost|unreachable)/

    FakeServer.start(context.place[:device])
    assert Nx.to_flat_list(Nx.add(Nx.tensor([1, 2]), 1)) == [2, 3]
    assert_raise Error, ~r/stale/, fn -> Nx.add(t, 1) end
  end

  test "a process is told of once a session, and remembers one session a device", context do
    t = Nx.tensor([1, 2])
    keys = Process.get_keys()

    for _ <- 1..3 do
      session = Registry.fetch!(context.place)
      Nx.add(Nx.tensor([1]), 1)
      Process.exit(session.pid, :kill)
      ref = Process.monitor(session.pid)
      assert_receive {:DOWN, ^ref, _, _, _}
      :sys.get_state(Registry)
    end

    assert Nx.to_flat_list(Nx.tensor([3])) == [3]
    assert Process.get_keys() -- keys == []
    assert t.data.session != Registry.fetch!(context.place)
  end

  test "a server with another table of operations is refused with both versions", context do
    said = "the client's op table (digest a) differs from that of this nxvk-node 0.1.0 (digest b)"
    FakeServer.stop(context.server)
    FakeServer.start(context.place[:device], refuse: {:bad_argument, nil, [], said})
    error = assert_raise(Error, fn -> Nx.to_flat_list(Nx.tensor([1])) end)
    assert error.kind == :incompatible
    version = Mix.Project.config()[:version]
    assert error.reason =~ said

    assert error.reason =~
             "this nx_vulkan_go is of version #{version} (digest #{NxVulkanGo.Ops.digest()})"

    assert error.reason =~
             "install nxvk-node #{version} there, or nx_vulkan_go of its version here"
  end

  test "a server of another version is refused, a commit of this version is not", context do
    version = Mix.Project.config()[:version]
    FakeServer.stop(context.server)
    server = FakeServer.start(context.place[:device], version: "0.0.9+1a2b3c4")
    error = assert_raise(Error, fn -> Nx.to_flat_list(Nx.tensor([1])) end)
    assert error.kind == :incompatible

    assert error.reason =~
             "nxvk-node of #{node()} is of version 0.0.9+1a2b3c4, and this nx_vulkan_go is of version #{version}"

    FakeServer.stop(server)
    FakeServer.start(context.place[:device], version: version <> "+1a2b3c4.dirty")
    assert Nx.to_flat_list(Nx.tensor([1])) == [1]
  end

  test "limit, deadline and weight of the configuration are the session's", context do
    Application.put_env(:nx_vulkan_go, :limit, 4096)
    Application.put_env(:nx_vulkan_go, :deadline, 250)
    Application.put_env(:nx_vulkan_go, :weight, 20)

    on_exit(fn ->
      for key <- [:limit, :deadline, :weight], do: Application.delete_env(:nx_vulkan_go, key)
    end)

    test = self()

    refuse = fn options ->
      send(test, {:opened, options})
      {:bad_argument, nil, [], "seen"}
    end

    FakeServer.stop(context.server)
    FakeServer.start(context.place[:device], refuse: refuse)
    assert_raise(Error, ~r/seen/, fn -> Nx.to_flat_list(Nx.tensor([1])) end)
    assert_receive {:opened, %{limit: 4096, deadline: 250, weight: 20}}
  end
end
