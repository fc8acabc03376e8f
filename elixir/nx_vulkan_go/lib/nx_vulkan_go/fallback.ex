defmodule NxVulkanGo.Fallback do
  @moduledoc """
  What the node does not compute is computed by `Nx.BinaryBackend` in this VM.

  That is slow, so each time is an event, `[:nx_vulkan_go, :fallback]` with `op`,
  `type` and `reason`, and the configuration says what else happens:

      config :nx_vulkan_go, fallback: :silent   # or :warn, or :raise

  `:silent` is the default. The rows of `NxVulkanGo.Ops` that have a reason under
  `:missing` are the ones concerned.
  """

  alias Nx.Tensor, as: T
  alias NxVulkanGo.{Data, Eager, Error, Ops, Telemetry}
  require Logger

  @doc false
  # Runs `fun` with the arguments on Nx.BinaryBackend; what it returns goes back
  # to where the operands were.
  def run(op, type, args, options, fun, reason \\ nil) do
    reason = reason || Ops.missing(op)
    Telemetry.execute([:fallback], %{count: 1}, %{op: op, type: type, reason: reason})
    policy!("#{op} of #{Nx.Type.to_string(type)} is computed by Nx.BinaryBackend: #{reason}")
    session = Eager.session(for(%T{} = t <- List.flatten(args), do: t), options)
    args = Enum.map(args, &host/1)

    Nx.BinaryBackend
    |> Nx.with_default_backend(fn -> fun.(args) end)
    |> to_device(session)
  end

  @doc false
  # Does what the configuration says of something that the node does not do.
  def policy!(text) do
    case Application.get_env(:nx_vulkan_go, :fallback, :silent) do
      :silent -> :ok
      :warn -> Logger.warning(text)
      :raise -> raise Error.new(:unsupported, text)
    end
  end

  defp host(%T{} = tensor), do: Nx.backend_copy(tensor, Nx.BinaryBackend)
  defp host([%T{} | _] = tensors), do: Enum.map(tensors, &host/1)

  # A function of the caller may have captured tensors of a device.
  defp host(fun) when is_function(fun, 2), do: fn a, b -> host(fun.(a, b)) end
  defp host(other), do: other

  defp to_device(%T{type: type} = t, session) do
    Eager.upload(t, t |> Nx.to_binary() |> Data.to_wire(type), session)
  end

  defp to_device(tuple, session) when is_tuple(tuple) do
    tuple |> Tuple.to_list() |> Enum.map(&to_device(&1, session)) |> List.to_tuple()
  end
end
