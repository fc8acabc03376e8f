defmodule NxVulkanGo.FakeCase do
  @moduledoc false
  # Tests of what this VM does on its own: a server of their own, which is a fake, is
  # the default backend's. The context has its process, `server`, and the options that
  # lead there, `place`.

  use ExUnit.CaseTemplate

  alias NxVulkanGo.Compiler.Cache
  alias NxVulkanGo.{Eventually, FakeServer, Session}
  alias NxVulkanGo.Session.Registry

  using do
    quote do
      import NxVulkanGo.FakeCase
      alias NxVulkanGo.FakeServer
    end
  end

  setup do
    NxVulkanGo.Peer.name_vm!()
    device = System.unique_integer([:positive])
    server = FakeServer.start(device)
    on_exit(fn -> Process.exit(server, :kill) end)
    place = [server: node(), device: device]
    Nx.default_backend({NxVulkanGo.Backend, place})
    {:ok, place: place, server: server}
  end

  @doc "A setup: functions are compiled, and nothing has been."
  def compiling(_context) do
    Nx.Defn.default_options(compiler: NxVulkanGo)
    Cache.clear()
  end

  @doc "What the server has received of an operation."
  def received(server, op) do
    for {^op, _, _, _} = i <- FakeServer.log(server), do: i
  end

  @doc "Waits for the server."
  def sync(place), do: place |> Registry.fetch!() |> Session.sync()

  @doc "How many values the server has once garbage has been looked for."
  def buffers(place) do
    NxVulkanGo.sweep(place)
    NxVulkanGo.memory(place).session.buffers
  end

  @doc """
  Returns once the server has so many values. Frees follow an exit after a while; where
  they do not come, the test fails.
  """
  def await_buffers(place, count), do: Eventually.eventually(fn -> buffers(place) == count end)

  @doc "A function of two arguments, and a counter of how often it is traced."
  def traced(fun) do
    counter = :counters.new(1, [])
    {counter, fn a, b -> :counters.add(counter, 1, 1) && fun.(a, b) end}
  end
end
