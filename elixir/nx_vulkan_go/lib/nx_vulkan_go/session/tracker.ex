defmodule NxVulkanGo.Session.Tracker do
  @moduledoc false
  # Knows when nothing in this VM refers to a tensor any more.
  #
  # The BEAM has no finalizers, but it counts the references to binaries of more
  # than 64 bytes, and `Process.info(pid, :binary)` shows for each that a process
  # holds {address, size, references}. Every tensor carries such a binary of its
  # own, its token, and a tracker holds the same one: a token with one reference
  # is one that only the tracker still holds. Which tensor it belongs to, its size
  # says: 65 plus a slot that no other living token of this tracker has.
  #
  # Slots are taken by the callers, without a message, in an array of atomics
  # (0 is free), and given back by the tracker when the token has left its heap.
  # The token goes to the tracker before the instruction that makes the value goes
  # to the session, and a caller has sent every use of a value before it drops
  # the token: so the free that follows from a sweep comes after all of them.
  #
  # A session has one tracker at first and twice as many whenever they fill up.

  alias NxVulkanGo.{Session, Telemetry}

  @slots 1024
  @first_size 65
  # A part of it is copied: that is quicker than repeating a byte.
  @longest :binary.copy(<<0>>, @first_size + @slots)
  @run 64
  @stride 67
  @probes 16
  @searches 8
  # Tokens that arrive between two sweeps of a tracker's own accord.
  @sweep_every 256

  ## Of callers

  @doc "Gives the value `id`, of so many bytes, a token that a tracker watches."
  def hold(session, id, bytes) do
    {pid, slot} = slot(session, trackers(session), id)
    token = token(slot)
    send(pid, {:hold, slot, id, token, bytes})
    {id, token, pid}
  end

  @doc "The same for values of the ids from `first` on, by the bytes of each."
  def hold_all(session, first, list) do
    {held, _next} =
      Enum.map_reduce(list, first, fn bytes, id ->
        {pid, slot} = slot(session, trackers(session), id)
        {{pid, {slot, id, token(slot), bytes}}, id + 1}
      end)

    tell(held)
    for {pid, {_slot, id, token, _bytes}} <- held, do: {id, token, pid}
  end

  # A message to each tracker: mostly to one.
  defp tell([]), do: :ok

  defp tell([{pid, _} | _] = held) do
    {mine, others} = Enum.split_with(held, &(elem(&1, 0) == pid))
    send(pid, {:hold_all, for({_, value} <- mine, do: value)})
    tell(others)
  end

  defp token(slot), do: :binary.copy(binary_part(@longest, 0, @first_size + slot))

  @doc "Frees a value now; its token may still be around."
  def release(pid, id, token) do
    ref = Process.monitor(pid)
    send(pid, {:release, self(), ref, byte_size(token) - @first_size, id})

    receive do
      {^ref, answer} ->
        Process.demonitor(ref, [:flush])
        answer

      {:DOWN, ^ref, _, _, _} ->
        :already_deallocated
    end
  end

  # Ids go to the trackers in runs of 64; the runs of one tracker fill its slots
  # in turn. Where a slot is taken, a stride beyond a run finds another, here or
  # in trackers far from this one: the younger ones, in the upper half, are empty
  # when the older ones are full.
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
        if live * 2 > count * @slots, do: grow(session, count)
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
    {pid, taken} = elem(trackers, rem(index, tuple_size(trackers)))

    case probe(taken, at, @probes) do
      nil -> search(trackers, index + step, step, at, tries - 1)
      slot -> {pid, slot}
    end
  end

  defp probe(_taken, _at, 0), do: nil

  defp probe(taken, at, tries) do
    slot = rem(at, @slots)

    case :atomics.compare_exchange(taken, slot + 1, 0, 1) do
      :ok -> slot
      _ -> probe(taken, at + @stride, tries - 1)
    end
  end

  @doc "Has all trackers sweep, waits for them, and returns how many tokens live."
  def sweep_and_wait(session, reason) do
    ref = make_ref()
    trackers = all(session)
    sweep(trackers, self(), ref, reason)
    await_swept(ref, tuple_size(trackers), 0)
  end

  defp await_swept(_ref, 0, live), do: live

  defp await_swept(ref, count, live) do
    receive do
      {^ref, :swept, n} -> await_swept(ref, count - 1, live + n)
    after
      # A session that ends takes its trackers along.
      1_000 -> live
    end
  end

  defp grow(session, count) do
    ref = Process.monitor(session.pid)
    send(session.pid, {:grow, {self(), ref}, count})

    receive do
      {^ref, :ok} -> Process.demonitor(ref, [:flush])
      {:DOWN, ^ref, _, _, _} -> Session.over!(session)
    end
  end

  defp trackers(session) do
    case all(session) do
      {} -> Session.over!(session)
      trackers -> trackers
    end
  end

  ## Of the session

  @doc "Starts as many trackers as there are, or the first; called by the session."
  def grow(%Session{pid: pid} = session) when pid == self() do
    key = {__MODULE__, pid}
    old = :persistent_term.get(key, {})

    new =
      for _ <- 1..max(tuple_size(old), 1) do
        taken = :atomics.new(@slots, signed: false)
        {spawn_link(fn -> init(session, taken) end), taken}
      end

    trackers = List.to_tuple(Tuple.to_list(old) ++ new)
    :persistent_term.put(key, trackers)
    trackers
  end

  @doc "The trackers of a session."
  def all(%Session{pid: pid}), do: :persistent_term.get({__MODULE__, pid}, {})

  @doc "Forgets the trackers of a session that is over."
  def forget(%Session{pid: pid}), do: :persistent_term.erase({__MODULE__, pid})

  @doc "Asks all trackers to sweep; each answers `{ref, :swept, live}` to `reply_to`."
  def sweep(trackers, reply_to, ref, reason) do
    for {pid, _} <- Tuple.to_list(trackers), do: send(pid, {:sweep, reply_to, ref, reason})
    :ok
  end

  ## The process

  defp init(session, taken) do
    loop(%{session: session, taken: taken, held: %{}, arrived: 0})
  end

  defp loop(state) do
    receive do
      {:hold, slot, id, token, bytes} ->
        held = Map.put(state.held, slot, {id, token, bytes})
        arrived(%{state | held: held, arrived: state.arrived + 1})

      {:hold_all, values} ->
        new =
          for {slot, id, token, bytes} <- values, into: state.held, do: {slot, {id, token, bytes}}

        arrived(%{state | held: new, arrived: state.arrived + length(values)})

      {:release, from, ref, slot, id} ->
        loop(release(state, from, ref, slot, id))

      {:sweep, reply_to, ref, reason} ->
        state = swept(state, reason)
        if reply_to, do: send(reply_to, {ref, :swept, map_size(state.held)})
        loop(state)
    end
  end

  defp arrived(%{arrived: n} = state) when n > @sweep_every,
    do: loop(%{swept(state, :routine) | arrived: 0})

  defp arrived(state), do: loop(state)

  # The slot stays taken as long as somebody holds the token.
  defp release(state, from, ref, slot, id) do
    case state.held do
      %{^slot => {^id, token, bytes}} ->
        send(state.session.pid, {:free, [id]})
        Session.freed(state.session, bytes)
        send(from, {ref, :ok})
        %{state | held: Map.put(state.held, slot, {nil, token, 0})}

      _ ->
        send(from, {ref, :already_deallocated})
        state
    end
  end

  defp swept(%{held: held} = state, _reason) when held == %{}, do: state

  defp swept(state, reason) do
    slots = garbage(state.held)
    if slots == [], do: state, else: drop(state, slots, reason)
  end

  # The slots whose token nobody else holds. A token that has been dropped may
  # still lie in this heap when its size has been given to another: a size that
  # is there twice says nothing.
  defp garbage(held) do
    {:binary, binaries} = Process.info(self(), :binary)

    slots =
      for {_address, size, 1} <- binaries,
          slot = size - @first_size,
          is_map_key(held, slot),
          do: slot

    if slots == [] or length(binaries) == map_size(held),
      do: slots,
      else: slots -- twice(binaries)
  end

  defp twice(binaries) do
    sizes = for {_address, size, _} <- binaries, do: size - @first_size
    sizes -- Enum.uniq(sizes)
  end

  defp drop(state, slots, reason) do
    {dead, held} = Map.split(state.held, slots)
    ids = for {_, {id, _, _}} <- dead, id != nil, do: id
    if ids != [], do: send(state.session.pid, {:free, ids})
    Session.freed(state.session, Enum.sum(for {_, {_, _, bytes}} <- dead, do: bytes))
    state = collect(%{state | held: held})
    for slot <- slots, do: :atomics.put(state.taken, slot + 1, 0)

    Telemetry.execute(
      [:memory, :sweep],
      %{freed: length(ids), live: map_size(state.held)},
      %{server: state.session.server, device: state.session.device, reason: reason}
    )

    state
  end

  # The tokens must have left this heap before others may have their sizes.
  defp collect(state) do
    :erlang.garbage_collect()
    state
  end
end
