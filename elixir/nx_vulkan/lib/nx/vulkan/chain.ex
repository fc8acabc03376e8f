defmodule Nx.Vulkan.Chain do
  @moduledoc false
  # Takes leapfrog steps with a shader in a file: makes a chain call of the node from the push
  # block and the buffers of callers of nx_vulkan. Sizes are checked here, so that callers get
  # the errors of nx_vulkan.

  alias Nx.Vulkan.Shaders
  alias NxVulkanGo.{Error, Session}
  alias NxVulkanGo.Session.Registry

  # Maximum number of parameters: one for each invocation.
  @widest 256
  # Maximum bytes of a push block. No shader reads the bytes after the header: shaders of
  # eXMC have their priors as constants. Where the extras lack the data that the header
  # counts, these bytes are the data.
  @longest_push 128

  @type result ::
          {:ok, {q :: binary, p :: binary, grad :: binary, logp :: binary}}
          | {:error, :size_mismatch | :bad_input}
          | {:error, :dispatch_failed, String.t()}

  @doc "Takes the steps of one instance, or of as many instances as the push block has."
  @spec run(
          :f32 | :f64,
          :single | :batch,
          {binary, binary, binary},
          binary,
          pos_integer,
          Path.t()
        ) ::
          result
  def run(type, mode, {q, p, extras}, push, k, path) do
    with {:ok, header} <- header(type, mode, push),
         :ok <- check(header, k),
         extras = with_data(extras, header, mode, type, push),
         :ok <- sizes(header, width(type), q, p, extras) do
      options = %{
        type: type,
        n: header.n,
        k: k,
        d: header.d,
        n_obs: header.n_obs,
        eps: header.eps,
        batch: mode == :batch,
        correct: Application.get_env(:nx_vulkan, :correct_lag, true),
        q: q,
        p: p,
        extras: extras
      }

      call(options, path, 1)
    end
  end

  defp width(:f32), do: 4
  defp width(:f64), do: 8

  # A step size that is NaN or infinite does not match.
  defp header(_type, _mode, push) when byte_size(push) > @longest_push, do: {:error, :bad_input}

  defp header(
         :f64,
         mode,
         <<k::32-little, n_obs::32-little, d::32-little, n::32-little, eps::float-64-little,
           _::binary>>
       ),
       do: {:ok, %{k: k, n_obs: n_obs, d: d, n: instances(mode, n), eps: eps}}

  defp header(
         :f32,
         mode,
         <<k::32-little, n_obs::32-little, d::32-little, n::32-little, eps::float-32-little,
           _::binary>>
       ),
       do: {:ok, %{k: k, n_obs: n_obs, d: d, n: instances(mode, n), eps: eps}}

  defp header(_type, _mode, _push), do: {:error, :bad_input}

  defp instances(:single, _pad), do: 1
  defp instances(:batch, n), do: n

  defp check(%{k: k, d: d, n: n, eps: eps}, k)
       when k > 0 and d <= @widest and n > 0 and eps != 0,
       do: :ok

  defp check(_header, _k), do: {:error, :bad_input}

  defp with_data(extras, %{n_obs: count, d: d}, :single, type, push) do
    width = width(type)
    header = 16 + width
    bytes = count * width

    if byte_size(extras) == d * width and byte_size(push) >= header + bytes,
      do: binary_part(push, header, bytes) <> extras,
      else: extras
  end

  defp with_data(extras, _header, :batch, _type, _push), do: extras

  defp sizes(%{d: d, n: n, n_obs: n_obs}, width, q, p, extras) do
    if d > 0 and byte_size(q) == n * d * width and byte_size(p) == n * d * width and
         byte_size(extras) == n * (n_obs + d) * width,
       do: :ok,
       else: {:error, :size_mismatch}
  end

  # A server that has been restarted knows no shader: the call is repeated with another
  # session. A shader that the server has dropped is sent again.
  defp call(options, path, retries) do
    session = Registry.fetch!([])

    with {:ok, key} <- Shaders.key(session, path),
         {:ok, rows} <- chain(session, key, options) do
      if options.correct, do: Shaders.tell_lag(session, key, path)
      {:ok, rows}
    else
      {:forgotten, key} when retries > 0 ->
        Shaders.forgotten(session, key)
        call(options, path, retries - 1)

      {:forgotten, _key} ->
        {:error, :dispatch_failed, "the server drops the shader at once: it has too many others"}

      {:error, %Error{kind: kind}} when kind in [:stale, :server_down] and retries > 0 ->
        call(options, path, retries - 1)

      {:error, %Error{} = error} ->
        {:error, :dispatch_failed, Exception.message(error)}

      {:error, reason} ->
        {:error, :dispatch_failed, reason}
    end
  rescue
    error in Error -> {:error, :dispatch_failed, Exception.message(error)}
  end

  defp chain(session, key, options) do
    case Session.call(session, {:chain, Map.put(options, :shader, key)}) do
      {:error, %Error{kind: :unknown_program}} -> {:forgotten, key}
      answer -> answer
    end
  end
end
