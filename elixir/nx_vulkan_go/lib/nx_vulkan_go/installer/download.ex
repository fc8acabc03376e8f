defmodule NxVulkanGo.Installer.Download do
  @moduledoc false
  # Writes what a URL has to a file, and sums it up meanwhile. HTTP goes through the proxies
  # of the environment and trusts the certificates of the system, as in the package esbuild.

  alias NxVulkanGo.Error
  alias NxVulkanGo.Installer.Progress

  @connect_timeout 15_000
  # Milliseconds without a byte after which a server is given up, and between attempts.
  @silence 30_000
  @pause 1_000
  @attempts 3
  @redirects 5

  @doc """
  Writes the bytes of `url` (http, https or file) to the file `path` and returns their
  SHA-256 in hexadecimal digits. Raises `NxVulkanGo.Error`.

  A connection that breaks is tried three times. Options: `:silence` and `:pause`, in
  milliseconds.
  """
  @spec run!(String.t(), Path.t(), keyword) :: String.t()
  def run!(url, path, options \\ []) do
    case URI.parse(url) do
      %{scheme: "file", path: "" <> file} ->
        copy!(url, local(file), path)

      %{scheme: scheme, host: "" <> _} when scheme in ["http", "https"] ->
        get!(url, path, options)

      _ ->
        raise failed("#{url} is no URL of http, https or file; correct base_url")
    end
  end

  # file:///C:/mirror has a slash before the drive.
  defp local(file) do
    file = URI.decode(file)
    if file =~ ~r"^/[A-Za-z]:", do: String.trim_leading(file, "/"), else: file
  end

  defp copy!(url, from, path) do
    with {:error, reason} <- File.cp(from, path) do
      if reason in [:enoent, :eisdir, :enotdir],
        do: raise(failed("there is no #{url}; correct base_url")),
        else: raise(unwritten(path, reason))
    end

    sum!(path)
  end

  @doc "Returns the SHA-256 of a file in hexadecimal digits."
  @spec sum!(Path.t()) :: String.t()
  def sum!(path) do
    path
    |> File.stream!(65_536)
    |> Enum.reduce(:crypto.hash_init(:sha256), &:crypto.hash_update(&2, &1))
    |> hexadecimal()
  end

  defp hexadecimal(hash), do: hash |> :crypto.hash_final() |> Base.encode16(case: :lower)

  ## HTTP

  # A client of its own, so that no option reaches other users of :httpc.
  defp get!(url, path, options) do
    for app <- [:inets, :ssl], do: {:ok, _} = Application.ensure_all_started(app)
    {:ok, client} = :inets.start(:httpc, [profile: :nx_vulkan_go], :stand_alone)

    try do
      proxies = proxy("http") ++ proxy("https")
      :ok = :httpc.set_options([ipfamily: :inet] ++ proxies, client)
      silence = options[:silence] || @silence
      request = %{url: url, path: path, client: client, silence: silence, redirects: @redirects}
      attempt!(request, options[:pause] || @pause, @attempts, :inet)
    after
      # It is linked to this process, which would end with it.
      Process.unlink(client)
      :inets.stop(:stand_alone, client)
    end
  end

  defp attempt!(request, pause, attempts, family) do
    case get(request) do
      {:ok, sum} ->
        sum

      {:error, {:connect, :inet, _}} when family == :inet ->
        :ok = :httpc.set_options([ipfamily: :inet6], request.client)
        attempt!(request, pause, attempts, :inet6)

      {:redirect, url} ->
        attempt!(%{request | url: url, redirects: request.redirects - 1}, pause, attempts, family)

      {:error, {:broken, text}} when attempts > 1 ->
        IO.puts(:stderr, "nx_vulkan_go: #{text}; trying again")
        Process.sleep(pause)
        attempt!(request, pause, attempts - 1, family)

      {:error, {:unwritten, reason}} ->
        raise unwritten(request.path, reason)

      {:error, {:connect, _family, text}} ->
        raise failed(unreachable(request.url, text))

      {:error, {_kind, text}} ->
        raise failed("#{text}; #{remedy()}")
    end
  end

  defp unreachable(url, text) do
    "cannot connect to #{URI.parse(url).host} for #{url} (#{text}); a proxy is taken from HTTPS_PROXY or " <>
      "HTTP_PROXY, and #{remedy()}"
  end

  # A process without a network has other ways.
  defp remedy do
    "a machine without a network takes the archive from the file that the environment variable NXVK_ARCHIVE names, " <>
      "or from a mirror that config :nx_vulkan_go, base_url: names"
  end

  defp get(request) do
    case File.open(request.path, [:write, :binary, :raw]) do
      {:ok, file} ->
        try do
          send_request(request, file)
        after
          File.close(file)
        end

      {:error, reason} ->
        {:error, {:unwritten, reason}}
    end
  end

  defp send_request(%{url: url} = request, file) do
    %{scheme: scheme} = URI.parse(url)

    # With the flow control below, :httpc sends nothing of a page that it has been redirected to.
    options =
      [ssl: ssl(scheme), connect_timeout: @connect_timeout, autoredirect: false] ++
        proxy_auth(scheme)

    parts = [sync: false, stream: {:self, :once}, body_format: :binary]
    headers = [{~c"user-agent", ~c"nx_vulkan_go"}]
    address = {String.to_charlist(url), headers}
    {:ok, ref} = :httpc.request(:get, address, options, parts, request.client)

    try do
      receive_start(request, file, ref)
    after
      :httpc.cancel_request(ref, request.client)
      flush(ref)
    end
  end

  defp receive_start(%{url: url} = request, file, ref) do
    receive do
      {:http, {^ref, :stream_start, headers, pid}} ->
        total = length_of(headers)
        :httpc.stream_next(pid)
        state = %{ref: ref, pid: pid, total: total, hash: :crypto.hash_init(:sha256)}
        receive_body(request, file, Map.put(state, :progress, Progress.start(total)))

      {:http, {^ref, {{_, status, phrase}, _headers, _body}}}
      when status in [408, 429, 500, 502, 503, 504] ->
        {:error, {:broken, "#{url} answers #{status} #{phrase}"}}

      {:http, {^ref, {{_, status, _}, headers, _body}}}
      when status in [301, 302, 303, 307, 308] ->
        redirect(request, headers)

      {:http, {^ref, {{_, 404, _}, _headers, _body}}} ->
        {:error, {:refused, "there is no #{url} (404); correct base_url"}}

      {:http, {^ref, {{_, status, phrase}, _headers, _body}}} ->
        {:error, {:refused, "#{url} answers #{status} #{phrase}"}}

      {:http, {^ref, {:error, reason}}} ->
        {:error, reason(url, reason)}
    after
      request.silence -> {:error, {:broken, silent(request)}}
    end
  end

  # Never from https to what anybody on the way can change.
  defp redirect(%{url: url} = request, headers) do
    {_, location} = List.keyfind(headers, ~c"location", 0, {nil, ~c""})
    next = url |> URI.merge(to_string(location)) |> URI.to_string()

    if request.redirects > 0 and
         (next =~ ~r"^https:" or (url =~ ~r"^http:" and next =~ ~r"^http:")),
       do: {:redirect, next},
       else: {:error, {:refused, "#{url} redirects to #{next}, which is not followed"}}
  end

  defp receive_body(%{url: url} = request, file, %{ref: ref} = state) do
    receive do
      {:http, {^ref, :stream, data}} ->
        case :file.write(file, data) do
          :ok ->
            :httpc.stream_next(state.pid)
            progress = Progress.add(state.progress, byte_size(data))
            hash = :crypto.hash_update(state.hash, data)
            receive_body(request, file, %{state | progress: progress, hash: hash})

          {:error, reason} ->
            {:error, {:unwritten, reason}}
        end

      {:http, {^ref, :stream_end, _headers}} ->
        Progress.finish(state.progress)
        finish(url, state)

      {:http, {^ref, {:error, _reason}}} ->
        {:error, {:broken, cut(url, state)}}
    after
      request.silence -> {:error, {:broken, silent(request)}}
    end
  end

  defp finish(url, %{total: total, progress: %{count: count}} = state) do
    if total in [nil, count],
      do: {:ok, hexadecimal(state.hash)},
      else: {:error, {:broken, cut(url, state)}}
  end

  defp cut(url, %{total: total, progress: progress}),
    do:
      "the connection to #{url} broke off after #{progress.count} of #{total || "unknown"} bytes"

  defp silent(%{url: url, silence: silence}),
    do: "#{url} has sent nothing for #{Float.round(silence / 1000, 1)} seconds"

  defp length_of(headers) do
    with {_, value} <- List.keyfind(headers, ~c"content-length", 0), do: List.to_integer(value)
  end

  defp reason(_url, {:failed_connect, [{:to_address, _} | _] = steps}) do
    case List.last(steps) do
      {family, _, {:tls_alert, {_, text}}} when family in [:inet, :inet6] ->
        {:refused, "the server's certificate is not trusted by this system: #{text}"}

      {family, _, reason} when family in [:inet, :inet6] ->
        {:connect, family, inspect(reason)}

      other ->
        {:connect, :inet6, inspect(other)}
    end
  end

  defp reason(url, {:could_not_establish_ssl_tunnel, {_version, status, phrase}}) do
    host = URI.parse(url).host

    text =
      if status == 407,
        do: "wants a user: write HTTPS_PROXY as http://USER:PASSWORD@HOST:PORT",
        else: "lets nobody through to #{host}: it answers #{status} #{phrase}"

    {if(status in [502, 503, 504], do: :broken, else: :refused),
     "the proxy of HTTPS_PROXY #{text}"}
  end

  defp reason(url, reason),
    do: {:broken, "the connection to #{url} broke off: #{inspect(reason)}"}

  defp flush(ref) do
    receive do
      {:http, message} when elem(message, 0) == ref -> flush(ref)
    after
      0 -> :ok
    end
  end

  defp ssl(scheme) do
    [
      verify: :verify_peer,
      cacerts: certificates(scheme),
      customize_hostname_check: [match_fun: :public_key.pkix_verify_hostname_match_fun(:https)]
    ]
  end

  defp certificates(scheme) do
    :public_key.cacerts_get()
  rescue
    # Only https needs some.
    ErlangError ->
      if scheme == "http", do: [], else: raise(failed(no_certificates()))
  end

  defp no_certificates do
    "this system has no certificates to check https by; install them (Debian and Ubuntu: apt-get install ca-certificates)"
  end

  ## Proxies

  defp proxy(scheme) do
    key = if scheme == "https", do: :https_proxy, else: :proxy

    case proxy_url(scheme) do
      %URI{host: "" <> host, port: port} ->
        [{key, {{String.to_charlist(host), port || 80}, no_proxy()}}]

      _ ->
        []
    end
  end

  defp proxy_url(scheme) do
    name = "#{scheme}_proxy"

    with "" <> url <- variable(name),
         do: URI.parse(if url =~ "://", do: url, else: "http://" <> url)
  end

  defp variable(name) do
    case System.get_env(String.upcase(name)) || System.get_env(name) do
      "" -> nil
      value -> value
    end
  end

  # Hosts that are reached without a proxy; :httpc knows *.domain.
  defp no_proxy do
    for name <- String.split(variable("no_proxy") || "", ",", trim: true) do
      name = String.trim(name)
      String.to_charlist(if String.starts_with?(name, "."), do: "*" <> name, else: name)
    end
  end

  defp proxy_auth(scheme) do
    with %URI{userinfo: "" <> userinfo} <- proxy_url(scheme),
         [user, password] <- String.split(userinfo, ":", parts: 2) do
      [proxy_auth: {decode(user), decode(password)}]
    else
      _ -> []
    end
  end

  defp decode(text), do: text |> URI.decode() |> String.to_charlist()

  ## Errors

  defp failed(text), do: Error.new(:not_installed, text)

  @doc "The error of a file that cannot be written."
  @spec unwritten(Path.t(), File.posix()) :: Error.t()
  def unwritten(path, :enospc) do
    failed(
      "there is no space left for #{path}: free some 50 MB there, or name another folder by config :nx_vulkan_go, install_dir:"
    )
  end

  def unwritten(path, reason) do
    failed(
      "cannot write #{path} (#{:file.format_error(reason)}): name a folder that can be written by config :nx_vulkan_go, install_dir:"
    )
  end
end
