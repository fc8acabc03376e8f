defmodule NxVulkanGo.Error do
  @moduledoc """
  An error of a device, or of the connection to it.

  Fields:

    * `:kind` - the kind of the error, an atom:
      * of a device: `:bad_request`, `:unknown_op`, `:bad_argument`, `:unknown_id`, `:stale`,
        `:not_shared`, `:unsupported`, `:out_of_memory`, `:limit`, `:device_lost`, `:server_down`,
        `:unknown_program`, `:cancelled`, `:deadline`, `:callback`, `:callback_timeout`, `:internal`
      * of the connection to a server: `:no_connection`; the reason names the step that failed.
        `:incompatible`: the server is of another version than this package
      * of a server that this VM starts: `:not_installed`, `:cannot_build`, `:no_device`,
        `:not_started`
    * `:op` - the operation that failed, or `nil`
    * `:operands` - the types of its operands, as text
    * `:reason` - the explanation, as text

  Operations are sent and not waited for. So the error of an operation is raised where its
  result, or anything made from it, is read. `NxVulkanGo.Check` explains how to find the line
  that sent the operation.
  """

  defexception [:kind, :op, :operands, :reason]

  @type t :: %__MODULE__{
          kind: atom,
          op: String.t() | nil,
          operands: [String.t()],
          reason: String.t()
        }

  @remedies %{
    unknown_id:
      "the tensor was deallocated, or another BEAM node sent it and dropped it too early",
    stale: "the tensor is lost; compute it again",
    out_of_memory:
      "free tensors with Nx.backend_deallocate/1; NxVulkanGo.memory/1 shows the memory in use",
    limit:
      "free tensors, or raise the limit: config :nx_vulkan_go, limit: BYTES, or --session-limit of the node",
    device_lost: "the driver lost the device; the next operation opens it again",
    server_down: "its tensors are lost; the next operation connects again",
    not_shared: "the tensor belongs to a session that does not share it"
  }

  @doc false
  def new(kind, reason), do: %__MODULE__{kind: kind, operands: [], reason: reason}

  @doc false
  # The error of a server, or of a process of it, that has ended with this reason.
  def gone(what, reason), do: new(:server_down, "#{what} went away: #{ended(reason)}")

  defp ended({:shutdown, reason}), do: ended(reason)
  defp ended(:noconnection), do: "the server has ended, or the connection to it"
  defp ended(:noproc), do: "the server runs, and has no such process any more"
  defp ended(reason) when reason in [:shutdown, :normal], do: "it was told to stop"
  defp ended(:killed), do: "it was killed"
  defp ended(:timeout), do: "it has not answered in time"
  defp ended(reason), do: Kernel.inspect(reason)

  @doc false
  def from_wire({kind, op, operands, reason}) when is_atom(kind) and is_list(operands) do
    op = if is_binary(op), do: op
    %__MODULE__{kind: kind, op: op, operands: operands, reason: to_string(reason)}
  end

  def from_wire(other), do: new(:internal, "the server answered #{inspect(other)}")

  @impl true
  def message(%{kind: kind, op: op, operands: operands, reason: reason}) do
    where = if op, do: "#{op}(#{Enum.join(operands, ", ")}): ", else: ""
    remedy = @remedies[kind]
    "#{where}#{reason} (#{kind})" <> if(remedy, do: "; #{remedy}", else: "")
  end
end
