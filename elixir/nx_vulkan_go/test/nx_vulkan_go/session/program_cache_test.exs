defmodule NxVulkanGo.Session.ProgramCacheTest do
  # Which programs the server has: a VM that compiles for ever takes no more memory,
  # here or there, and whatever was forgotten is sent again.
  use NxVulkanGo.FakeCase, async: false

  alias NxVulkanGo.Compiler.{Cache, Constants}
  alias NxVulkanGo.Session
  alias NxVulkanGo.Session.ProgramCache
  alias NxVulkanGo.Session.Registry

  setup :compiling

  defp program(n, size),
    do: %{key: "#{n}", code: :erlang.term_to_binary(String.duplicate("x", size))}

  # What a server has after these instructions.
  defp server(instructions, have) do
    Enum.reduce(instructions, have, fn
      {:program, [], [], [key, _]}, have -> MapSet.put(have, key)
      {:forget, [], [], [keys]}, have -> MapSet.difference(have, MapSet.new(keys))
    end)
  end

  test "the server has what it is believed to have, within the bounds, whatever is used" do
    for seed <- 1..30 do
      :rand.seed(:exsss, {seed, 2, 3})

      programs = %ProgramCache{
        most: 1 + :rand.uniform(20),
        most_bytes: 200 + :rand.uniform(5_000)
      }

      sizes = List.to_tuple(for _ <- 1..60, do: :rand.uniform(300))

      Enum.reduce(1..500, {programs, MapSet.new()}, fn _, {programs, there} ->
        n = min(:rand.uniform(60), :rand.uniform(60))
        %{key: key} = program = program(n, elem(sizes, n - 1))
        {programs, instructions} = ProgramCache.use(programs, program)
        there = server(instructions, there)
        assert MapSet.member?(there, key)
        assert there == programs.known |> Map.keys() |> MapSet.new()

        assert programs.bytes ==
                 programs.known |> Map.values() |> Enum.map(&elem(&1, 1)) |> Enum.sum()

        assert map_size(programs.known) <= programs.most
        assert programs.bytes <= programs.most_bytes or map_size(programs.known) == 1
        {programs, there}
      end)
    end
  end

  test "what is used stays, and using it again changes nothing" do
    {programs, _} =
      Enum.reduce(1..100, {%ProgramCache{most: 8}, []}, fn n, {programs, _} ->
        {programs, _} = ProgramCache.use(programs, program(n, 1))
        ProgramCache.use(programs, program(1, 1))
      end)

    assert {^programs, []} = ProgramCache.use(programs, program(1, 1))
    assert {_, [{:forget, [], [], [_ | _]} | _]} = forgets(programs)
  end

  defp forgets(programs) do
    Enum.find_value(1000..2000, fn n ->
      case ProgramCache.use(programs, program(n, 16 * 1024 * 1024)) do
        {_, [{:forget, _, _, _} | _]} = forgets -> forgets
        _ -> nil
      end
    end)
  end

  # What grows with a VM that compiles.
  defp held(place) do
    %Session{pid: pid} = Registry.fetch!(place)
    :erlang.garbage_collect(pid)

    %{
      atoms: :erlang.system_info(:atom_count),
      cache: Cache.size(),
      captured: :ets.info(Constants, :size),
      terms: :persistent_term.info().count,
      dictionary: length(Process.get_keys()),
      processes: :erlang.system_info(:process_count)
    }
  end

  defp compile_many(numbers) do
    for n <- numbers, reduce: nil do
      _ ->
        fun = fn x -> x |> Nx.add(n) |> Nx.multiply(Nx.subtract(x, n)) end
        assert Nx.to_number(Nx.Defn.jit(fun).(3)) == (3 + n) * (3 - n)
    end
  end

  test "many functions leave nothing behind, on either side", %{place: place, server: server} do
    limit = Cache.limit(500)
    on_exit(fn -> Cache.limit(limit) end)
    again = Nx.Defn.compile(fn x -> Nx.multiply(x, 7) end, [Nx.template({}, :s32)])
    assert Nx.to_number(again.(6)) == 42
    compile_many(1..4_200)
    first = held(place)
    compile_many(4_201..9_000)
    last = held(place)
    assert last.cache == 500
    for {what, n} <- first, do: assert(last[what] <= n + 20, "#{what}: #{n}, then #{last[what]}")
    assert {:ok, programs} = GenServer.call(server, :programs)
    assert programs <= 4_096
    # Forgotten long ago, and sent again.
    assert Nx.to_number(again.(6)) == 42
  end

  test "processes that share a session may all compile at once", %{place: place, server: server} do
    shared = Nx.Defn.compile(fn x -> Nx.add(x, 1) end, [Nx.template({}, :s32)])

    for p <- 1..8 do
      Task.async(fn ->
        Nx.default_backend({NxVulkanGo.Backend, place})

        for n <- 1..700 do
          fun = fn x -> Nx.add(Nx.multiply(x, p), n) end
          value = Nx.Defn.jit_apply(fun, [2], compiler: NxVulkanGo)
          assert Nx.to_number(value) == 2 * p + n
          if rem(n, 50) == 0, do: assert(Nx.to_number(shared.(n)) == n + 1)
        end
      end)
    end
    |> Task.await_many(120_000)

    assert {:ok, programs} = GenServer.call(server, :programs)
    assert programs <= 4_096
  end

  test "a request brings its program along", %{place: place, server: server} do
    session = Registry.fetch!(place)
    assert {:ok, 1} = Session.call(session, :programs, program(1, 10))
    assert {:ok, 1} = Session.call(session, :programs, program(1, 10))
    assert [{:program, [], [], ["1", _]}] = received(server, :program)
  end
end
