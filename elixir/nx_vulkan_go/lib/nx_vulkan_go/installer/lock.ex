defmodule NxVulkanGo.Installer.Lock do
  @moduledoc false
  # One process at a time, of all VMs of a machine.
  #
  # The lock is a file with the port of a socket on which its owner listens. Whoever finds the
  # file connects, and waits for the end of the connection: it comes when the owner is done,
  # and also when its VM is killed. A file whose owner does not answer with the word that the
  # file has is left over, and is removed.
  #
  # In a race for a file that is left over two processes may get the lock, and so may two
  # machines with a common folder. Both then download; the archive is compared and moved to
  # its place as a whole, so that does no harm.

  @loopback {127, 0, 0, 1}
  @answer_timeout 2_000

  @doc """
  Calls `fun` with whether this process has waited for another one, and returns its value.
  Calls `waiting` before it waits. Raises `File.Error` where `path` cannot be written; its folder
  must exist.
  """
  @spec run(Path.t(), (-> term), (boolean -> value)) :: value when value: term
  def run(path, waiting, fun), do: run(path, waiting, fun, false)

  defp run(path, waiting, fun, waited?) do
    word = NxVulkanGo.Distribution.random_hex(16)
    {:ok, listener} = :gen_tcp.listen(0, [:binary, ip: @loopback, active: false])
    {:ok, port} = :inet.port(listener)

    try do
      take(path, "#{port} #{word}") && owned(path, listener, word, fn -> fun.(waited?) end)
    after
      :gen_tcp.close(listener)
    end
    |> case do
      {:done, value} ->
        value

      false ->
        waited? = wait(path, waiting) or waited?
        run(path, waiting, fun, waited?)
    end
  end

  # The file comes with its contents, or not at all.
  defp take(path, contents) do
    own = "#{path}.#{NxVulkanGo.Distribution.random_hex(4)}"
    File.write!(own, contents)

    try do
      # A file system without links has no lock.
      File.ln(own, path) != {:error, :eexist}
    after
      File.rm(own)
    end
  end

  defp owned(path, listener, word, fun) do
    server = spawn_link(fn -> serve(listener, word, []) end)

    try do
      {:done, fun.()}
    after
      File.rm(path)
      Process.unlink(server)
      Process.exit(server, :kill)
    end
  end

  # The connections end with this process.
  defp serve(listener, word, connections) do
    case :gen_tcp.accept(listener) do
      {:ok, connection} ->
        :gen_tcp.send(connection, word)
        serve(listener, word, [connection | connections])

      {:error, _closed} ->
        :ok
    end
  end

  # Whether there was an owner to wait for.
  defp wait(path, waiting) do
    with {:ok, contents} <- File.read(path),
         [port, word] <- String.split(contents),
         {port, ""} when port in 1..65_535 <- Integer.parse(port),
         {:ok, connection} <- connect(port) do
      answer = :gen_tcp.recv(connection, byte_size(word), @answer_timeout)
      if answer == {:ok, word}, do: wait_for_end(connection, waiting), else: discard(path)
    else
      # The owner has just removed it.
      {:error, :enoent} -> false
      _left_over -> discard(path)
    end
  end

  defp connect(port),
    do: :gen_tcp.connect(@loopback, port, [:binary, active: false], @answer_timeout)

  defp wait_for_end(connection, waiting) do
    waiting.()
    {:error, _closed} = :gen_tcp.recv(connection, 0)
    true
  end

  # What cannot be removed, such as another user's file, cannot be waited for either.
  defp discard(path) do
    with {:error, reason} when reason != :enoent <- File.rm(path),
         do: raise(File.Error, reason: reason, action: "remove", path: path)

    false
  end
end
