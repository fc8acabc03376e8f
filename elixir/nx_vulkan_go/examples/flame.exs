# A VM with a GPU on demand: FLAME starts a runner for a call, here with its local backend, so in this VM. On
# another backend, such as FLAME.FlyBackend, the runner is a machine of its own, and this script is the same.
#
#     elixir examples/flame.exs         # installs the packages from Hex first
#     mix run examples/flame.exs        # in a project that has them
#
# It ends with PASS, or with FAIL and status 1.

unless Code.ensure_loaded?(FLAME),
  do: Mix.install([{:nx_vulkan_go, "~> 0.2"}, {:flame, "~> 0.5"}])

defmodule OnDemand do
  def start do
    pool =
      {FLAME.Pool,
       name: Gpu,
       min: 0,
       max: 2,
       max_concurrency: 4,
       idle_shutdown_after: 30_000,
       track_resources: true}

    Supervisor.start_link([pool], strategy: :one_for_one)
  end

  # The runner finds a server by itself: its own, or one that the cluster has announced.
  def sum(count) do
    FLAME.call(Gpu, fn ->
      NxVulkanGo.info()
      {:ok, place} = NxVulkanGo.Cluster.least_used()

      Nx.iota({count}, type: :f32, backend: {NxVulkanGo.Backend, place})
      |> Nx.sum()
      |> Nx.to_number()
    end)
  end

  # A tensor that the runner returns keeps it alive until it has been used here.
  def tensor(count) do
    FLAME.call(Gpu, fn ->
      Nx.iota({count}, type: :f32, backend: {NxVulkanGo.Backend, device: :auto})
    end)
  end
end

{:ok, _} = OnDemand.start()
sum = OnDemand.sum(1000)
last = OnDemand.tensor(1000) |> Nx.reduce_max() |> Nx.to_number()

if {sum, last} == {499_500.0, 999.0} do
  IO.puts("PASS")
else
  IO.puts("FAIL: #{inspect({sum, last})}")
  System.halt(1)
end
