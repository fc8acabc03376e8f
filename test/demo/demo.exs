# A program on nxvk-node through Nx: arithmetic, a matrix product, and a hundred
# steps of gradient descent in plain Nx.Defn, each on NxVulkanGo.Backend and on
# Nx.BinaryBackend.
#
#     NXVK_SERVER=nxvk@127.0.0.1 elixir --name demo@127.0.0.1 --cookie COOKIE test/demo/demo.exs
#
# NX_PATH is a checkout of Nx, as in elixir/nx_vulkan_go/mix.exs.
server = System.fetch_env!("NXVK_SERVER")

beside = fn app, variable ->
  path = System.get_env(variable) || Path.join(Path.dirname(System.get_env("NX_PATH", "")), Atom.to_string(app))
  if System.get_env("NX_PATH") && File.dir?(path), do: [{app, path: path, override: true}], else: []
end

nx =
  case System.get_env("NX_PATH") do
    nil -> []
    path -> [{:nx, path: Path.join(path, "nx"), override: true}]
  end

Mix.install(
  [{:nx_vulkan_go, path: Path.expand("../../elixir/nx_vulkan_go", __DIR__)}] ++
    nx ++ beside.(:complex, "COMPLEX_PATH") ++ beside.(:telemetry, "TELEMETRY_PATH"),
  config: [nx_vulkan_go: [server: String.to_atom(server)]]
)

defmodule Demo do
  import Nx.Defn

  @rate 0.05
  @steps 100

  defn predict({w1, b1, w2, b2}, x) do
    x |> Nx.dot(w1) |> Nx.add(b1) |> Nx.tanh() |> Nx.dot(w2) |> Nx.add(b2)
  end

  defn loss(weights, x, y), do: Nx.mean(Nx.pow(predict(weights, x) - y, 2))

  defn step({w1, b1, w2, b2} = weights, x, y) do
    {loss, {g1, h1, g2, h2}} = value_and_grad(weights, &loss(&1, x, y))
    {{w1 - @rate * g1, b1 - @rate * h1, w2 - @rate * g2, b2 - @rate * h2}, loss}
  end

  @doc "The losses of all steps, from the same start on any backend."
  def train(backend) do
    to = fn list -> Nx.tensor(list, type: :f32, backend: backend) end
    numbers = :rand.seed_s(:exsss, {1, 2, 3})
    {x, numbers} = rows(64, 4, 1.0, numbers)
    {w1, numbers} = rows(4, 32, 0.5, numbers)
    {w2, _} = rows(32, 1, 0.2, numbers)
    y = Enum.map(x, fn [a, b, c, d] -> [:math.sin(a) + b * c - 0.5 * d] end)
    weights = {to.(w1), to.(List.duplicate(0.0, 32)), to.(w2), to.([0.0])}
    {x, y} = {to.(x), to.(y)}

    {_, losses} =
      Enum.reduce(1..@steps, {weights, []}, fn _, {weights, losses} ->
        {weights, loss} = step(weights, x, y)
        {weights, [loss | losses]}
      end)

    losses |> Enum.reverse() |> Enum.map(&Nx.to_number/1)
  end

  defp rows(count, width, scale, numbers) do
    Enum.map_reduce(1..count, numbers, fn _, numbers ->
      Enum.map_reduce(1..width, numbers, fn _, numbers ->
        {n, numbers} = :rand.uniform_s(2048, numbers)
        {(n - 1024) / 1024 * scale, numbers}
      end)
    end)
  end

  @doc """
  Runs a function on the device, by the clock once the node has compiled what it has
  seen again and again, and on the binary backend.
  """
  def compare(what, bound, fun) do
    device = {NxVulkanGo.Backend, []}
    for _ <- 1..4, do: fun.(device)
    {micros, got} = :timer.tc(fn -> fun.(device) end)
    {reference, want} = :timer.tc(fn -> fun.(Nx.BinaryBackend) end)
    difference = Enum.zip_with(got, want, &abs(&1 - &2)) |> Enum.max()

    :io.format("~-34s difference ~8.2e (at most ~8.2e)  ~10.3f ms, Nx.BinaryBackend ~10.3f ms~n", [
      what,
      difference * 1.0,
      bound * 1.0,
      micros / 1000,
      reference / 1000
    ])

    if difference > bound, do: raise("#{what} differs by #{difference}")
    got
  end
end

[%{name: name, kind: kind, driver: driver} | _] = NxVulkanGo.devices()
IO.puts("node     #{server}\ndevice   #{name} (#{kind}), #{driver}")

Demo.compare("exp(-x*x/2), 100000 elements", 2.0e-7, fn backend ->
  x = Nx.iota({100_000}, type: :f32, backend: backend) |> Nx.divide(100_000) |> Nx.subtract(0.5)
  x |> Nx.multiply(x) |> Nx.multiply(-0.5) |> Nx.exp() |> Nx.to_flat_list()
end)

Demo.compare("128 x 128 by 128 x 128", 0.0, fn backend ->
  whole = fn modulus ->
    Nx.iota({128, 128}, type: :s32, backend: backend) |> Nx.remainder(modulus) |> Nx.as_type(:f32)
  end

  Nx.dot(whole.(7), whole.(5)) |> Nx.to_flat_list()
end)

losses = Demo.compare("100 steps of SGD, losses", 2.0e-6, &Demo.train/1)
:io.format("loss     ~.6f at first, ~.6f at last~n", [hd(losses), List.last(losses)])
