defmodule NxVulkanGo.Compiler.Reducer do
  @moduledoc false
  # Turns the function of a reduction into a region. The function of a compiled reduction is
  # a region already; that of an eager one is traced.

  alias NxVulkanGo.Compiler.{Lower, TracingBackend}

  @doc """
  Returns the region of a function of element and accumulator, scalars of a type, or the
  reason why there is none.
  """
  @spec to_region({:region, tuple} | (Nx.Tensor.t(), Nx.Tensor.t() -> Nx.Tensor.t()), Nx.Type.t()) ::
          {:ok, tuple} | {:error, String.t()}
  def to_region({:region, region}, _type), do: {:ok, region}

  def to_region(fun, type) when is_function(fun, 2) do
    params = List.duplicate(Nx.template({}, type), 2)
    body = trace(fun, params)
    {region, _state} = Lower.lower_function(params, body, type)
    {:ok, region}
  rescue
    # The function looks at values, or has captured tensors of a device.
    error -> {:error, "its function cannot be traced: " <> Exception.message(error)}
  catch
    {:unsupported, reason} -> {:error, reason}
  end

  # Nx.Defn.Evaluator's functions take no expressions.
  defp trace(fun, params) do
    Nx.Defn.debug_expr_apply(fun, params)
  rescue
    _ -> Nx.Defn.debug_expr_apply(TracingBackend.wrap_function(fun), params)
  end
end
