defmodule NxVulkanGo.Session.Mesh do
  @moduledoc false
  # The mesh of the sessions of this VM on a server: the rank of a session is the index of its
  # device. A session joins once, before its first part of a function over several devices.

  alias NxVulkanGo.Session

  # The most devices of a server. Ranks without a session are no harm.
  @ranks 1024

  @doc "Has a session take its place in the mesh of this VM and its server."
  @spec join!(Session.t()) :: Session.t()
  def join!(%Session{pid: pid, device: device, server: server} = session) do
    key = {__MODULE__, server, device}

    if :persistent_term.get(key, nil) != pid do
      Session.call!(session, {:open, %{sweep: true, mesh: {id(server), device, @ranks}}})
      :persistent_term.put(key, pid)
    end

    session
  end

  # The id of the mesh is a secret of this VM.
  defp id(server) do
    :global.trans(
      {{__MODULE__, server}, self()},
      fn ->
        key = {__MODULE__, server}

        with nil <- :persistent_term.get(key, nil) do
          id = :crypto.strong_rand_bytes(16)
          :persistent_term.put(key, id)
          id
        end
      end,
      [node()]
    )
  end
end
