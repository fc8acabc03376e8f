defmodule NxVulkanGo.FakeServer do
  @moduledoc false
  # A device server in this VM, for tests of what the client does: it keeps the
  # books of `gen/README.md` and computes by NxVulkanGo.Interpreter.

  alias NxVulkanGo.{Encoding, Interpreter}

  def start(device, options \\ []) do
    test = self()

    pid =
      spawn(fn ->
        Process.register(self(), :"nxvk_#{device}")
        send(test, :registered)

        loop(%{
          values: %{},
          programs: %{},
          log: [],
          incarnation: System.unique_integer([:positive]),
          messages: 0,
          along: 0,
          deaf: options[:deaf] || false,
          refuse: options[:refuse],
          version: options[:version] || Mix.Project.config()[:version]
        })
      end)

    receive do
      :registered -> pid
    end
  end

  @doc "The instructions that have come so far."
  def log(pid) do
    {:ok, log} = GenServer.call(pid, :log)
    log
  end

  # Callers may be as far ahead as they like.
  @last_id 2 ** 52

  @doc "How many instructions have come along with calls."
  def along(pid) do
    {:ok, count} = GenServer.call(pid, :along)
    count
  end

  def stop(pid) do
    ref = Process.monitor(pid)
    Process.exit(pid, :kill)

    receive do
      {:DOWN, ^ref, _, _, _} -> :ok
    end
  end

  defp loop(state) do
    receive do
      {:"$gen_call", from, {:at, incarnation, {:then, list, request}}} ->
        state = stream(%{state | along: state.along + length(list)}, list)
        loop(call(state, from, {:at, incarnation, request}))

      {:"$gen_call", from, request} ->
        loop(call(state, from, request))

      {:nxvk, _incarnation, list} ->
        state |> stream(list) |> loop()

      {:nxvk_swept, _ref} = swept ->
        loop(Map.put(state, :swept, swept))
    end
  end

  defp stream(state, list) do
    state = %{state | messages: state.messages + 1, log: logged(list, state.log)}
    Enum.reduce(list, state, &one/2)
  end

  # The last ones: some tests send very many.
  defp logged(list, log), do: list |> Enum.reverse(log) |> Enum.take(1_000)

  defp call(state, {pid, tag}, request) do
    send(pid, {tag, answer(state, request)})
    if match?({:open, _}, request), do: send(pid, {:nxvk_flow, node(), @last_id, 2_048})
    state
  end

  defp answer(%{incarnation: now} = state, {:at, incarnation, request}) do
    if incarnation == now,
      do: answer(state, request),
      else: {:error, {:stale, nil, [], "restarted"}}
  end

  defp answer(%{refuse: refuse}, {:open, options}) when is_function(refuse),
    do: {:error, refuse.(options)}

  defp answer(%{refuse: error}, {:open, _options}) when error != nil, do: {:error, error}

  defp answer(state, {:open, _options}),
    do: {:ok, %{key: "key", incarnation: state.incarnation, session: 1, version: state.version}}

  defp answer(_state, request) when request in [:sync, :barrier], do: :ok
  defp answer(state, :programs), do: {:ok, map_size(state.programs)}
  defp answer(state, :log), do: {:ok, Enum.reverse(state.log)}
  defp answer(state, :along), do: {:ok, state.along}

  defp answer(state, :memory) do
    {:ok,
     %{
       session: %{buffers: map_size(state.values), messages: state.messages},
       device: %{total: 128 * 1024 * 1024 * 1024}
     }}
  end

  defp answer(state, {:download, id}) do
    with {:ok, {_type, _shape, data}} <- value(state, id), do: {:ok, data}
  end

  defp answer(state, {:download, id, offset, count}) do
    with {:ok, {type, _shape, data}} <- value(state, id) do
      size = type |> Encoding.atom_to_type() |> Encoding.element_size()
      {:ok, binary_part(data, offset * size, count * size)}
    end
  end

  defp answer(state, {:describe, id}) do
    with {:ok, {type, shape, _}} <- value(state, id), do: {:ok, {type, shape}}
  end

  defp value(state, id) do
    case state.values do
      %{^id => {:error, _} = error} -> error
      %{^id => value} -> {:ok, value}
      _ -> {:error, {:unknown_id, nil, [], "no value #{id}"}}
    end
  end

  defp one({:free, [], [], [ids]}, state), do: %{state | values: Map.drop(state.values, ids)}

  defp one({:import, [{id, _, _}], [{:shared, _pid, _key, theirs}], []}, state),
    do: put(state, id, Map.get(state.values, theirs))

  defp one({:import, [{id, type, shape}], [{:shared, server, _, _, _, theirs}], []}, state) do
    with {:ok, data} <- GenServer.call(server, {:download, theirs}),
         do: put(state, id, {type, shape, data}),
         else: ({:error, _} = error -> put(state, id, error))
  end

  defp one({:tensor, [{id, type, shape}], [{_, _, data}], []}, state),
    do: put(state, id, {type, shape, data})

  defp one({:program, [], [], [key, region]}, state),
    do: %{state | programs: Map.put_new(state.programs, key, region)}

  defp one({:forget, [], [], [keys]}, state),
    do: %{state | programs: Map.drop(state.programs, keys)}

  defp one({:cancel, [], [], [_runs]}, state), do: state
  defp one({:note, [], [], [_text]}, state), do: state

  defp one({:run, results, operands, [key, callbacks]}, state) do
    compute(state, results, operands, fn args ->
      case state.programs do
        %{^key => region} -> Interpreter.run(region, args, &ask(callbacks, results, &1))
        _ -> throw({:error, {:unknown_program, "run", [], "no such program"}})
      end
    end)
  end

  defp one({:fail, results, _operands, _attrs}, state) do
    for {id, _, _} <- results, reduce: state do
      state -> put(state, id, {:error, {:bad_argument, "fail", [], "as asked"}})
    end
  end

  defp one({op, results, operands, attrs}, state) do
    compute(state, results, operands, fn args -> Interpreter.step(op, results, args, attrs) end)
  end

  # The error of an operand is that of all results, and so is what is raised.
  defp compute(state, results, operands, fun) do
    args =
      for operand <- operands do
        with {:error, _} = error <- operand(operand, state), do: throw(error)
      end

    tensors = fun.(args)
    true = length(tensors) == length(results)

    results
    |> Enum.zip(tensors)
    |> Enum.reduce(state, fn {{id, type, shape}, t}, state ->
      put(state, id, {type, shape, Encoding.encode(Nx.to_binary(t), t.type)})
    end)
  rescue
    error -> poison(state, results, {:internal, nil, [], Exception.message(error)})
  catch
    {:error, error} -> poison(state, results, error)
  end

  defp poison(state, results, error),
    do: Enum.reduce(results, state, fn {id, _, _}, state -> put(state, id, {:error, error}) end)

  # Hooks are told, callbacks are asked.
  defp ask(callbacks, results, {kind, index, tensors}) do
    values = for t <- tensors, do: {Encoding.type_to_atom(t.type), t.shape, wire(t)}
    run = if results == [], do: 0, else: elem(hd(results), 0)
    if kind == :hook, do: send(callbacks, {:nxvk_hook, self(), run, index, values})
    if kind == :callback, do: answer_of(callbacks, run, index, values)
  end

  defp answer_of(callbacks, run, index, values) do
    ref = make_ref()
    send(callbacks, {:nxvk_callback, self(), run, ref, index, values})
    await_answer(run, ref)
  end

  defp await_answer(run, ref) do
    receive do
      {:nxvk_answer, ^run, ^ref, {:ok, data}} ->
        data

      {:nxvk_answer, ^run, ^ref, {:error, text}} ->
        raise text
    after
      5 ->
        if cancelled?(run), do: throw({:error, {:cancelled, nil, [], "as asked"}})
        await_answer(run, ref)
    end
  end

  # Whether the run is cancelled by a message that waits, among other instructions or along with a call. It has its turn later,
  # for the log.
  defp cancelled?(run) do
    {:messages, messages} = Process.info(self(), :messages)

    messages
    |> Enum.flat_map(&instructions/1)
    |> Enum.any?(&match?({:cancel, [], [], [[^run]]}, &1))
  end

  defp instructions({:nxvk, _, list}), do: list
  defp instructions({:"$gen_call", _, {:at, _, {:then, list, _}}}), do: list
  defp instructions(_), do: []

  defp wire(t), do: Encoding.encode(Nx.to_binary(t), t.type)

  defp operand(id, state) when is_integer(id) do
    with {:ok, value} <- value(state, id), do: Interpreter.tensor(value)
  end

  defp operand({type, data}, _state), do: Interpreter.tensor({type, {}, data})
  defp operand({_, _, _} = literal, _state), do: Interpreter.tensor(literal)

  defp put(state, id, value), do: %{state | values: Map.put(state.values, id, value)}
end
