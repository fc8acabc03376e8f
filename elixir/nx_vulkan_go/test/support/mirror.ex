defmodule NxVulkanGo.Mirror do
  @moduledoc false
  # An HTTP server with the archives of a release, which also does what servers should not.
  #
  # A file is `{:ok, bytes}`, or `{:cut, bytes, at}`, of which a connection gives `at` bytes and
  # breaks off, `{:silent, bytes, at}`, where it says nothing more, `{:slow, bytes, gate}`, of
  # which it gives half before `gate`, a process, says `:go`, or `{:status, code}`. `{:redirect, path}` is elsewhere on this server.

  @doc "Starts one with files by their names. It ends with the calling process."
  def start(files) do
    test = self()

    {:ok, listener} =
      :gen_tcp.listen(0, [:binary, ip: {127, 0, 0, 1}, active: false, packet: :http_bin])

    {:ok, port} = :inet.port(listener)
    {:ok, asked} = Agent.start_link(fn -> [] end)
    accepting = spawn_link(fn -> accept(listener, files, asked, test) end)
    :ok = :gen_tcp.controlling_process(listener, accepting)
    %{url: "http://127.0.0.1:#{port}", asked: asked, port: port}
  end

  @doc "The targets of the requests so far, in order: paths, or URLs where it is a proxy."
  def asked(mirror), do: mirror.asked |> Agent.get(& &1) |> Enum.reverse()

  defp accept(listener, files, asked, test) do
    {:ok, socket} = :gen_tcp.accept(listener)
    pid = spawn_link(fn -> receive(do: (:serve -> serve(socket, files, asked, test))) end)
    :ok = :gen_tcp.controlling_process(socket, pid)
    send(pid, :serve)
    accept(listener, files, asked, test)
  end

  defp serve(socket, files, asked, test) do
    with {:ok, {:http_request, :GET, target, _}} <- :gen_tcp.recv(socket, 0) do
      headers = headers(socket, %{})
      target = target(target)

      count =
        Agent.get_and_update(
          asked,
          &{Enum.count(&1, fn {t, _} -> t == target end), [{target, headers} | &1]}
        )

      :inet.setopts(socket, packet: :raw)
      file = Map.get(files, Path.basename(target), {:status, 404})
      # A list has what successive requests get.
      answer(
        socket,
        if(is_list(file), do: Enum.at(file, min(count, length(file) - 1)), else: file),
        test
      )

      :gen_tcp.close(socket)
    end
  end

  defp headers(socket, found) do
    case :gen_tcp.recv(socket, 0) do
      {:ok, {:http_header, _, name, _, value}} ->
        headers(socket, Map.put(found, name |> to_string() |> String.downcase(), value))

      {:ok, :http_eoh} ->
        found
    end
  end

  defp target({:abs_path, path}), do: path
  defp target({:absoluteURI, scheme, host, port, path}), do: "#{scheme}://#{host}:#{port}#{path}"

  defp answer(socket, {:ok, bytes}, _test), do: :gen_tcp.send(socket, [head(bytes), bytes])

  defp answer(socket, {:cut, bytes, at}, _test),
    do: :gen_tcp.send(socket, [head(bytes), binary_part(bytes, 0, at)])

  defp answer(socket, {:silent, bytes, at}, _test) do
    :gen_tcp.send(socket, [head(bytes), binary_part(bytes, 0, at)])
    # Until the client has had enough.
    :gen_tcp.recv(socket, 0)
  end

  defp answer(socket, {:slow, bytes, gate}, test) do
    half = div(byte_size(bytes), 2)
    :gen_tcp.send(socket, [head(bytes), binary_part(bytes, 0, half)])
    send(test, {:half, self()})
    gate && receive(do: (:go -> :ok))
    :gen_tcp.send(socket, binary_part(bytes, half, byte_size(bytes) - half))
  end

  defp answer(socket, {:redirect, path}, _test) do
    head =
      "HTTP/1.1 302 Found\r\nlocation: #{path}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

    :gen_tcp.send(socket, head)
  end

  defp answer(socket, {:status, code}, _test),
    do:
      :gen_tcp.send(
        socket,
        "HTTP/1.1 #{code} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
      )

  defp head(bytes),
    do: "HTTP/1.1 200 OK\r\ncontent-length: #{byte_size(bytes)}\r\nconnection: close\r\n\r\n"

  ## Archives

  @doc "An archive of a program, and the line of a file with sums for it."
  def archive(dir, name, program, file \\ "nxvk-node") do
    path = Path.join(dir, name)

    :ok =
      :erl_tar.create(
        String.to_charlist(path),
        [{String.to_charlist(file), program}, {~c"LICENSE", "free"}],
        [
          :compressed
        ]
      )

    bytes = File.read!(path)
    {bytes, Base.encode16(:crypto.hash(:sha256, bytes), case: :lower) <> "  #{name}\n"}
  end

  @doc """
  Makes a copy of this package in `dir` that knows the archives of `sums`, and returns the code
  path of a VM that uses it.
  """
  def package(dir, sums) do
    package = Path.join(dir, "lib/nx_vulkan_go")
    ebin = Path.join(package, "ebin")
    File.mkdir_p!(Path.join(package, "priv"))

    File.cp!(
      Application.app_dir(:nx_vulkan_go, "priv/ops.eterm"),
      Path.join(package, "priv/ops.eterm")
    )

    File.write!(Path.join(package, "priv/checksums.txt"), sums)
    own = Application.app_dir(:nx_vulkan_go, "ebin")
    File.ln_s!(own, ebin)

    for path <- :code.get_path(),
        do: if(Path.expand(path) == own, do: ebin, else: List.to_string(path))
  end
end
