defmodule NxVulkanGo.OverviewTest do
  use ExUnit.Case, async: false

  alias NxVulkanGo.Overview

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    :ok
  end

  test "it has the devices, sessions and counters of the server" do
    tensor = Nx.iota({1000}, type: :f32)
    NxVulkanGo.sync()
    overview = NxVulkanGo.overview()
    assert overview.server == NxVulkanGo.connect()
    assert [%{index: 0, sessions: sessions, used: used} | _] = overview.devices
    assert sessions >= 1 and is_integer(used)
    assert Enum.any?(overview.sessions, &(&1.bytes >= 4000 and &1.closable))
    assert [%{instructions: n} | _] = overview.fallbacks
    assert n >= 1
    assert length(overview.kernels) <= 10
    assert Nx.size(tensor) == 1000
  end

  test "it prints as tables" do
    text = to_string(NxVulkanGo.overview())
    [%{name: name} | _] = NxVulkanGo.devices()
    assert text =~ "Devices\n  Device  Name"
    assert text =~ name
    assert inspect(NxVulkanGo.overview()) =~ "#NxVulkanGo.Overview<"
  end

  test "cells have units" do
    assert Overview.cell(:bytes, 999) == "999 B"
    assert Overview.cell(:memory, 1_500_000) == "1.5 MB"
    assert Overview.cell(:seconds, 0.0021) == "2.1 ms"
    assert Overview.cell(:seconds, 3.0e-6) == "3.0 us"
    assert Overview.cell(:waits_for, nil) == ""
  end

  test "a table without rows is left out" do
    overview =
      struct!(Overview,
        server: :a@b,
        devices: [],
        sessions: [],
        kernels: [],
        fallbacks: [],
        chains: []
      )

    assert Overview.tables(overview) == []
    assert Overview.text(overview) == "a@b\n"
  end

  @tag :capture_log
  test "an own session is closed; then its tensors are stale and another one begins" do
    tensor = Nx.iota({1000}, type: :f32)
    NxVulkanGo.sync()
    [session | _] = for(%{closable: true} = s <- NxVulkanGo.sessions(), do: s)
    assert NxVulkanGo.close_session(session) == :ok
    error = NxVulkanGo.Eventually.eventually(fn -> stale(tensor) end)
    assert error.kind == :stale and error.reason =~ "its session was closed"
    assert Nx.to_number(Nx.sum(Nx.iota({10}, type: :s32))) == 45

    assert_raise NxVulkanGo.Error, ~r/no session here/, fn ->
      NxVulkanGo.close_session(session)
    end
  end

  defp stale(tensor) do
    Nx.to_binary(tensor)
    nil
  rescue
    error in NxVulkanGo.Error -> error
  end
end
