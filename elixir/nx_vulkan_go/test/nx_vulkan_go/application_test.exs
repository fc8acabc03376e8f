defmodule NxVulkanGo.ApplicationTest do
  # What each process of the application keeps of the others goes with these.
  use NxVulkanGo.FakeCase, async: false

  alias NxVulkanGo.Compiler.Constants
  alias NxVulkanGo.Session.Label
  alias NxVulkanGo.Session.Registry
  alias NxVulkanGo.Supervisor

  @moduletag :capture_log

  defp children do
    for {id, pid, _, _} <- Elixir.Supervisor.which_children(Supervisor), into: %{}, do: {id, pid}
  end

  # A killed child and what comes after it.
  test "a child that ends takes those along that rely on it, and no others" do
    before = children()
    ref = Process.monitor(before[Constants])
    Process.exit(before[Registry], :kill)
    assert_receive {:DOWN, ^ref, _, _, _}
    now = children()
    assert now[NxVulkanGo.Launcher] == before[NxVulkanGo.Launcher]
    assert now[NxVulkanGo.Distribution] == before[NxVulkanGo.Distribution]
    assert now[Registry] != before[Registry]
    assert now[Constants] != before[Constants]
    assert Nx.to_flat_list(Nx.add(Nx.tensor([1, 2]), 1)) == [2, 3]
  end

  test "a session that ends after the registry has been restarted is opened again", context do
    session = Registry.fetch!(context.place)
    ref = Process.monitor(children()[Constants])
    Process.exit(children()[Registry], :kill)
    assert_receive {:DOWN, ^ref, _, _, _}
    # The supervisor answers when it has started them again.
    children()
    assert Registry.fetch!(context.place).pid == session.pid
    ref = Process.monitor(session.pid)
    Process.exit(session.pid, :kill)
    assert_receive {:DOWN, ^ref, _, _, _}
    :sys.get_state(Registry)
    assert Nx.to_flat_list(Nx.tensor([1, 2])) == [1, 2]
  end

  test "a session is monitored once, however many tensors a function has captured", context do
    compiled = &Nx.Defn.jit(&1, compiler: NxVulkanGo)

    for i <- 1..5 do
      captured = Nx.tensor(Enum.to_list(i..(i + 99)), backend: Nx.BinaryBackend)
      assert Nx.to_number(compiled.(fn x -> Nx.add(x, captured) end).(1)[0]) == i + 1
    end

    pid = Registry.fetch!(context.place).pid
    {:monitors, monitors} = Process.info(Process.whereis(Constants), :monitors)
    assert Enum.count(monitors, &(&1 == {:process, pid})) == 1
    ref = Process.monitor(pid)
    Process.exit(pid, :kill)
    assert_receive {:DOWN, ^ref, _, _, _}
    {_keys, monitors} = :sys.get_state(Constants)
    refute is_map_key(monitors, pid)
    assert :ets.match(Constants, {{pid, :_}, :_}) == []
  end

  test "sessions are called like the project, or as the configuration says" do
    assert Label.name() == "nx_vulkan_go"
    assert Label.text() =~ ~r/^nx_vulkan_go of .+ \(\d+\)$/
    on_exit(fn -> Application.delete_env(:nx_vulkan_go, :label) end)
    Application.put_env(:nx_vulkan_go, :label, "trainer")
    assert Label.name() == "trainer"
  end
end
