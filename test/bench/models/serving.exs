# Measures an Nx.Serving of ResNet-50 with random weights on one device of a server, and then with a partition on each.
#
#     cd test/suites
#     NX_PATH=…/nx/nx mix run ../bench/models/serving.exs --type bf16
#
# Bumblebee and what it needs are checkouts beside NX_PATH, or where the variables of test/suites/mix.exs say;
# nothing is downloaded. NXVK_NODE is the node that runs it. Its devices are those of the machine, or those that NXVK_NODE_ARGS names.
#
# A client is a process that hands in a batch of images of u8, which lie in the VM, and waits for their logits. Each device has
# so many clients. The images are turned into numbers between -1 and 1 on the device.
#
# Options:
#
#     --type     bf16    of weights and arithmetic
#     --batch    64      images of a batch
#     --image    224     pixels of a side
#     --clients  4       of each device
#     --seconds  5       that are measured, after as many that are not
#
# It prints a line of JSON for each number of devices. Measured: "images", images a second; "times", that by the images of
# one device; "p50" and "p99", milliseconds from handing a batch in to its logits.

defmodule Serving do
  @switches [
    type: :string,
    batch: :integer,
    image: :integer,
    clients: :integer,
    seconds: :integer
  ]
  @defaults %{type: "bf16", batch: 64, image: 224, clients: 4, seconds: 5}

  def main(args) do
    {given, rest, wrong} = OptionParser.parse(args, strict: @switches)
    if rest != [] or wrong != [], do: raise("unknown arguments: #{inspect({rest, wrong})}")
    o = Map.merge(@defaults, Map.new(given))
    Nx.global_default_backend(Nx.BinaryBackend)
    devices = length(NxVulkanGo.devices())
    one = measure(o, 1, partitions: false)
    line(o, 1, one, one)
    if devices > 1, do: line(o, devices, measure(o, devices, partitions: true), one)
  end

  defp measure(o, devices, options) do
    batches = [batch_size: o.batch, batch_timeout: 1]
    child = {Nx.Serving, [serving: serving(o), name: __MODULE__] ++ batches ++ options}
    {:ok, pid} = Supervisor.start_link([child], strategy: :one_for_one)
    clients = devices * o.clients
    run(o, clients)
    start = System.monotonic_time(:microsecond)
    times = run(o, clients)
    seconds = (System.monotonic_time(:microsecond) - start) / 1.0e6
    Supervisor.stop(pid)
    sorted = times |> Enum.sort() |> List.to_tuple()

    at = fn part ->
      elem(sorted, min(tuple_size(sorted) - 1, trunc(part * tuple_size(sorted))))
    end

    %{images: length(times) * o.batch / seconds, p50: at.(0.5), p99: at.(0.99)}
  end

  # The milliseconds of every batch that was handed in within the time.
  defp run(o, clients) do
    until = System.monotonic_time(:millisecond) + 1000 * o.seconds

    1..clients
    |> Enum.map(&Task.async(fn -> client(images(o, &1), until, []) end))
    |> Enum.flat_map(&Task.await(&1, :infinity))
  end

  defp client(images, until, times) do
    start = System.monotonic_time(:microsecond)
    Nx.Serving.batched_run(__MODULE__, Nx.Batch.concatenate([images])) |> Nx.to_binary()
    times = [(System.monotonic_time(:microsecond) - start) / 1.0e3 | times]

    if System.monotonic_time(:millisecond) < until,
      do: client(images, until, times),
      else: times
  end

  defp images(o, seed) do
    :rand.seed(:exsss, seed)
    shape = {o.batch, o.image, o.image, 3}
    Nx.from_binary(:rand.bytes(Tuple.product(shape)), :u8) |> Nx.reshape(shape)
  end

  defp serving(o) do
    {init, predict} = o |> model() |> Axon.build()

    params =
      Nx.Defn.jit(init, compiler: NxVulkanGo).(inputs(o, :template), Axon.ModelState.empty())

    host = Nx.backend_copy(params, Nx.BinaryBackend)

    # Each partition has its parameters and its function.
    Nx.Serving.new(
      fn options ->
        params = Nx.backend_copy(host, Nx.Defn.to_backend(options))
        logits = fn params, images -> predict.(params, inputs(o, images)).logits end

        fun = Nx.Defn.compile(logits, [params, template(o)], options)
        fn batch -> fun.(params, batch) end
      end,
      compiler: NxVulkanGo
    )
  end

  defp model(o) do
    spec =
      Bumblebee.configure(Bumblebee.Vision.ResNet,
        architecture: :for_image_classification,
        num_labels: 1000
      )

    Bumblebee.build_model(spec, type: String.to_existing_atom(o.type))
  end

  defp template(o), do: Nx.template({o.batch, o.image, o.image, 3}, :u8)

  defp inputs(o, :template),
    do: %{"pixel_values" => Nx.template({o.batch, o.image, o.image, 3}, :f32)}

  defp inputs(_, images), do: %{"pixel_values" => Nx.subtract(Nx.divide(images, 127.5), 1)}

  defp line(o, devices, result, one) do
    o
    |> Map.merge(result)
    |> Map.merge(%{devices: devices, times: result.images / one.images})
    |> Jason.encode!()
    |> IO.puts()
  end
end

Serving.main(System.argv())
