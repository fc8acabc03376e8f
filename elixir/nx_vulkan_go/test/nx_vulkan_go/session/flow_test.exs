defmodule NxVulkanGo.Session.FlowTest do
  # A process that never reads, and others that share its session.
  use ExUnit.Case, async: false

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    matrix = Nx.divide(Nx.iota({384, 384}, type: :f32), 384 * 384)
    test = self()

    loop = fn loop, x, made ->
      if made == 300, do: send(test, :busy)
      loop.(loop, Nx.dot(x, matrix), made + 1)
    end

    busy = spawn(fn -> loop.(loop, matrix, 0) end)

    on_exit(fn ->
      Process.exit(busy, :kill)
      NxVulkanGo.sweep()
    end)

    assert_receive :busy, 10_000
    :ok
  end

  test "do not wait for all that it has sent" do
    for i <- 1..10 do
      sum = Nx.iota({64}, type: :f32) |> Nx.add(i) |> Nx.sum() |> Nx.to_number()
      assert sum == 2016 + 64 * i
    end

    # Without a bound it would have sent some hundred thousand by now.
    waiting = for %{waiting: waiting} <- NxVulkanGo.sessions(), do: waiting
    assert Enum.max(waiting) < 1000
  end

  test "may make values meanwhile" do
    many = for i <- 1..500, do: Nx.add(Nx.tensor([i]), 1)
    assert many |> List.last() |> Nx.to_flat_list() == [501]
  end
end
