defmodule NxVulkanGo.Distribution.DevicesTest do
  # Tensors move between two devices of a server, and not through this VM.
  use ExUnit.Case, async: false
  @moduletag :launched

  alias NxVulkanGo.SeveralDevices

  # The host twice; and a device twice, and beside the host, where the server of the other tests has one.
  @selections [["host", "host"], ["0", "0"], ["0", "host"]]

  for {devices, i} <- Enum.with_index(@selections) do
    describe "#{Enum.join(devices, " and ")}:" do
      setup do
        devices = unquote(devices)
        there? = "0" not in devices or hd(NxVulkanGo.devices()).kind != :host
        {:ok, peer: if(there?, do: SeveralDevices.start_for_tests!(devices))}
      end

      test "bytes of all types arrive as they are", %{peer: peer} do
        with_peer(peer, fn ->
          before = SeveralDevices.on(peer, :counted, [:uploaded_bytes_total])
          assert SeveralDevices.on(peer, :wrong, [unquote(i)]) == []
          now = SeveralDevices.on(peer, :counted, [:uploaded_bytes_total])
          imported = SeveralDevices.on(peer, :counted, [:imported_bytes_total])
          # Only the first device has had data of this VM.
          assert now[:nxvk_1] == before[:nxvk_1]
          assert imported[:nxvk_0] > 0 and imported[:nxvk_1] == imported[:nxvk_0]
        end)
      end

      test "a transfer leaves nothing behind", %{peer: peer} do
        with_peer(peer, fn ->
          {text, device, sum, values} = SeveralDevices.on(peer, :transfer, [10_001])
          assert text =~ "<deallocated>"
          assert {device, sum} == {1, 50_005_000.0}
          assert values <= 2
        end)
      end

      test "errors come along", %{peer: peer} do
        with_peer(peer, fn ->
          assert SeveralDevices.on(peer, :fault) =~ ~r/index 9/
          assert SeveralDevices.on(peer, :mixed) =~ "are on different devices"
          SeveralDevices.set(peer, :check, :each)
          assert SeveralDevices.on(peer, :transfer, [100]) |> elem(2) == 4950.0
          SeveralDevices.set(peer, :check, :debug)
          assert SeveralDevices.on(peer, :transfer, [100]) |> elem(2) == 4950.0
        end)
      end

      test "many processes in both directions at once", %{peer: peer} do
        with_peer(peer, fn ->
          expected = for n <- 1..20, do: [n + 20.0]
          assert SeveralDevices.on(peer, :ping_pong, [20, 10]) == expected
        end)
      end

      test "a session that ends takes only what it has", %{peer: peer} do
        with_peer(peer, fn ->
          for device <- [0, 1] do
            {sums, again, sessions} = SeveralDevices.on(peer, :end_session, [device])
            # A copy has the data, or the reason why they are gone.
            for sum <- sums, sum != [0.0, 1.0], do: assert(sum =~ ~r/restarted|has ended/)
            assert again == [0, 1, 2, 3, 4]
            assert sessions == 2
          end
        end)
      end
    end
  end

  test "a copy is bounded by the limit of the session that gets it" do
    peer = SeveralDevices.start_for_tests!(["host", "host"])
    SeveralDevices.set(peer, :limit, 1_000_000)
    {text, right?} = SeveralDevices.on(peer, :beyond_limit, [600_000])
    assert text =~ "600000 bytes are needed, the session holds 600000 of its limit of 1000000"
    assert right?
  end

  # Without a device there is nothing to see.
  defp with_peer(nil, _fun), do: :ok
  defp with_peer(_peer, fun), do: fun.()
end
