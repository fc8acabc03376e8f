defmodule NxVulkanGo.Backend.Transfer do
  @moduledoc false
  # Reads the elements of a tensor, as bits and as text: here the caller waits for the
  # device, and errors of operations are raised. And has another device of the server copy them.

  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend.{Eager, ReadCache}
  alias NxVulkanGo.{Check, Encoding, Error, Session}

  @doc "Reads the first elements, at most `limit`, in the format of Nx."
  @spec to_binary(T.t(), non_neg_integer) :: bitstring
  def to_binary(%T{data: %{id: nil, literal: literal, type: {_, size}}}, limit)
      when size >= 8 and bit_size(literal) <= limit * size,
      do: literal

  def to_binary(%T{data: %{type: type}} = tensor, limit),
    do: tensor |> wire(limit) |> Encoding.decode(type)

  # The first elements, encoded.
  defp wire(tensor, limit), do: tensor |> ReadCache.known() |> fetch(limit)

  defp fetch(_tensor, 0), do: <<>>

  defp fetch(%T{data: %{id: nil, literal: literal, type: type}}, limit) do
    if limit >= byte_size(literal),
      do: literal,
      else: binary_part(literal, 0, min(byte_size(literal), limit * Encoding.element_size(type)))
  end

  defp fetch(%T{data: %{type: type, shape: shape}} = tensor, limit) do
    size = Tuple.product(shape)
    count = if limit >= size, do: :all, else: limit
    session = Eager.find_session([tensor], [])
    here = here(session, tensor)
    check(session, here)
    data = Session.download(session, here.data.id, count)
    ReadCache.read(session, here.data)
    Session.keep_alive(here)
    expected = min(limit, size) * Encoding.element_size(type)

    if byte_size(data) != expected do
      raise Error.new(
              :internal,
              "the server sent #{byte_size(data)} bytes instead of #{expected}"
            )
    end

    data
  end

  # A tensor of another BEAM node is read through a value of this node's session.
  defp here(%Session{} = session, %T{data: %{session: session}} = tensor), do: tensor

  defp here(_session, %T{data: %{type: type, shape: shape}} = tensor) do
    tensor = %{tensor | type: type, shape: shape}
    Eager.run(:reshape, tensor, [tensor], [])
  end

  if Application.compile_env(:nx_vulkan_go, :check_shape_and_type, false) do
    defp check(session, %T{data: data}) do
      expected = {Encoding.type_to_atom(data.type), data.shape}

      case Session.call!(session, {:describe, data.id}) do
        ^expected ->
          :ok

        other ->
          raise Error.new(
                  :internal,
                  "the server has #{Kernel.inspect(other)} instead of #{Kernel.inspect(expected)}"
                )
      end
    end
  else
    defp check(_session, _tensor), do: :ok
  end

  @doc "Copies a tensor to another device of its server, within the server."
  @spec to_device(T.t(), Session.t()) :: T.t()
  def to_device(%T{data: %{type: type, shape: shape}} = tensor, %Session{} = there) do
    out = %{tensor | type: type, shape: shape}
    # A value of the same memory: the tensor may be freed before the server has copied it.
    %T{data: source} = Eager.run(:reshape, out, [out], [])
    # The server then has the instructions that make it, before it is asked for the copy.
    Session.flush(source.session)
    {result, data} = Eager.new_value(out, there)
    Session.copy_from(there, result, source)
    Check.await!(there, [result])
    %{tensor | data: data}
  end

  @doc "Formats the elements, or the reason why they cannot be read; does not raise."
  @spec inspect(T.t(), Inspect.Opts.t()) :: Inspect.Algebra.t()
  def inspect(%T{} = tensor, inspect_opts) do
    limit = if inspect_opts.limit == :infinity, do: :infinity, else: inspect_opts.limit + 1
    {kind, bits} = tensor.data.type

    # Nx prints elements of whole bytes.
    %{tensor | type: {kind, max(bits, 8)}}
    |> Nx.Backend.inspect(wire(tensor, limit), inspect_opts)
    |> signed(tensor)
  rescue
    error in [Error, ArgumentError] -> signed(absent(error), tensor)
  catch
    :exit, reason -> signed("<unreachable: #{Kernel.inspect(reason)}>", tensor)
  end

  defp absent(%Error{kind: :unknown_id}), do: "<deallocated>"
  defp absent(%Error{kind: :stale}), do: "<lost: the server was restarted>"
  defp absent(%Error{kind: :server_down}), do: "<unreachable>"
  defp absent(error), do: "<" <> Exception.message(error) <> ">"

  if Application.compile_env(:nx_vulkan_go, :add_backend_on_inspect, true) do
    defp signed(doc, %T{data: %{id: nil, shape: {}}}), do: signed_line(doc, "scalar")
    defp signed(doc, %T{data: %{id: nil}}), do: signed_line(doc, "in this VM")

    defp signed(doc, %T{data: %{session: session, id: id}}),
      do: signed_line(doc, "#{session.server}:#{session.device}, #{id}")

    defp signed_line(doc, place) do
      Inspect.Algebra.concat(["NxVulkanGo.Backend<#{place}>", Inspect.Algebra.line(), doc])
    end
  else
    defp signed(doc, _tensor), do: doc
  end
end
