defmodule NxVulkanGo.Session.Stream do
  @moduledoc false
  # The process of a session: it puts all messages of its callers in one order. It is a
  # plain loop, since every operation passes here: instructions that wait in the mailbox are
  # gathered and sent as one message; other messages are handled in their place between them.
  # See "Sessions and order" in guides/contributing/design.md.
  #
  # Messages:
  #
  #     {:instruction, i}          an instruction
  #     {:instructions, [i]}       instructions that belong together
  #     {:instructions, [i], fs}   the same, with operands fs of other BEAM nodes
  #     {:run, program, [i], fs}   the same; one of them runs the program, which is sent
  #                                before them unless the server has it
  #     {:import, [i], id, source} an instruction that copies `source`, the data of a tensor on another
  #                                device of the server, as the value `id`
  #     {:flush, from}             a request for an answer once all before has been sent
  #     {:upload, [i], bytes}      an instruction with data, and perhaps a note before it
  #     {:call, from, request}     a call, which the server answers to `from`
  #     {:call, from, request, p}  the same; the program p is sent before it
  #     {:free, ids}               values that nothing refers to any more
  #     {:caller, pid}             a process that makes values
  #     {:grow, from, count}       a request for more than `count` trackers
  #     {:wait, alias, id}         a request for {alias, :go} once the server is no more than so far behind the id
  #
  # The message queue must stay on the heap: off the heap the BEAM may reorder the signals
  # of different senders, and a free could overtake the last use of a value.

  alias NxVulkanGo.{Distribution, Error, Session, Telemetry}

  alias NxVulkanGo.Session.{
    Cancellation,
    Lease,
    MemoryPressure,
    Opening,
    ProgramCache,
    Remote,
    Tracker
  }

  require Logger

  # Maximum instructions and bytes of a message, and bytes of uploads between two reports.
  @batch 1024
  @batch_bytes 4 * 1024 * 1024
  @report_every 32 * 1024 * 1024

  @open_timeout 30_000
  # Milliseconds, for each tracker, from the exit of a caller to a sweep: the BEAM frees the
  # caller's heap last, and the sweeps of many exits are joined.
  @exit_delay 10
  # Milliseconds between sweeps of an active session. An idle session sweeps every tenth
  # time: a process may collect its garbage long after its last operation.
  @idle_sweep 1_000
  @idle_sweeps_skipped 10

  defstruct [
    :session,
    :destination,
    :monitor,
    callers: %{},
    foreign: %{},
    imports: %{},
    leases: %{},
    programs: %ProgramCache{},
    loops: %{},
    unreported: 0,
    reports: %{},
    waiting: [],
    sweeping: false,
    active: false,
    ticks: 0
  ]

  # `limits` are those of `Options.session!/0`.
  def child_spec({server, device, limits}) do
    %{
      id: {__MODULE__, server, device},
      start: {__MODULE__, :start_link, [server, device, limits]},
      restart: :temporary
    }
  end

  def start_link(server, device, limits) do
    :proc_lib.start_link(__MODULE__, :init, [server, device, limits], @open_timeout + 5_000)
  end

  @doc false
  def init(server, device, limits) do
    Process.flag(:trap_exit, true)

    case Opening.open({:"nxvk_#{device}", server}, limits, @open_timeout) do
      {:ok, destination, monitor, opened} ->
        ready(server, device, destination, monitor, opened)

      {:error, error} ->
        :proc_lib.init_ack({:error, error})
    end
  end

  defp ready(server, device, destination, monitor, opened) do
    session = %Session{
      pid: self(),
      server: server,
      device: device,
      incarnation: opened.incarnation,
      key: opened.key,
      address: Distribution.address(self(), server),
      counters: Session.new_counters(opened.budget)
    }

    Tracker.grow(session)
    Process.send_after(self(), :idle, @idle_sweep)
    Telemetry.execute([:connection, :up], %{count: 1}, metadata(session))
    :proc_lib.init_ack({:ok, self(), session})
    loop(%__MODULE__{session: session, destination: destination, monitor: monitor})
  end

  ## The loop

  defp loop(state) do
    receive do
      message -> message(message, state, [], 0, 0)
    end
  end

  # The garbage of uploads is collected at once: this process may not do it soon.
  defp gather(state, acc, n, bytes) when bytes >= @batch_bytes do
    state = flush(state, acc, n)
    :erlang.garbage_collect()
    loop(state)
  end

  defp gather(state, acc, n, _bytes) when n >= @batch do
    state |> flush(acc, n) |> loop()
  end

  defp gather(state, acc, n, bytes) do
    receive do
      message -> message(message, state, acc, n, bytes)
    after
      0 -> state |> flush(acc, n) |> loop()
    end
  end

  defp message({:instruction, i}, state, acc, n, bytes),
    do: gather(used(state, [i]), [i | acc], n + 1, bytes)

  defp message({:instructions, list}, state, acc, n, bytes),
    do: gather(used(state, list), :lists.reverse(list, acc), n + length(list), bytes)

  defp message({:instructions, list, foreign}, state, acc, n, bytes) do
    {state, list} = Remote.resolve(state, list, foreign)
    gather(used(state, list), :lists.reverse(list, acc), n + length(list), bytes)
  end

  defp message({:run, program, list, foreign}, state, acc, n, bytes) do
    {state, list} = Remote.resolve(state, list, foreign)
    state = state |> used(list) |> loop_sent(program, list)
    {state, before} = define(state, program)
    list = before ++ list
    gather(state, :lists.reverse(list, acc), n + length(list), bytes)
  end

  defp message({:upload, list, size}, state, acc, n, bytes) do
    state = %{state | unreported: state.unreported + size}
    gather(state, :lists.reverse(list, acc), n + length(list), bytes + size)
  end

  # The server answers when it has copied the value, or cannot.
  defp message({:import, list, id, source}, %{session: session} = state, acc, _n, _bytes) do
    ref = make_ref()
    all = :lists.reverse(acc, list)
    request = {:at, session.incarnation, {:then, all, {:describe, id}}}
    Opening.ask(state.destination, {self(), ref}, request)
    state = %{state | imports: Map.put(state.imports, ref, source)}
    state |> sent() |> loop()
  end

  defp message({:free, ids}, state, acc, n, bytes) do
    {loops, cancels} = Cancellation.release(state.loops, ids)
    acc = [{:free, [], [], [ids]} | :lists.reverse(cancels, acc)]
    gather(%{state | loops: loops}, acc, n + 1 + length(cancels), bytes)
  end

  defp message({:caller, pid}, state, acc, n, bytes) do
    callers = Map.put_new_lazy(state.callers, pid, fn -> Process.monitor(pid) end)
    gather(%{state | callers: callers}, acc, n, bytes)
  end

  defp message({:call, from, request, program}, state, acc, n, bytes) do
    {state, before} = define(state, program)
    acc = :lists.reverse(before, acc)
    message({:call, from, request}, state, acc, n + length(before), bytes)
  end

  # Instructions that wait are sent with the call, so the caller waits for one message.
  defp message({:call, from, request}, %{session: session} = state, [_ | _] = acc, _n, _bytes) do
    request = {:at, session.incarnation, {:then, :lists.reverse(acc), request}}
    Opening.ask(state.destination, from, request)
    state |> sent() |> loop()
  end

  defp message(other, state, acc, n, _bytes) do
    state |> flush(acc, n) |> handle(other) |> loop()
  end

  defp used(%{loops: loops} = state, _list) when loops == %{}, do: state
  defp used(state, list), do: %{state | loops: Cancellation.untrack_used(state.loops, list)}

  defp loop_sent(state, %{loops: true}, list) do
    for {:run, results, _, _} <- list, reduce: state do
      state ->
        %{state | loops: Cancellation.track(state.loops, for({id, _, _} <- results, do: id))}
    end
  end

  defp loop_sent(state, _program, _list), do: state

  defp define(state, program) do
    {programs, instructions} = ProgramCache.use(state.programs, program)
    {%{state | programs: programs}, instructions}
  end

  defp flush(state, [], 0), do: state

  defp flush(%{session: session} = state, acc, _n) do
    Distribution.send(state.destination, {:nxvk, session.incarnation, :lists.reverse(acc)})
    sent(state)
  end

  defp sent(state), do: report(%{state | active: true})

  # The server reports from time to time which uploads it has, so that callers know when to wait.
  defp report(%{unreported: n} = state) when n < @report_every, do: state

  defp report(%{session: session} = state) do
    ref = make_ref()
    request = {:at, session.incarnation, :barrier}
    Opening.ask(state.destination, {self(), ref}, request)
    reports = Map.put(state.reports, ref, Session.uploaded(session))
    %{state | unreported: 0, reports: reports}
  end

  ## Everything that is not an instruction

  defp handle(state, {:call, from, request}) do
    request = {:at, state.session.incarnation, request}
    Opening.ask(state.destination, from, request)
    %{state | active: true}
  end

  defp handle(state, {:flush, {pid, ref}}) do
    send(pid, {ref, :ok})
    state
  end

  defp handle(state, {:grow, {pid, ref}, count}) do
    if tuple_size(Tracker.lookup(state.session)) <= count, do: Tracker.grow(state.session)
    send(pid, {ref, :ok})
    state
  end

  defp handle(state, {:nxvk_flow, _server, id, window}) do
    Session.allow(state.session, id, window, map_size(state.callers))
    {go, waiting} = Enum.split_with(state.waiting, fn {_, last} -> last <= id end)
    for {waiting, _} <- go, do: send(waiting, {waiting, :go})
    %{state | waiting: waiting}
  end

  defp handle(state, {:wait, waiting, id}) do
    if Session.allowed?(state.session, id) do
      send(waiting, {waiting, :go})
      state
    else
      %{state | waiting: [{waiting, id} | state.waiting]}
    end
  end

  defp handle(state, {:nxvk_sweep, _server, ref}) do
    MemoryPressure.start_collection(self(), state.session, Map.keys(state.callers), ref)
    state
  end

  defp handle(state, {:relieve, caller, ref}) do
    MemoryPressure.start_collection(
      caller,
      state.session,
      Map.keys(state.callers) -- [caller],
      ref
    )

    state
  end

  defp handle(state, {:swept, ref}) do
    Distribution.send(state.destination, {:nxvk_swept, ref})
    state
  end

  defp handle(state, :sweep) do
    Tracker.sweep(Tracker.lookup(state.session))
    Remote.sweep(state)
    %{state | sweeping: false}
  end

  defp handle(state, :idle) do
    Process.send_after(self(), :idle, @idle_sweep)
    ticks = state.ticks + 1

    if state.active or rem(ticks, @idle_sweeps_skipped) == 0 do
      :erlang.garbage_collect()
      Tracker.trim(Tracker.lookup(state.session))
      handle(%{state | active: false, ticks: ticks}, :sweep)
    else
      %{state | ticks: ticks}
    end
  end

  defp handle(state, {:DOWN, monitor, _, _, reason}) when monitor == state.monitor,
    do: over(state, reason)

  defp handle(state, {:DOWN, _, :process, pid, _}) do
    delay = min(@exit_delay * tuple_size(Tracker.lookup(state.session)), @idle_sweep)
    unless state.sweeping, do: Process.send_after(self(), :sweep, delay)
    %{state | callers: Map.delete(state.callers, pid), sweeping: true, active: true}
  end

  defp handle(state, {:lease, id, pid}), do: %{state | leases: Map.put(state.leases, id, pid)}

  defp handle(state, {:retained, id}) do
    %{
      state
      | leases: Lease.notify_retained(state.leases, id),
        loops: Cancellation.untrack(state.loops, id)
    }
  end

  defp handle(state, {:foreign_unused, key, uses}) do
    {state, instructions} = Remote.forget(state, key, uses)
    flush(state, instructions, length(instructions))
  end

  # Where the time of a run or a download with a trace context went.
  defp handle(state, {:nxvk_spans, _server, context, span}) do
    metadata = Map.merge(metadata(state.session), %{context: context, span: span})
    Telemetry.execute([:node, :spans], %{duration: span.end - span.start}, metadata)
    state
  end

  defp handle(state, :stale), do: over(state, :stale)

  defp handle(state, {:nxvk_error, _server, error}) do
    error = Error.from_wire(error)
    Telemetry.execute([:error], %{count: 1}, Map.put(metadata(state.session), :error, error))
    Logger.error("nx_vulkan_go: " <> Exception.message(error))
    if error.kind == :stale, do: over(state, :stale), else: state
  end

  defp handle(state, {:EXIT, _pid, reason}), do: over(state, reason)

  defp handle(state, {ref, _reply}) when is_map_key(state.reports, ref) do
    {uploaded, reports} = Map.pop!(state.reports, ref)
    Session.record_uploaded(state.session, uploaded)
    %{state | reports: reports}
  end

  defp handle(state, {ref, _reply}) when is_map_key(state.imports, ref) do
    {source, imports} = Map.pop!(state.imports, ref)
    Tracker.release(source)
    %{state | imports: imports}
  end

  defp handle(state, _other), do: state

  defp over(state, reason) do
    Session.close(state.session)
    Tracker.forget(state.session)
    metadata = Map.put(metadata(state.session), :reason, reason)
    Telemetry.execute([:connection, :down], %{count: 1}, metadata)
    exit({:shutdown, reason})
  end

  defp metadata(session), do: Map.take(session, [:server, :device, :incarnation])
end
