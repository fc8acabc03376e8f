defmodule NxVulkanGo.TraceContext do
  @moduledoc false
  # The trace context of the calling process, which goes with runs and downloads. Packages
  # that know about traces set where it comes from; without one each call costs a look-up of a
  # persistent term.

  @doc "Sets the module whose `traceparent/0` returns a W3C traceparent or `nil`; `nil` for none."
  @spec put_source(module | nil) :: :ok
  def put_source(nil) do
    :persistent_term.erase(__MODULE__)
    :ok
  end

  def put_source(module) when is_atom(module), do: :persistent_term.put(__MODULE__, module)

  @doc "Returns the traceparent of the calling process, or `nil`."
  @spec current() :: binary | nil
  def current do
    case :persistent_term.get(__MODULE__, nil) do
      nil -> nil
      module -> module.traceparent()
    end
  end

  @doc "Returns the attributes of a run, with the trace context where there is one."
  @spec run_attributes(binary, pid | nil) :: [term]
  def run_attributes(key, callbacks) do
    case current() do
      nil -> [key, callbacks]
      context -> [key, callbacks, context]
    end
  end

  @doc "Returns a request to the device server, with the trace context where there is one."
  @spec request(term) :: term
  def request(request) do
    case current() do
      nil -> request
      context -> {:traced, context, request}
    end
  end
end
