defmodule NxVulkanGo.Fallback do
  @moduledoc """
  What the node cannot compute is computed by `Nx.BinaryBackend` in this VM: an
  eager reduction by a function that cannot be traced, because it looks at values.

  That is slow, so each time is an event, `[:nx_vulkan_go, :fallback]` with `op`,
  `type` and `reason`, and the configuration says what else happens:

      config :nx_vulkan_go, fallback: :silent   # or :warn, or :raise

  `:silent` is the default. Functions that the compiler leaves to
  `Nx.Defn.Evaluator` fall under the same rule.
  """

  alias Nx.Tensor, as: T
  alias NxVulkanGo.{Data, Eager, Error, Telemetry}
  require Logger

  @doc false
  # Runs `fun` with the arguments on Nx.BinaryBackend; the tensor that it returns
  # goes back to where the operands were.
  def run(op, type, args, fun, reason) do
    Telemetry.execute([:fallback], %{count: 1}, %{op: op, type: type, reason: reason})
    policy!("#{op} of #{Nx.Type.to_string(type)} is computed by Nx.BinaryBackend: #{reason}")
    session = Eager.session(for(%T{} = t <- args, do: t), [])
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

  # A function of the caller may have captured tensors of a device.
  defp host(fun) when is_function(fun, 2), do: fn a, b -> host(fun.(a, b)) end

  defp to_device(%T{type: type} = t, session),
    do: Eager.upload(t, t |> Nx.to_binary() |> Data.to_wire(type), session)
end
