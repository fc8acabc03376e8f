defmodule NxVulkanGo.Compiler.DataParallelTest do
  # Ordinary functions whose batch is divided over devices.
  use ExUnit.Case, async: false
  @moduletag :launched

  alias NxVulkanGo.{Eventually, Parallel, SeveralDevices}

  setup_all do
    {:ok, peer: SeveralDevices.start_for_tests!(["host", "host", "host"])}
  end

  defp on(peer, function, args), do: :peer.call(peer, Parallel, function, args, 240_000)

  test "steps of training are those of the whole", %{peer: peer} do
    for seed <- 1..4, devices <- 1..3 do
      assert {difference, 0, replicas} = on(peer, :train, [seed, devices, 5, 12])
      assert replicas == devices - 1
      assert difference < 1.0e-4, "seed \#{seed} on \#{devices} devices: \#{difference}"
    end

    assert {difference, 2, 1} = on(peer, :train, [5, 2, 3, 8, [places: [2, 0]]])
    assert difference < 1.0e-4
  end

  test "what a call has returned stays on all devices", %{peer: peer} do
    assert on(peer, :imported, [5]) == 0
  end

  test "replicas are freed with their tensor", %{peer: peer} do
    Eventually.eventually(fn -> Enum.all?(on(peer, :left, [20]), &(&1 < 12)) end)
  end

  test "a batch that cannot be divided has one device", %{peer: peer} do
    assert on(peer, :rows, [6, [data_parallel: 2]]) == {[16, 17], 0, 2}
    assert on(peer, :rows, [7, [data_parallel: 2]]) == {[22, 23], 0, 1}
    assert on(peer, :rows, [7, [data_parallel: 2, places: [2, 1]]]) == {[22, 23], 2, 1}
    assert on(peer, :rows, [6, [data_parallel: 3, places: [2, 1, 0]]]) == {[16, 17], 2, 3}
  end

  test "random numbers are those of the whole batch", %{peer: peer} do
    assert on(peer, :random?, [2])
  end

  test "options that cannot be", %{peer: peer} do
    assert {ArgumentError, text} = on(peer, :rows, [6, [data_parallel: 0]])
    assert text =~ ":data_parallel must be a number of devices, got: 0"
    assert {ArgumentError, text} = on(peer, :rows, [6, [data_parallel: 2, device: 1]])
    assert text =~ "takes no :device"
    assert {ArgumentError, text} = on(peer, :rows, [6, [data_parallel: 2, places: [1]]])
    assert text =~ "there are 1 places"
    assert {NxVulkanGo.Error, _} = on(peer, :rows, [8, [data_parallel: 4]])
  end
end
