defmodule Nx.Vulkan.Node do
  @moduledoc """
  A guard around work on the device: it returns errors as values.

  It needs no process: `nxvk-node` orders the calls of all processes. `config :nx_vulkan,
  node_timeout_ms: ms` is the timeout of `with_node/1` (default: `:infinity`).
  """

  @doc "Connects to the server and starts no process, for supervisors that have the node of `nx_vulkan`."
  @spec start_link(keyword) :: :ignore | {:error, term}
  def start_link(_options \\ []) do
    with :ok <- Nx.Vulkan.init(), do: :ignore
  end

  @doc false
  def child_spec(options), do: %{id: __MODULE__, start: {__MODULE__, :start_link, [options]}}

  @doc "Whether the server can be reached. Starts a server where none is configured."
  @spec alive? :: boolean
  def alive?, do: Nx.Vulkan.init() == :ok

  @doc "Describes the server, and the memory of this VM on the device."
  @spec status :: {:ok, map} | {:error, term}
  def status do
    with_node(fn -> {:ok, Map.put(NxVulkanGo.info(), :memory, NxVulkanGo.memory())} end)
  end

  @doc "Returns the value of a function, or `{:error, reason}` where it raises, throws, exits or takes too long."
  @spec with_node((-> result), timeout) :: result | {:error, term} when result: term
  def with_node(fun, timeout \\ default_timeout())

  def with_node(fun, :infinity) when is_function(fun, 0), do: guarded(fun)

  def with_node(fun, timeout) when is_function(fun, 0) and is_integer(timeout) and timeout >= 0 do
    task = Task.async(fn -> guarded(fun) end)

    case Task.yield(task, timeout) || Task.shutdown(task, :brutal_kill) do
      {:ok, value} -> value
      {:exit, reason} -> {:error, reason}
      nil -> {:error, :node_timeout}
    end
  end

  defp guarded(fun) do
    fun.()
  rescue
    error -> {:error, error}
  catch
    _kind, reason -> {:error, reason}
  end

  defp default_timeout, do: Application.get_env(:nx_vulkan, :node_timeout_ms, :infinity)
end
