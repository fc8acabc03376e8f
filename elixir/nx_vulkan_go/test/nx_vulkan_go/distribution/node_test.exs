defmodule NxVulkanGo.Distribution.NodeTest do
  # A real server: its life, its death, its memory.
  use ExUnit.Case, async: false

  import NxVulkanGo.Eventually

  alias NxVulkanGo.{Error, Launcher}
  alias NxVulkanGo.Session.Registry

  # What functions of other tests have captured is kept on the device, and goes with its session.
  setup_all do
    pid = Registry.fetch!([]).pid
    ref = Process.monitor(pid)
    Process.exit(pid, :kill)
    assert_receive {:DOWN, ^ref, _, _, _}
    # It has closed the session when it answers.
    :sys.get_state(Registry)
    :ok
  end

  # What the test before has made goes with its process.
  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    assert eventually(fn -> buffers() == 0 end)
    :ok
  end

  defp buffers do
    NxVulkanGo.sweep()
    NxVulkanGo.memory().session.buffers
  end

  test "devices, info and memory" do
    assert [%{index: 0, name: name} | _] = NxVulkanGo.devices()
    assert is_binary(name)
    assert %{digest: digest} = NxVulkanGo.info()
    assert digest == NxVulkanGo.Ops.digest()
    t = Nx.iota({1000})
    assert %{session: %{bytes: bytes}, device: %{}} = NxVulkanGo.memory()
    assert bytes >= 4000
    assert Nx.to_number(t[999]) == 999
    labels = for session <- NxVulkanGo.sessions(), do: session.label
    assert Enum.any?(labels, &(&1 =~ ~r/^nx_vulkan_go of .* \(#{:os.getpid()}\)$/))
  end

  test "a device that is not there is named, and where to look" do
    error = assert_raise NxVulkanGo.Error, fn -> NxVulkanGo.memory(device: 99) end
    assert error.kind == :no_device
    assert Exception.message(error) =~ ~r/has no device server nxvk_99: NxVulkanGo.devices/
    refute Exception.message(error) =~ "lost"
  end

  test "a tensor of a task lives, one in ETS lives, a dropped one goes" do
    table = :ets.new(:tensors, [:public])

    t =
      Task.await(
        Task.async(fn ->
          Nx.default_backend(NxVulkanGo.Backend)
          :ets.insert(table, {:t, Nx.iota({100})})
          Nx.add(Nx.iota({100}), 1)
        end)
      )

    assert buffers() == 2
    assert Nx.to_number(t[0]) == 1
    assert [{:t, kept}] = :ets.lookup(table, :t)
    assert Nx.to_number(kept[99]) == 99
    :ets.delete(table)
    # Nothing below refers to the tensors.
    assert eventually(fn -> buffers() == 0 end)
  end

  test "a serving, whose batches run in processes that exit" do
    serving = Nx.Serving.new(fn options -> Nx.Defn.jit(&Nx.multiply(&1, 2), options) end)
    start_supervised!({Nx.Serving, serving: serving, name: __MODULE__.Serving, batch_timeout: 10})

    for i <- 1..5 do
      batch = Nx.Batch.stack([Nx.tensor([i, i + 1]), Nx.tensor([0, 1])])
      result = Nx.Serving.batched_run(__MODULE__.Serving, batch)
      assert Nx.to_flat_list(result) == [2 * i, 2 * i + 2, 0, 2]
    end
  end

  test "10,000 processes that make three tensors each leave nothing" do
    1..10_000
    |> Task.async_stream(
      fn i ->
        Nx.default_backend(NxVulkanGo.Backend)
        t = Nx.tensor([i, i])
        Nx.multiply(Nx.add(t, t), 2)
        :ok
      end,
      max_concurrency: 100,
      timeout: :infinity
    )
    |> Stream.run()

    assert eventually(fn -> buffers() == 0 end)
  end

  test "an error stays with the result and names the operation" do
    t = Nx.iota({3})
    bad = put_in(t.data.id, 2 ** 40)
    sum = Nx.add(bad, t)
    error = assert_raise(Error, fn -> Nx.to_binary(sum) end)
    assert error.kind == :unknown_id
    assert Exception.message(error) =~ "add("
    assert inspect(sum) =~ "<deallocated>"
    assert Nx.to_flat_list(Nx.add(t, t)) == [0, 2, 4]
  end

  test "large uploads and downloads" do
    data = :rand.bytes(16 * 1024 * 1024)
    t = Nx.from_binary(data, :u8)
    assert Nx.to_binary(t) == data
    assert Nx.to_binary(t, limit: 10) == binary_part(data, 0, 10)
  end

  @tag :soak
  @tag timeout: 300_000
  test "1,000,000 operations in a stream leave memory flat" do
    t = Nx.tensor([1.0, 2.0, 3.0])
    stream = fn n -> Enum.reduce(1..n, t, fn _, acc -> Nx.add(acc, t) end) end
    stream.(10_000)
    assert buffers() <= 3
    before = :erlang.memory(:total)

    {micros, last} =
      :timer.tc(fn -> Enum.each(1..99, fn _ -> stream.(10_000) end) && stream.(10_000) end)

    assert Nx.to_flat_list(last) == [10_001.0, 20_002.0, 30_003.0]
    IO.puts("\n#{round(1.0e12 / micros)} operations a second")
    assert buffers() <= 3
    assert :erlang.memory(:total) - before < 64 * 1024 * 1024
  end

  describe "a server of this VM's own" do
    @describetag :launched
    @describetag :capture_log

    test "a killed server is an exception within a second, and the next one works" do
      t = Nx.iota({10})
      compiled = Nx.Defn.jit(&Nx.add(Nx.multiply(&1, 2), 1), compiler: NxVulkanGo)
      assert {Nx.to_number(t[3]), Nx.to_number(compiled.(1))} == {3, 3}
      pid = Launcher.os_pid()
      System.cmd("kill", ["-9", "#{pid}"])
      {micros, error} = :timer.tc(fn -> assert_raise(Error, fn -> read_until_down(t) end) end)
      assert error.kind in [:server_down, :stale]
      assert micros < 1_000_000
      assert inspect(t) =~ ~r/<(lost|unreachable)/

      assert Nx.to_flat_list(Nx.add(Nx.iota({3}), 1)) == [1, 2, 3]
      assert Launcher.os_pid() != pid
      # The program is sent again.
      assert Nx.to_number(compiled.(2)) == 5
      assert_raise Error, ~r/stale/, fn -> Nx.add(t, 1) end
    end

    test "a caller that waits when the server dies gets the exception" do
      t = Nx.iota({10})
      Nx.to_number(t[0])
      test = self()

      {_, ref} =
        spawn_monitor(fn ->
          send(test, :reading)
          read_until_down(t)
        end)

      assert_receive :reading
      System.cmd("kill", ["-9", "#{Launcher.os_pid()}"])
      assert_receive {:DOWN, ^ref, _, _, {%Error{kind: kind}, _}}, 1_000
      assert kind in [:server_down, :stale]
    end

    test "servers that follow each other take turns with eight names, and have one cookie" do
      first = Launcher.ensure!()
      cookie = Launcher.access(first).cookie.()
      [name, _] = String.split("#{first}", ~r/_\d@/)
      :sys.replace_state(Launcher, &%{&1 | starts: 7})

      for number <- [7, 0] do
        before = Launcher.ensure!()
        System.cmd("kill", ["-9", "#{Launcher.os_pid()}"])
        assert eventually(fn -> Launcher.ensure!() != before end)
        assert "#{Launcher.ensure!()}" =~ "#{name}_#{number}@"
        assert Launcher.access(Launcher.ensure!()).cookie.() == cookie
        assert Launcher.access(before) == nil
      end
    end

    test "the server ends when this VM's end of its pipe closes" do
      NxVulkanGo.sync()
      pid = Launcher.os_pid()
      {:links, links} = Process.info(Process.whereis(Launcher), :links)
      for port <- links, is_port(port), do: Port.close(port)

      assert eventually(fn ->
               elem(System.cmd("kill", ["-0", "#{pid}"], stderr_to_stdout: true), 1) != 0
             end)
    end
  end

  defp read_until_down(t) do
    Nx.to_binary(t)
    read_until_down(t)
  end
end
