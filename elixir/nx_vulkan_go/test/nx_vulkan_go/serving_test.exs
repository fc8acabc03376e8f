defmodule NxVulkanGo.ServingTest do
  # Nx.Serving on a device: batches of several processes, hooks that stream, clients that leave.
  use ExUnit.Case, async: false

  import Nx.Defn
  import NxVulkanGo.Endless, only: [await_all: 0]

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    test = self()

    tell = fn [_, event], measurements, metadata, _ ->
      send(test, {event, measurements, metadata})
    end

    :telemetry.attach(__MODULE__, [:nx_vulkan_go, :hook], tell, nil)
    on_exit(fn -> :telemetry.detach(__MODULE__) end)
  end

  # Generates numbers as a model does tokens: each from the one before it, and tells each.
  defn generate(x) do
    {x, _} =
      while {x, i = 0}, i < 5 do
        x = Nx.remainder(x * 7 + 3, 1009)
        {told(x), i + 1}
      end

    x
  end

  defn endless(x) do
    while x, Nx.all(x > 0) do
      told(x + 1 - 1)
    end
  end

  if Code.ensure_loaded?(Nx.Defn.Kernel) and function_exported?(Nx.Defn.Kernel, :io_call, 2) do
    defnp told(x), do: io_call(x, :token)
  else
    defnp told(x), do: hook(x, :token)
  end

  defp numbers(x), do: x |> Stream.iterate(&rem(&1 * 7 + 3, 1009)) |> Enum.take(6) |> tl()

  defp serving(fun \\ &generate/1), do: Nx.Serving.jit(fun, compiler: NxVulkanGo)

  defp batch(list), do: Nx.Batch.concatenate([Nx.tensor(list)])

  test "clients of several processes share batches, and each gets its own rows" do
    test = self()
    double = fn x -> Nx.multiply(x, 2) end

    batches = fn key, options ->
      run = Nx.Defn.jit(double, [compiler: NxVulkanGo] ++ options)

      fn batch ->
        send(test, {:batch, key, batch.size}) && run.(Nx.Defn.jit_apply(& &1, [batch]))
      end
    end

    start_supervised!(
      {Nx.Serving,
       serving: Nx.Serving.new(batches), name: :doubles, batch_size: 4, batch_timeout: 60_000}
    )

    answers =
      for i <- 1..8 do
        Task.async(fn -> {i, Nx.to_flat_list(Nx.Serving.batched_run(:doubles, batch([i])))} end)
      end

    assert Enum.sort(Task.await_many(answers)) == for(i <- 1..8, do: {i, [2 * i]})
    for _ <- 1..2, do: assert_received({:batch, _, 4})
    refute_received {:batch, _, _}
  end

  test "hooks stream each round to the clients of a server, and telemetry has the times" do
    start_supervised!(
      {Nx.Serving,
       serving: Nx.Serving.streaming(serving(), hooks: [:token]),
       name: :texts,
       batch_size: 3,
       batch_timeout: 20}
    )

    clients =
      for x <- [11, 500, 77] do
        Task.async(fn ->
          events = Enum.to_list(Nx.Serving.batched_run(:texts, batch([x])))

          {x, for({:token, t} <- events, do: Nx.to_number(t[0])),
           for({:batch, t, _} <- events, do: Nx.to_number(t[0]))}
        end)
      end

    for {x, streamed, last} <- Task.await_many(clients) do
      assert streamed == numbers(x)
      assert last == [List.last(numbers(x))]
    end

    assert_received {:hook, first, %{name: :token, device: _, server: _, key: key}}
    assert %{count: 1, elapsed: elapsed, interval: elapsed} = first
    assert elapsed > 0

    for count <- 2..5 do
      assert_received {:hook, %{count: ^count} = next, %{name: :token, key: ^key}}
      assert next.interval >= 0 and next.elapsed >= next.interval + elapsed
    end
  end

  test "a client that is killed in the middle of what it runs ends that within a round" do
    NxVulkanGo.sweep()
    await_all()
    before = NxVulkanGo.memory().session.buffers
    test = self()

    client =
      spawn(fn ->
        turning = Nx.Serving.streaming(serving(&endless/1), hooks: [:token])
        turning |> Nx.Serving.run(batch([1])) |> Enum.each(&send(test, {:came, elem(&1, 0)}))
      end)

    for _ <- 1..3, do: assert_receive({:came, :token}, 30_000)
    ref = Process.monitor(client)
    Process.exit(client, :kill)
    assert_receive {:DOWN, ^ref, _, _, :killed}
    # Waits for all that runs: the loop would go on for ever.
    await_all()
    NxVulkanGo.sweep()
    await_all()
    assert NxVulkanGo.memory().session.buffers <= before
  end

  test "what a client has uploaded that is killed before it asks for more is freed" do
    handler = {__MODULE__, :killed}
    host = Nx.iota({3, 400}, backend: Nx.BinaryBackend)
    there = Nx.iota({3, 400})
    NxVulkanGo.sweep()
    await_all()
    before = NxVulkanGo.memory().session

    # The second of three operands has come when the process dies that sends them.
    dies = fn _, _, _, _ ->
      sent = Process.get(:sent, 0) + 1
      Process.put(:sent, sent)
      if Process.get(:dies) == sent, do: Process.exit(self(), :kill)
    end

    :telemetry.attach(handler, [:nx_vulkan_go, :upload, :stop], dies, nil)
    on_exit(fn -> :telemetry.detach(handler) end)
    compiled = Nx.Defn.jit(&Nx.add(Nx.add(&1, &2), &3), compiler: NxVulkanGo)
    others = for n <- 1..2, do: Nx.add(host, n) |> Nx.backend_copy(Nx.BinaryBackend)

    for work <- [
          fn -> Nx.select(there, host, hd(others)) end,
          fn -> apply(compiled, [host | others]) end
        ],
        dies <- [1, 2] do
      {client, ref} =
        spawn_monitor(fn ->
          Nx.default_backend(NxVulkanGo.Backend)
          Process.put(:dies, dies)
          work.()
        end)

      assert_receive {:DOWN, ^ref, _, ^client, :killed}, 30_000
    end

    await_all()
    NxVulkanGo.sweep()
    await_all()
    assert NxVulkanGo.memory().session.bytes <= before.bytes
    assert Nx.to_number(compiled.(host, host, host)[2][399]) == 3 * 1199
  end

  test "a server serves others when a client of its batch is killed" do
    start_supervised!(
      {Nx.Serving,
       serving: Nx.Serving.streaming(serving(), hooks: [:token]),
       name: :left,
       batch_size: 2,
       batch_timeout: 20}
    )

    leaving =
      spawn(fn ->
        :left
        |> Nx.Serving.batched_run(batch([5]))
        |> Enum.each(fn _ -> Process.exit(self(), :kill) end)
      end)

    ref = Process.monitor(leaving)
    assert_receive {:DOWN, ^ref, _, _, :killed}, 30_000

    for x <- [8, 9] do
      assert numbers(x) ==
               for(
                 {:token, t} <- Nx.Serving.batched_run(:left, batch([x])),
                 do: Nx.to_number(t[0])
               )
    end
  end
end
