# A training loop of Axon whose batches are divided over devices, beside the same loop on one. It prints the losses of both
# and ends with PASS, or with FAIL and status 1, where they differ by more than 1e-3.
#
#     elixir examples/axon_data_parallel.exs               # installs the packages from Hex first
#     mix run axon_data_parallel.exs                       # in a project that has them
#     DEVICES=0,1 elixir examples/axon_data_parallel.exs   # on two GPUs; the default opens the host twice

unless Code.ensure_loaded?(Axon),
  do: Mix.install([{:nx_vulkan_go, "~> 0.2"}, {:axon, "~> 0.8"}])

devices = System.get_env("DEVICES", "host,host") |> String.split(",")
Application.put_env(:nx_vulkan_go, :node_args, Enum.flat_map(devices, &["--device", &1]))
Nx.default_backend(Nx.BinaryBackend)

model =
  Axon.input("x", shape: {nil, 16})
  |> Axon.dense(64, activation: :relu)
  |> Axon.layer_norm()
  |> Axon.dense(3, activation: :softmax)

batches =
  for i <- 1..20 do
    {x, _} = Nx.Random.normal(Nx.Random.key(i), shape: {64, 16})
    class = Nx.argmax(Nx.slice_along_axis(x, 0, 3, axis: 1), axis: 1)
    {x, Nx.equal(Nx.new_axis(class, -1), Nx.iota({1, 3}))}
  end

train = fn options ->
  {:ok, losses} = Agent.start_link(fn -> [] end)

  note = fn state ->
    loss = Nx.to_number(Nx.backend_copy(state.step_state.loss, Nx.BinaryBackend))
    Agent.update(losses, &[loss | &1])
    {:continue, state}
  end

  model
  |> Axon.Loop.trainer(:categorical_cross_entropy, Polaris.Optimizers.adam(learning_rate: 1.0e-2),
    seed: 7,
    log: 0
  )
  |> Axon.Loop.metric(:accuracy)
  |> Axon.Loop.handle_event(:iteration_completed, note)
  |> Axon.Loop.run(batches, Axon.ModelState.empty(), [epochs: 2, compiler: NxVulkanGo] ++ options)

  Agent.get(losses, &Enum.reverse/1)
end

one = train.([])
many = train.(data_parallel: length(devices))

for i <- [0, 9, 19, 39] do
  IO.puts("step #{i + 1}: #{Enum.at(one, i)} on one, #{Enum.at(many, i)} on #{length(devices)}")
end

difference = Enum.zip_with(one, many, &abs(&1 - &2)) |> Enum.max()

if length(many) == 40 and difference < 1.0e-3 and List.last(many) < hd(many) / 2 do
  IO.puts("PASS")
else
  IO.puts("FAIL: the losses differ by #{difference}")
  System.halt(1)
end
