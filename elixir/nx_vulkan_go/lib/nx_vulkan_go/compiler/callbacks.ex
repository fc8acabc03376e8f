defmodule NxVulkanGo.Compiler.Callbacks do
  @moduledoc false
  # Serves the functions of the caller that a program calls while it runs. The node sends
  # their arguments to a helper process, which lives as long as the run; the caller waits for
  # that process.
  #
  # Hooks get tensors, and nothing waits for them: the helper passes them on, and they run in
  # the caller's process, as with Nx.Defn.Evaluator. The call returns when all have run. An
  # exception of a hook ends the run.
  #
  # The device waits for the result of a runtime call. So its function runs in a process of
  # its own: whatever ends that process without an answer, and a timeout, ends the run and is
  # raised by the caller. The function works on tensors of this VM: tensors of the device come
  # after the run in the stream, so waiting for them would never end.
  #
  # The run also ends with its caller.

  alias Nx.Defn.Composite
  alias NxVulkanGo.{Distribution, Encoding, Error, Session, Telemetry}

  @timeout 300_000

  @doc """
  Starts a run with `send_run`, whose argument is the process for the callbacks, and waits
  for the end of the run.
  """
  @spec serve(tuple, binary, Session.t(), non_neg_integer, keyword, (pid -> :ok)) :: :ok
  def serve(callbacks, key, session, run, options, send_run) do
    state = %{
      callbacks: callbacks,
      timeout: Keyword.get(options, :callback_timeout, @timeout),
      session: session,
      server: {:"nxvk_#{session.device}", session.server},
      run: run,
      tag: make_ref(),
      callers: [self() | Process.get(:"$callers", [])]
    }

    started = System.monotonic_time()
    {helper, monitor} = spawn_monitor(fn -> start(state) end)
    send_run.(Distribution.address(helper, session.server))
    # The answer comes to the helper after all messages of the run.
    send(session.pid, {:call, {helper, state.tag}, ended(run)})
    state = Map.merge(state, %{started: started, last: %{}, key: key})
    hooks(state, helper, monitor, Keyword.get(options, :hooks, %{}))
  end

  # The request that waits for the run. A run without results has no id to wait for.
  defp ended(0), do: :sync
  defp ended(id), do: {:download, id, 0, 0}

  ## The caller

  defp hooks(%{tag: tag} = state, helper, monitor, hooks) do
    receive do
      {^tag, :hook, index, came, values} ->
        {:hook, spec, template} = elem(state.callbacks, index)
        state = tell(state, spec, index, came)

        try do
          hook(spec, hooks).(tensors(template, values))
        catch
          kind, reason ->
            Process.demonitor(monitor, [:flush])
            Process.exit(helper, :kill)
            cancel(state)
            :erlang.raise(kind, reason, __STACKTRACE__)
        end

        hooks(state, helper, monitor, hooks)

      {:DOWN, ^monitor, _, _, {:shutdown, :done}} ->
        :ok

      {:DOWN, ^monitor, _, _, {:shutdown, {kind, reason, stack}}} ->
        :erlang.raise(kind, reason, stack)

      {:DOWN, ^monitor, _, _, reason} ->
        cancel(state)
        exit(reason)
    end
  end

  # How long the values of a hook took, from the start of the run and from those before them. Of the
  # hook of a token these are the time to the first token, and between tokens.
  defp tell(%{started: started, last: last} = state, spec, index, came) do
    {before, count} = Map.get(last, index, {started, 0})

    Telemetry.execute(
      [:hook],
      %{elapsed: came - started, interval: came - before, count: count + 1},
      %{
        name: name(spec),
        key: state.key,
        server: state.session.server,
        device: state.session.device
      }
    )

    %{state | last: Map.put(last, index, {came, count + 1})}
  end

  defp name({:named, name, _default}), do: name
  defp name({:fn, _fun}), do: nil

  defp hook({:fn, fun}, _hooks), do: fun
  defp hook({:named, name, default}, hooks), do: hooks[name] || default

  # A run without results has no id; the answer to its callback ends it.
  defp cancel(%{run: 0}), do: :ok
  defp cancel(state), do: Session.instruct(state.session, {:cancel, [], [], [[state.run]]})

  ## The helper

  defp start(%{callers: [caller | _], session: session} = state) do
    state
    |> Map.put(:caller, Process.monitor(caller))
    |> Map.put(:down, Process.monitor(session.pid))
    |> loop()
  end

  defp loop(%{tag: tag, caller: caller, down: down} = state) do
    receive do
      {:nxvk_hook, _server, _run, index, values} ->
        send(hd(state.callers), {tag, :hook, index, System.monotonic_time(), values})
        loop(state)

      {:nxvk_callback, _server, run, ref, index, values} ->
        reply = &Distribution.send(state.server, {:nxvk_answer, run, ref, &1})
        reply.({:ok, call(state, elem(state.callbacks, index), values, reply)})
        loop(state)

      # An error of the run stays with its results.
      {^tag, _answer} ->
        exit({:shutdown, :done})

      {:DOWN, ^caller, _, _, _} ->
        cancel(state)

      {:DOWN, ^down, _, _, reason} ->
        failed(state, :error, gone(state, reason), [])
    end
  end

  # The answer of a runtime call, or the end of the run; the node is told why.
  defp call(state, {:call, fun, template, out, opts}, values, reply) do
    {pid, ref} =
      spawn_monitor(fn ->
        work(fn -> answer(fun, tensors(template, values), out, opts) end, state.callers)
      end)

    case outcome(state, pid, ref) do
      {:returned, data} ->
        data

      {kind, reason, stack} ->
        reply.({:error, Exception.format_banner(kind, reason, stack)})
        failed(state, kind, reason, stack)
    end
  end

  defp outcome(%{caller: caller, down: down, timeout: timeout} = state, pid, ref) do
    receive do
      {:DOWN, ^ref, _, _, {:shutdown, {:nxvk, outcome}}} -> outcome
      {:DOWN, ^ref, _, _, reason} -> {:exit, reason, []}
      {:DOWN, ^caller, _, _, _} -> abandon(state, pid)
      {:DOWN, ^down, _, _, reason} -> killed(pid, gone(state, reason))
    after
      timeout -> killed(pid, late(timeout))
    end
  end

  defp killed(pid, error) do
    Process.exit(pid, :kill)
    {:error, error, []}
  end

  defp abandon(state, pid) do
    cancel(state)
    Process.exit(pid, :kill)
    exit(:normal)
  end

  defp failed(state, kind, reason, stack) do
    cancel(state)
    exit({:shutdown, {kind, reason, stack}})
  end

  defp gone(%{session: session}, reason),
    do: Error.gone(session.server, reason)

  defp late(timeout),
    do: Error.new(:callback_timeout, "the function of a runtime_call took over #{timeout} ms")

  ## The process of a runtime call

  defp work(fun, callers) do
    Process.put(:"$callers", callers)
    Nx.default_backend(Nx.BinaryBackend)
    Nx.Defn.default_options(compiler: Nx.Defn.Evaluator)

    outcome =
      try do
        {:returned, fun.()}
      catch
        kind, reason -> {kind, reason, __STACKTRACE__}
      end

    exit({:shutdown, {:nxvk, outcome}})
  end

  defp answer(fun, arg, out, opts) do
    result = fun.(arg, opts)

    unless Nx.compatible?(out, result) do
      raise "expected the runtime_call function to match the given output template"
    end

    for t <- Composite.flatten_list([result]) do
      %{type: type} = t = Nx.to_tensor(t)
      t |> Nx.devectorize() |> Nx.to_binary() |> Encoding.encode(type)
    end
  end

  defp tensors(template, values) do
    {container, []} =
      Composite.traverse(template, values, fn t, [{_type, _shape, data} | rest] ->
        {Nx.BinaryBackend.from_binary(t, Encoding.decode(data, t.type), []), rest}
      end)

    container
  end
end
