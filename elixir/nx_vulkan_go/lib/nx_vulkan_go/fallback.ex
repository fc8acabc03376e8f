defmodule NxVulkanGo.Fallback do
  @moduledoc """
  Operations that the node cannot compute, and how this package reports them.

  `Nx.BinaryBackend` computes such an operation in this VM. The only one is a reduction,
  `Nx.reduce/4` or `Nx.window_reduce/5`, with a function that cannot be traced because it
  looks at values. The compiler leaves a function with an operation that the node does not
  know to `Nx.Defn.Evaluator`.

  That is slow. So each time is a telemetry event, `[:nx_vulkan_go, :fallback]` or
  `[:nx_vulkan_go, :compiler, :fallback]`, and the configuration decides what else happens:

      config :nx_vulkan_go, fallback: :warn   # or :silent, or :raise

    * `:warn`, the default, logs a warning the first time for each operation or function
    * `:silent` does nothing else
    * `:raise` raises `NxVulkanGo.Error` of kind `:unsupported`
  """

  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend.Eager
  alias NxVulkanGo.{Configuration, Encoding, Error, Telemetry}
  require Logger

  @doc false
  # Runs `fun` with the arguments on Nx.BinaryBackend; the tensor that it returns
  # goes back to where the operands were.
  def run(op, type, args, fun, reason) do
    Telemetry.execute([:fallback], %{count: 1}, %{op: op, type: type, reason: reason})

    apply_policy!(
      op,
      "#{op} of #{Nx.Type.to_string(type)} is computed by Nx.BinaryBackend: #{reason}"
    )

    session = Eager.find_session(for(%T{} = t <- args, do: t), [])
    args = Enum.map(args, &host/1)

    Nx.BinaryBackend
    |> Nx.with_default_backend(fn -> fun.(args) end)
    |> to_device(session)
  end

  @doc false
  # Warns or raises, as configured. `what` is an operation, or the module, name and
  # arity of a function.
  def apply_policy!(what, text) do
    case Configuration.get(:fallback, :warn) do
      :silent -> :ok
      :warn -> warn_once({__MODULE__, what}, text)
      :raise -> raise Error.new(:unsupported, text)
    end
  end

  defp warn_once(key, text) do
    unless :persistent_term.get(key, false) do
      :persistent_term.put(key, true)
      Logger.warning("nx_vulkan_go: " <> text <> " (logged once)")
    end

    :ok
  end

  @doc false
  # Has everything warned of once more.
  def reset_warnings do
    for {{__MODULE__, _} = key, _} <- :persistent_term.get(), do: :persistent_term.erase(key)
    :ok
  end

  defp host(%T{} = tensor), do: Nx.backend_copy(tensor, Nx.BinaryBackend)

  # A function of the caller may have captured tensors of a device.
  defp host(fun) when is_function(fun, 2), do: fn a, b -> host(fun.(a, b)) end

  defp to_device(%T{type: type} = t, session),
    do: Eager.upload(t, t |> Nx.to_binary() |> Encoding.encode(type), session)
end
