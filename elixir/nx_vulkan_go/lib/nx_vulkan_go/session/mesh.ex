defmodule NxVulkanGo.Session.Mesh do
  @moduledoc false
  # The meshes of the sessions of this VM. A session is in one mesh at a time, and joins before its first part of a
  # function over several devices.
  #
  # Without places, the ranks are the devices of a server: the rank of a session is the index of its device, and
  # a session that is replaced takes the rank again. With places, of one server or of several, rank n is that of
  # the nth place. Such a mesh ends with a session: then all join another one.

  alias NxVulkanGo.{Configuration, Options, Session}
  alias NxVulkanGo.Session.Registry

  # The most devices of a server. Ranks without a session are no harm.
  @ranks 1024

  @typedoc "A place for each rank, or nil: the devices of a server in their order."
  @type layout :: nil | [keyword]

  @doc "Returns the places of the option `:places`, or of the configuration. Raises `ArgumentError`."
  @spec layout!(keyword) :: layout
  def layout!(options) do
    case options[:places] || Configuration.get(:mesh) do
      nil ->
        nil

      list ->
        if options[:server],
          do:
            raise(
              ArgumentError,
              "a function over places takes no :server: each place has its own"
            )

        Options.places!(list)
    end
  end

  @doc "Returns the session of each of the first ranks, in one mesh."
  @spec sessions!(layout, pos_integer, keyword) :: [Session.t()]
  def sessions!(nil, ranks, options) do
    for rank <- 0..(ranks - 1),
        do: join!(Registry.fetch!(server: options[:server], device: rank))
  end

  def sessions!(places, ranks, _options) do
    if ranks > length(places) do
      raise ArgumentError,
            "the mesh has #{ranks} partitions, and there are #{length(places)} places: #{inspect(places)}"
    end

    sessions = for place <- Enum.take(places, ranks), do: Registry.fetch!(place)
    different!(sessions, places)
    if not joined?(places, sessions), do: join_all!(places, sessions)
    sessions
  end

  defp different!(sessions, places) do
    devices = for s <- sessions, do: {s.server, s.device}

    if devices != Enum.uniq(devices) do
      raise ArgumentError, "two places are the same device: #{inspect(places)}"
    end
  end

  # A session takes its place in the mesh of this VM and its server.
  defp join!(%Session{device: device, server: server} = session) do
    id = id({:server, server})

    if current(session) != id, do: open!(session, id, {id, device, @ranks})
    session
  end

  defp joined?(places, sessions) do
    id = :persistent_term.get({__MODULE__, places}, nil)
    id != nil and Enum.all?(sessions, &(current(&1) == id))
  end

  # Only one process joins at a time. A mesh that a session has been in and is no more has ended.
  defp join_all!(places, sessions) do
    locked(fn ->
      if not joined?(places, sessions) do
        id = id(places)
        before = :persistent_term.get({__MODULE__, :ranks, id}, [])
        pids = for s <- sessions, do: s.pid

        ended? =
          Enum.any?(Enum.zip(before, sessions), fn {pid, s} ->
            pid != s.pid or current(s) != id
          end)

        id = if ended?, do: new_id(places), else: id
        members = members(places, sessions)

        for {session, rank} <- Enum.with_index(sessions),
            current(session) != id,
            do: open!(session, id, {id, rank, members})

        kept = if ended?, do: [], else: Enum.drop(before, length(pids))
        :persistent_term.put({__MODULE__, :ranks, id}, pids ++ kept)
      end
    end)
  end

  # The node of each rank, or how many there are where all are of one node.
  defp members(places, sessions) do
    named =
      for place <- Enum.drop(places, length(sessions)), do: place[:server] || hd(sessions).server

    nodes = for(s <- sessions, do: s.server) ++ named
    if Enum.uniq(nodes) == [hd(nodes)], do: length(nodes), else: nodes
  end

  defp open!(session, id, mesh) do
    Session.call!(session, {:open, %{sweep: true, mesh: mesh}})
    :persistent_term.put(key(session), {session.pid, id})
  end

  # The mesh that a session is in.
  defp current(%Session{pid: pid} = session) do
    case :persistent_term.get(key(session), nil) do
      {^pid, id} -> id
      _ -> nil
    end
  end

  defp key(%Session{server: server, device: device}), do: {__MODULE__, :session, server, device}

  # The id of a mesh is a secret of this VM.
  defp id(of) do
    with nil <- :persistent_term.get({__MODULE__, of}, nil) do
      locked(fn -> :persistent_term.get({__MODULE__, of}, nil) || new_id(of) end)
    end
  end

  defp new_id(of) do
    id = :crypto.strong_rand_bytes(16)
    :persistent_term.put({__MODULE__, of}, id)
    id
  end

  defp locked(fun), do: :global.trans({__MODULE__, self()}, fun, [node()])
end
