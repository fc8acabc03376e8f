defmodule Nx.Vulkan.Shaders do
  @moduledoc false
  # SPIR-V files by path, and the sessions that have been sent them. A file is read when it is
  # named for the first time or has changed. The key of a shader is a hash of its contents, so a
  # session gets it once, whatever its path.

  use GenServer

  alias NxVulkanGo.Session

  @limit 4096

  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "Returns the key of the shader in a file; defines the shader in the session first."
  @spec key(Session.t(), Path.t()) :: {:ok, binary} | {:error, String.t()}
  def key(session, path) do
    with {:ok, key} <- known(path) do
      if :ets.member(__MODULE__, {session.pid, key}),
        do: {:ok, key},
        else: define(session, key, path)
    end
  end

  @doc """
  Emits the event `[:nx_vulkan_go, :shader, :lag]`, once for each shader and session, where the
  node has found that the log density of the shader lags.
  """
  @spec tell_lag(Session.t(), binary, Path.t()) :: :ok
  def tell_lag(session, key, path) do
    told = {:told, session.pid, key}

    with false <- :ets.member(__MODULE__, told),
         true <- GenServer.call(__MODULE__, {:first, told}),
         {:ok, %{lags: true}} <- Session.call(session, {:shader, key}) do
      NxVulkanGo.Telemetry.execute([:shader, :lag], %{count: 1}, %{path: path, key: key})
    end

    :ok
  end

  @doc "Notes that the server has dropped a shader; the next use sends it again."
  @spec forgotten(Session.t(), binary) :: :ok
  def forgotten(session, key), do: GenServer.call(__MODULE__, {:forgotten, session.pid, key})

  # The table holds no contents: a shader is sent once.
  defp known(path) do
    case File.stat(path, time: :posix) do
      {:ok, %{mtime: mtime, size: size}} ->
        case :ets.lookup(__MODULE__, path) do
          [{_, ^mtime, ^size, key}] -> {:ok, key}
          _ -> with {:ok, code} <- read(path), do: put(path, mtime, size, hash(code))
        end

      {:error, reason} ->
        {:error, "read #{path}: #{:file.format_error(reason)}"}
    end
  end

  defp read(path) do
    with {:error, reason} <- File.read(path),
         do: {:error, "read #{path}: #{:file.format_error(reason)}"}
  end

  defp hash(code), do: :crypto.hash(:sha256, code)

  defp put(path, mtime, size, key) do
    GenServer.call(__MODULE__, {:put, {path, mtime, size, key}})
    {:ok, key}
  end

  # Two callers may send it at the same time: the server keeps the first.
  defp define(session, key, path) do
    with {:ok, code} <- read(path) do
      key = if hash(code) == key, do: key, else: hash(code)
      Session.instruct(session, {:shader, [], [], [key, code]})
      GenServer.call(__MODULE__, {:sent, session.pid, key})
      {:ok, key}
    end
  end

  @impl true
  def init(nil) do
    :ets.new(__MODULE__, [:named_table, :protected, read_concurrency: true])
    {:ok, :queue.new()}
  end

  # The oldest paths are dropped where there are many.
  @impl true
  def handle_call({:put, row}, _from, paths) do
    new? = not :ets.member(__MODULE__, elem(row, 0))
    :ets.insert(__MODULE__, row)
    {:reply, :ok, if(new?, do: trim(:queue.in(elem(row, 0), paths)), else: paths)}
  end

  def handle_call({:sent, pid, key}, _from, paths) do
    if :ets.insert_new(__MODULE__, {{pid, key}}), do: Process.monitor(pid)
    {:reply, :ok, paths}
  end

  def handle_call({:forgotten, pid, key}, _from, paths) do
    :ets.delete(__MODULE__, {pid, key})
    {:reply, :ok, paths}
  end

  def handle_call({:first, mark}, _from, paths),
    do: {:reply, :ets.insert_new(__MODULE__, {mark}), paths}

  @impl true
  def handle_info({:DOWN, _, :process, pid, _}, paths) do
    :ets.match_delete(__MODULE__, {{pid, :_}})
    :ets.match_delete(__MODULE__, {{:told, pid, :_}})
    {:noreply, paths}
  end

  def handle_info(_other, paths), do: {:noreply, paths}

  defp trim(paths) do
    if :queue.len(paths) > @limit do
      {{:value, path}, paths} = :queue.out(paths)
      :ets.delete(__MODULE__, path)
      paths
    else
      paths
    end
  end
end
