defmodule NxVulkanGo.Session.Tracker do
  @moduledoc false
  # Finds the values that nothing in this VM refers to any more, and frees them. Each tensor
  # carries a token, a binary that only its tracker and the table of `Session.Slots` hold as
  # well. A token with two references belongs to no tensor; its size names the slot.
  # See "Tokens: when memory is free" in guides/contributing/design.md.
  #
  # A value is known here before the instruction that makes it is sent, and a caller has sent
  # every use of a value before it drops the token. So the free that follows from a sweep comes
  # after all uses.

  alias NxVulkanGo.{Session, Telemetry}
  alias NxVulkanGo.Session.Slots

  # The references of a token that no tensor has.
  @ours 2
  @run 64
  @searches 8
  # Trackers of a new session. A process that makes and drops tensors collects its garbage
  # about every 640 tokens, because of their size, and a sweep comes later. With fewer slots
  # that process would wait for sweeps often.
  @first 2
  # Slots that are taken between two sweeps that a tracker begins itself.
  @sweep_every 256

  ## Of callers

  @doc "Gives the value `id` of `bytes` bytes a token that a tracker watches."
  @spec hold(Session.t(), pos_integer, non_neg_integer) :: {pos_integer, binary, pid}
  def hold(session, id, bytes) do
    {pid, slots, slot} = slot(session, trackers(session), id)
    {token, given} = Slots.give(slots, slot, id, bytes)
    if rem(given, @sweep_every) == @sweep_every - 1, do: send(pid, :sweep)
    {id, token, pid}
  rescue
    # The table has gone with the session.
    ArgumentError -> Session.raise_closed!(session)
  end

  @doc "Frees the value of a tensor's data without delay; its token may still exist."
  @spec release(struct) :: :ok | :already_deallocated
  def release(%{session: session, id: id} = handle) do
    if held?(handle) do
      # The free comes first: a caller may be killed here, and a second free does nothing.
      send(session.pid, {:free, [id]})
      mark_freed(handle)
    else
      :already_deallocated
    end
  end

  @doc "Whether the value of a tensor's data has not been freed."
  @spec held?(struct) :: boolean
  def held?(%{id: id, token: token} = handle) do
    slots = slots(handle)
    slots != nil and Slots.holds?(slots, Slots.slot(token), id)
  end

  @doc "Returns the token of a tensor's data that may have come from another node as a copy; nil where it is freed."
  @spec token(struct) :: binary | nil
  def token(%{token: token} = handle) do
    if held?(handle), do: Slots.token(slots(handle), Slots.slot(token))
  end

  @doc "Notes that the value of a tensor's data has been freed. Its slot stays taken as long as the token exists."
  @spec mark_freed(struct) :: :ok
  def mark_freed(%{session: session, id: id, token: token} = handle) do
    slots = slots(handle)
    slot = Slots.slot(token)

    if slots && Slots.release(slots, slot, id),
      do: Session.count_freed(session, Slots.bytes(slots, slot))

    # Until here the slot is this value's.
    Session.keep_alive(handle)
  end

  # The slots of the tracker that has the value, or nil when its session is over.
  defp slots(%{session: session, keeper: keeper}) do
    with {_, slots} <- session |> lookup() |> Tuple.to_list() |> List.keyfind(keeper, 0),
         do: slots
  end

  # Ids go to the trackers in runs of 64; the runs of one tracker fill its slots
  # in turn. Where a slot is taken, others near it are tried, here or in trackers
  # far from this one: the younger ones, in the upper half, are empty when the
  # older ones are full.
  defp slot(session, trackers, id) do
    count = tuple_size(trackers)
    run = div(id, @run)
    at = div(run, count) * @run + rem(id, @run)
    tries = min(count, @searches)

    case search(trackers, run, div(count, tries), at, tries) do
      nil ->
        # Mostly the caller has only outrun the sweeps.
        :erlang.garbage_collect(self(), type: :minor)
        live = sweep_and_wait(session, :routine)
        if live * 2 > count * Slots.count(), do: grow(session, count)
        slot_anywhere(session, trackers(session), at)

      found ->
        found
    end
  end

  defp slot_anywhere(session, trackers, at) do
    count = tuple_size(trackers)

    with nil <- search(trackers, count - 1, count - 1, at, count) do
      grow(session, count)
      slot_anywhere(session, trackers(session), at)
    end
  end

  defp search(_trackers, _index, _step, _at, 0), do: nil

  defp search(trackers, index, step, at, tries) do
    {pid, slots} = elem(trackers, rem(index, tuple_size(trackers)))

    case Slots.claim(slots, at) do
      nil -> search(trackers, index + step, step, at, tries - 1)
      slot -> {pid, slots, slot}
    end
  end

  @doc "Has all trackers sweep, waits for them, and returns how many tokens live."
  @spec sweep_and_wait(Session.t(), atom) :: non_neg_integer
  def sweep_and_wait(session, reason) do
    # The function of an event may use tensors in the process of a tracker, which cannot wait for itself.
    refs =
      for {pid, _} <- Tuple.to_list(lookup(session)), pid != self() do
        ref = Process.monitor(pid, alias: :reply_demonitor)
        send(pid, {:sweep, ref, reason})
        ref
      end

    refs |> Enum.map(&await_swept/1) |> Enum.sum()
  end

  # A session that ends takes its trackers along.
  defp await_swept(ref) do
    receive do
      {^ref, :swept, live} -> live
      {:DOWN, ^ref, _, _, _} -> 0
    end
  end

  defp grow(session, count) do
    ref = Process.monitor(session.pid)
    send(session.pid, {:grow, {self(), ref}, count})

    receive do
      {^ref, :ok} -> Process.demonitor(ref, [:flush])
      {:DOWN, ^ref, _, _, _} -> Session.raise_closed!(session)
    end
  end

  defp trackers(session) do
    case lookup(session) do
      {} -> Session.raise_closed!(session)
      trackers -> trackers
    end
  end

  ## Of the session

  @doc "Starts as many trackers as there are, or the first; called by the session."
  @spec grow(Session.t()) :: tuple
  def grow(%Session{pid: pid} = session) when pid == self() do
    key = {__MODULE__, pid}
    old = :persistent_term.get(key, {})

    new =
      for _ <- 1..max(tuple_size(old), @first) do
        slots = Slots.new()
        {spawn_link(fn -> init(session, slots) end), slots}
      end

    trackers = List.to_tuple(Tuple.to_list(old) ++ new)
    :persistent_term.put(key, trackers)
    trackers
  end

  @doc "Returns the trackers of a session, `{pid, slots}` each."
  @spec lookup(Session.t()) :: tuple
  def lookup(%Session{pid: pid}), do: :persistent_term.get({__MODULE__, pid}, {})

  @doc "Forgets the trackers of a session that is over."
  def forget(%Session{pid: pid}), do: :persistent_term.erase({__MODULE__, pid})

  @doc "Has all trackers sweep, and does not wait."
  @spec sweep(tuple) :: :ok
  def sweep(trackers) do
    for {pid, _} <- Tuple.to_list(trackers), do: send(pid, :sweep)
    :ok
  end

  @doc "Has idle trackers drop the tokens of their free slots."
  def trim(trackers) do
    for {pid, _} <- Tuple.to_list(trackers), do: send(pid, :trim)
    :ok
  end

  ## The process

  # The tokens by slot; how many slots have been given back; and how many had been
  # given when this tracker was last told to trim.
  defp init(session, slots) do
    loop(%{session: session, slots: slots, tokens: %{}, freed: 0, arrived: 0})
  end

  defp loop(state) do
    receive do
      :sweep ->
        skip_sweeps()
        loop(sweep_slots(state, :routine))

      {:sweep, ref, reason} ->
        state = sweep_slots(state, reason)
        send(ref, {ref, :swept, live(state)})
        loop(state)

      :trim ->
        loop(trim_tokens(state, Slots.given_count(state.slots)))
    end
  end

  # One sweep is enough for all who have asked for it.
  defp skip_sweeps do
    receive do
      :sweep -> skip_sweeps()
    after
      0 -> :ok
    end
  end

  defp sweep_slots(%{slots: slots} = state, reason) do
    if live(state) == 0 do
      state
    else
      state = %{state | tokens: Slots.collect(slots, state.tokens)}
      dead = garbage(slots, state.tokens)
      if dead == [], do: state, else: free_values(state, dead, reason)
    end
  end

  # The taken slots whose token no tensor has, with what they stand for. States first,
  # references after: a slot that is taken in between may have a token that its caller
  # does not hold yet.
  defp garbage(slots, tokens) do
    states = Slots.states(slots)
    for slot <- unreferenced(tokens), value = Slots.value(states, slot), do: {slot, value}
  end

  # The slots whose token only the table and this process have.
  defp unreferenced(tokens) do
    {:binary, binaries} = Process.info(self(), :binary)

    if length(binaries) == map_size(tokens),
      do: for({_address, size, @ours} <- binaries, do: Slots.slot_of_size(size)),
      else: unreferenced(tokens, binaries)
  end

  # This heap has other binaries too: those of a telemetry handler, or tokens that it has
  # dropped. So a size that occurs twice does not identify a token.
  defp unreferenced(tokens, binaries) do
    doubtful = twice(binaries)

    for {_address, size, @ours} <- binaries,
        slot = Slots.slot_of_size(size),
        is_map_key(tokens, slot) and size not in doubtful,
        do: slot
  end

  defp twice(binaries) do
    sizes = for {_address, size, _} <- binaries, do: size
    sizes -- Enum.uniq(sizes)
  end

  defp free_values(%{session: session, slots: slots} = state, dead, reason) do
    {ids, bytes} = values(dead, slots, [], 0)
    if ids != [], do: send(session.pid, {:free, ids})
    Session.count_freed(session, bytes)
    for {slot, _value} <- dead, do: Slots.free(slots, slot)
    state = %{state | freed: state.freed + length(dead)}

    Telemetry.execute(
      [:memory, :sweep],
      %{freed: length(ids), live: live(state)},
      %{server: session.server, device: session.device, reason: reason}
    )

    state
  end

  defp values([], _slots, ids, bytes), do: {ids, bytes}

  defp values([{_slot, :released} | dead], slots, ids, bytes),
    do: values(dead, slots, ids, bytes)

  # The last to have the tensor may have freed it after the states were read.
  defp values([{slot, id} | dead], slots, ids, bytes) do
    if Slots.release(slots, slot, id),
      do: values(dead, slots, [id | ids], bytes + Slots.bytes(slots, slot)),
      else: values(dead, slots, ids, bytes)
  end

  defp live(state), do: Slots.given_count(state.slots) - state.freed

  # The tokens must have left this heap before others may have their sizes.
  defp trim_tokens(%{slots: slots, arrived: now} = state, now) do
    case for({slot, _} <- state.tokens, Slots.forget_token(slots, slot), do: slot) do
      [] ->
        state

      forgotten ->
        state = without(state, forgotten)
        for slot <- forgotten, do: Slots.free(slots, slot)
        state
    end
  end

  defp trim_tokens(state, now), do: %{state | arrived: now}

  defp without(state, slots) do
    state = %{state | tokens: Map.drop(state.tokens, slots)}
    :erlang.garbage_collect()
    state
  end
end
