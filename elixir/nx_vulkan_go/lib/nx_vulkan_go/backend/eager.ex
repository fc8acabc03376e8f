defmodule NxVulkanGo.Backend.Eager do
  @moduledoc false
  # Carries out one operation: operands become ids or literals, the result gets an id,
  # and an instruction is sent to the session. Nothing here waits.
  #
  # Operands whose session is :program are values of a program that is being compiled.
  # The instruction is then returned and not sent.
  # See "The path of an operation" in guides/contributing/design.md.

  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Backend.ReadCache
  alias NxVulkanGo.{Check, Encoding, Options, Session}
  alias NxVulkanGo.Session.Registry

  # Tensors of this VM with at most so many bytes are literals of an instruction.
  @literal_bytes 64

  @doc """
  Sends an instruction for `out`, a template or a tuple of them, and returns the
  tensors that it makes. Without an operand on a device, `options` say where.

  In a program that is being compiled it returns `{:instruction, op, out, tensors, attrs}`.
  """
  def run(op, out, tensors, attrs, options \\ []) do
    case find_session(tensors, options) do
      :program -> {:instruction, op, out, tensors, attrs}
      session -> send_now(op, out, tensors, attrs, session)
    end
  end

  defp send_now(op, out, tensors, attrs, session) do
    {operands, context} = encode_operands(tensors, session)
    result = results(op, out, operands, attrs, session, context)
    ReadCache.note(op, result, tensors)
    # The operands must not be garbage before the instruction has been sent:
    # otherwise their frees could come first.
    Session.keep_alive(tensors)
    result
  end

  defp results(op, %T{} = out, operands, attrs, session, context) do
    {value, data} = new_value(out, session)
    send_all(session, {op, [value], operands, attrs}, context)
    %{out | data: data}
  end

  defp results(op, outs, operands, attrs, session, context) when is_tuple(outs) do
    outs = Tuple.to_list(outs)
    {values, datas} = new_values(outs, session)
    send_all(session, {op, values, operands, attrs}, context)
    Enum.zip_with(outs, datas, &%{&1 | data: &2}) |> List.to_tuple()
  end

  @doc "Makes a value of a session: the result of an instruction, and the data of its tensor."
  def new_value(%T{} = out, session) do
    {id, _, _} = value = Session.new_value(session, bytes(out))
    {result_of(out, id), new_handle(out, session, value)}
  end

  @doc "Makes the results of an instruction, and the data of their tensors."
  def new_values([], _session), do: {[], []}

  def new_values(outs, session) do
    new = Session.new_values(session, for(out <- outs, do: bytes(out)))
    results = Enum.zip_with(outs, new, fn out, {id, _, _} -> result_of(out, id) end)
    {results, Enum.zip_with(outs, new, &new_handle(&1, session, &2))}
  end

  defp bytes(%T{type: type, shape: shape}), do: Tuple.product(shape) * Encoding.element_size(type)

  defp result_of(%T{type: type, shape: shape}, id), do: {id, Encoding.type_to_atom(type), shape}

  defp new_handle(%T{type: type, shape: shape}, session, {id, token, keeper}),
    do: %B{session: session, id: id, token: token, keeper: keeper, type: type, shape: shape}

  defp send_all(session, {_, results, _, _} = instruction, context) do
    case {add_context(session, instruction, context), Check.mode()} do
      {{[one], []}, :none} ->
        Session.instruct(session, one)

      {{instructions, foreign}, _mode} ->
        Session.instruct(session, instructions, foreign)
        mark_sent(context)
        Check.await!(session, results)
    end
  end

  @doc "Sends the uploads of an instruction; adds the note before it and the frees after it."
  def add_context(_session, instruction, {[], [], foreign}),
    do: {Check.annotate(instruction), foreign}

  def add_context(session, instruction, {uploads, temporary, foreign}) do
    for {id, tensor, data} <- Enum.reverse(uploads),
        do: Session.upload(session, id, tensor.type, tensor.shape, data)

    {Check.annotate(instruction) ++ [{:free, [], [], [Enum.map(temporary, & &1.id)]}], foreign}
  end

  @doc "Notes that the instructions of `add_context/3` have been sent, which free what is temporary."
  def mark_sent({_uploads, temporary, _foreign}),
    do: Enum.each(temporary, &Session.Tracker.mark_freed/1)

  @doc "Uploads encoded elements as a tensor like `out`."
  def upload(%T{type: type, shape: shape} = out, data, options) when is_list(options),
    do: upload(out, data, type, shape, options |> Options.backend!() |> Registry.fetch!())

  def upload(%T{type: type, shape: shape} = out, data, %Session{} = session),
    do: upload(out, data, type, shape, session)

  defp upload(out, data, type, shape, session) do
    {result, handle} = new_value(out, session)
    Session.upload(session, handle.id, type, shape, data)
    Check.await!(session, [result])
    %{out | data: handle}
  end

  ## Where

  @doc "Finds the session of an operation on these tensors."
  def find_session(tensors, options) do
    case first_handle(tensors) do
      %Session{} = session -> session |> localize() |> Session.check!() |> Registry.announce()
      :program -> :program
      nil when options == :program -> :program
      nil -> Registry.fetch!(constant_options(tensors) || default_options(options))
    end
  end

  defp first_handle([%T{data: %B{session: %Session{} = session}} | _]), do: session
  defp first_handle([%T{data: %B{session: :program}} | _]), do: :program
  defp first_handle([_ | rest]), do: first_handle(rest)
  defp first_handle([]), do: nil

  defp localize(%Session{pid: pid} = session) when node(pid) == node(), do: session
  defp localize(session), do: Registry.fetch_counterpart!(session)

  defp constant_options([%T{data: %B{options: [_ | _] = options}} | _]), do: options
  defp constant_options([_ | rest]), do: constant_options(rest)
  defp constant_options([]), do: nil

  defp default_options([]) do
    case Nx.default_backend() do
      {B, options} -> options
      _ -> []
    end
  end

  defp default_options(options), do: Options.backend!(options)

  ## Operands

  @doc """
  Encodes the operands of an instruction. Returns them with their context: uploads, the
  data of these, and tensors of other BEAM nodes.
  """
  def encode_operands(tensors, session), do: encode_operands(tensors, session, [], {[], [], []})

  @doc "Encodes an operand of an instruction of a program."
  def encode_program_operand(%T{data: %B{session: :program, id: operand}}), do: operand

  def encode_program_operand(%T{type: type, data: %B{id: nil, literal: literal}}),
    do: {Encoding.type_to_atom(type), literal}

  @doc "Whether encoded elements are a literal of the instruction that uses them."
  def literal?(data), do: byte_size(data) <= @literal_bytes

  defp encode_operands([], _session, acc, context), do: {:lists.reverse(acc), context}

  defp encode_operands([tensor | rest], session, acc, context) do
    {operand, context} = encode_operand(tensor, session, context)
    encode_operands(rest, session, [operand | acc], context)
  end

  defp encode_operand(%T{data: %B{session: session, id: id}}, session, context) when id != nil,
    do: {id, context}

  # The type and the shape are those of the data: those of a vectorized tensor lack axes.
  defp encode_operand(%T{data: %B{id: nil, literal: literal} = data} = t, session, context),
    do: encode_elements(%{t | type: data.type, shape: data.shape}, literal, session, context)

  defp encode_operand(
         %T{data: %B{session: other} = handle},
         session,
         {uploads, temporary, foreign}
       ) do
    check_same_device!(other, session)

    if node(other.pid) == node() do
      # It belongs to an earlier run of the same server.
      Session.raise_closed!(other)
    else
      key = Session.Remote.key(handle)
      {{:foreign, key}, {uploads, temporary, [handle | foreign]}}
    end
  end

  defp encode_operand(%T{type: type} = t, session, context),
    do: encode_elements(t, t |> Nx.to_binary() |> Encoding.encode(type), session, context)

  defp encode_elements(%T{type: type, shape: {}}, data, _session, context),
    do: {{Encoding.type_to_atom(type), data}, context}

  defp encode_elements(
         %T{type: type, shape: shape} = t,
         data,
         session,
         {uploads, temporary, foreign}
       ) do
    if literal?(data) do
      {{Encoding.type_to_atom(type), shape, data}, {uploads, temporary, foreign}}
    else
      # It has a token, so that it is freed if the caller is killed before it has sent the instruction.
      {{id, _, _}, handle} = new_value(t, session)
      {id, {[{id, t, data} | uploads], [handle | temporary], foreign}}
    end
  end

  defp check_same_device!(%{server: server, device: device}, %{server: server, device: device}),
    do: :ok

  defp check_same_device!(other, session) do
    raise ArgumentError, """
    the operands are on different devices: #{place(session)} and #{place(other)}. Move one with \
    Nx.backend_transfer(tensor, {NxVulkanGo.Backend, server: #{inspect(session.server)}, \
    device: #{session.device}})\
    """
  end

  defp place(session), do: "device #{session.device} of #{session.server}"
end
