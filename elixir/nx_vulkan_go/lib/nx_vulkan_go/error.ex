defmodule NxVulkanGo.Error do
  @moduledoc """
  What went wrong on a device, or on the way to it.

  Fields:

    * `:kind` - one of `:bad_request`, `:unknown_op`, `:bad_argument`, `:unknown_id`, `:stale`,
      `:not_shared`, `:unsupported`, `:out_of_memory`, `:limit`, `:device_lost`, `:server_down`,
      `:unknown_program`, `:cancelled`, `:deadline`, `:callback`, `:callback_timeout`, `:internal`;
      on the way to a server `:no_connection` (the reason says which step failed), and to one of
      this VM's own `:not_installed`, `:cannot_build`, `:no_device` and `:not_started`
    * `:op` - the operation that failed, or `nil`
    * `:operands` - the types of its operands, as text
    * `:reason` - what the server said

  Operations are sent and not waited for, so the error of one is raised where
  its result, or anything made from it, is read. `NxVulkanGo.Check` says how to find
  the line that asked for it.
  """

  defexception [:kind, :op, :operands, :reason]

  @type t :: %__MODULE__{
          kind: atom,
          op: String.t() | nil,
          operands: [String.t()],
          reason: String.t()
        }

  @remedies %{
    unknown_id: "the tensor was deallocated, or it came from another node that let go of it",
    stale:
      "the tensor belonged to an earlier run of the server and its data is gone; make it again",
    out_of_memory: "drop tensors, call Nx.backend_deallocate/1, or look at NxVulkanGo.memory/1",
    limit:
      "drop tensors, or raise it: config :nx_vulkan_go, limit: BYTES, or --session-limit of the node",
    device_lost: "the driver gave up the device; it is opened again for what comes next",
    server_down: "tensors on it are lost; the next operation connects again",
    not_shared: "the tensor belongs to another session that does not share it"
  }

  @doc false
  def new(kind, reason), do: %__MODULE__{kind: kind, operands: [], reason: reason}

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
