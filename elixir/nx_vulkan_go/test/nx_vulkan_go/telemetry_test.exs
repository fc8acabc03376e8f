defmodule NxVulkanGo.TelemetryTest do
  # The events that NxVulkanGo.Telemetry lists: what each begins, ends and fails with.
  use ExUnit.Case, async: false

  alias NxVulkanGo.{Backend, Error, Session}
  alias NxVulkanGo.Session.Registry

  setup do
    Nx.default_backend(Backend)

    spans = for name <- [:compile, :run, :upload, :download], do: [:nx_vulkan_go, name]
    steps = for span <- spans, step <- [:start, :stop, :exception], do: span ++ [step]
    events = [[:nx_vulkan_go, :memory, :sweep] | steps]

    tell = fn [_ | event], measurements, metadata, test ->
      send(test, {event, measurements, metadata})
    end

    :telemetry.attach_many(__MODULE__, events, tell, self())
    on_exit(fn -> :telemetry.detach(__MODULE__) end)
  end

  defp jit(fun), do: Nx.Defn.jit(fun, compiler: NxVulkanGo)

  test "a function that is compiled and run" do
    fun = fn x -> Nx.add(x, 1) end
    jit(fun).(1)
    assert_received {[:compile, :start], %{system_time: _}, %{function: ^fun}}
    assert_received {[:compile, :stop], %{duration: _}, %{function: ^fun}}
    assert_received {[:run, :start], %{system_time: _}, %{key: key, device: device}}
    assert_received {[:run, :stop], %{duration: _}, %{key: ^key, device: ^device}}
    jit(fun).(1)
    refute_received {[:compile, _], _, _}
    assert_received {[:run, :stop], _, %{key: ^key}}
  end

  test "a function that cannot be traced" do
    catch_error(jit(fn _ -> raise "oops" end).(1))
    assert_received {[:compile, :exception], %{duration: _}, %{kind: :error, reason: reason}}
    assert %RuntimeError{message: "oops"} = reason
    refute_received {[:compile, :stop], _, _}
  end

  test "a run that calls what raises" do
    broken = fn x -> Nx.runtime_call(x, x, [], fn _, _ -> raise "oops" end) end
    catch_error(Nx.to_number(jit(broken).(1)))
    assert_received {[:run, :start], _, %{key: key}}
    assert_received {[:run, :exception], %{duration: _}, %{key: ^key, kind: _, stacktrace: _}}
    refute_received {[:run, :stop], _, _}
  end

  test "bytes that are sent and read" do
    t = Nx.from_binary(<<0::size(8192)>>, :u8)
    assert byte_size(Nx.to_binary(t)) == 1024
    assert_received {[:upload, :start], %{system_time: _}, %{server: server, device: device}}
    assert_received {[:upload, :stop], %{bytes: 1024, duration: _}, %{server: ^server}}
    assert_received {[:download, :start], %{system_time: _}, %{device: ^device}}
    assert_received {[:download, :stop], %{bytes: 1024, duration: _}, %{device: ^device}}
  end

  test "little data is no event when it is sent" do
    Nx.from_binary(<<0::size(8184)>>, :u8)
    refute_received {[:upload, _], _, _}
  end

  test "what cannot be sent or read" do
    gone = %{Registry.fetch!([]) | pid: spawn(fn -> :ok end), counters: Session.new_counters()}
    data = :binary.copy(<<0>>, 1024 * 1024)

    # Callers wait once they are this far ahead, and then meet the loss.
    assert_raise Error, fn ->
      for id <- 1..300, do: Session.upload(gone, id, {:u, 8}, {1024 * 1024}, data)
    end

    assert_received {[:upload, :exception], %{duration: _}, %{kind: :error, reason: %Error{}}}
    assert_raise Error, fn -> Session.download(gone, 1, :all) end
    assert_received {[:download, :exception], %{duration: _}, %{kind: :error, reason: %Error{}}}
    refute_received {[:download, :stop], _, _}
  end

  test "garbage that is given back" do
    Nx.iota({1000})
    NxVulkanGo.sweep()
    assert_received {[:memory, :sweep], %{freed: freed}, _} when freed >= 1
  end
end
