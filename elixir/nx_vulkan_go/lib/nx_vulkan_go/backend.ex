defmodule NxVulkanGo.Backend do
  @moduledoc """
  An `Nx.Backend` whose tensors live on a device of an `nxvk-node`.

      Nx.default_backend(NxVulkanGo.Backend)
      Nx.default_backend({NxVulkanGo.Backend, device: 1})

  These set the backend of the calling process, and not of the tasks that it starts;
  `config :nx, default_backend: NxVulkanGo.Backend` sets that of all processes.

  ## Options

    * `:device` - index of the device, or `:auto` for the least used one when this VM first needs it; see
      `NxVulkanGo.Cluster` (default: `config :nx_vulkan_go, device: n`, or 0)
    * `:server` - name of the node (default: `config :nx_vulkan_go, server: name`, or a server
      that `NxVulkanGo.Launcher` starts)

  The first operation that needs the server connects to it, or starts it.

  ## How operations run

  An operation is a message. It returns at once, and the device computes while the
  caller goes on. Only reading waits: `Nx.to_binary/2`, `Nx.to_number/1`, inspecting. So
  the error of an operation, a `NxVulkanGo.Error`, is raised where its result is read.
  With `config :nx_vulkan_go, check: :each` it is raised at the operation, and with
  `check: :debug` it names the line of the operation; see `NxVulkanGo.Check`.

  Operands of any backend are accepted. Operands that are not on the device are uploaded.
  Those of at most 64 bytes travel inside the instruction that uses them.

  ## Where numbers are computed

  Kernels on the device compute most results. The host of the node computes small ones, and
  `Nx.BinaryBackend` those of at most 128 elements that are made in this VM and have not left
  it. [Where numbers are computed](guides/where_numbers_are_computed.md) has the rules and the
  counters, and says how to compute everything on the device.

  ## Memory

  The memory of a tensor is freed when nothing in the VM refers to the tensor any more:
  no process, ETS table or mailbox. `Nx.backend_deallocate/1` frees without delay. A tensor
  can be sent to other BEAM nodes. [Memory](guides/memory.md) says when memory is freed, and
  what to do when there is too little.

  ## Several devices of a server

  `Nx.backend_copy/2` and `Nx.backend_transfer/2` to another device of the same server move the data
  within the server:

      Nx.backend_transfer(tensor, {NxVulkanGo.Backend, device: 1})

  They return as soon as the operations before are on their way to the server. The data follow when
  the tensor is computed, and only operations that need the copy wait for it. The copy counts as memory of
  its device, and an error of the tensor is the error of its copy. To another server the data
  pass through this VM.

  ## Differences from `Nx.BinaryBackend`

    * an error that depends on values, such as an index out of bounds or a singular matrix,
      is raised where the result is read
    * an integer division by zero and a shift by a negative number are errors only where the
      divisor or the shift is a scalar that is not on a device. Otherwise the result is
      undefined
    * results that `Nx.BinaryBackend` cannot compute, such as the remainder of infinities or a
      product beyond the largest f8, are NaN or infinite
    * `Nx.atan2/2` of complex numbers that are not real is NaN; for scalars that are not on a
      device it is an error
    * where a part of a complex operand is infinite or NaN, or a complex divisor is 0, parts of
      the result may be infinite or NaN, and signs may differ. The same as in
      `Nx.BinaryBackend` are sums, products, tangents, the inverses of tangents, sines and
      cosines (hyperbolic ones too) and `Nx.rsqrt/1`
    * subnormal numbers of f8 keep their values
    * GPUs may treat subnormal numbers of f32 as zero in comparisons, `Nx.min/2`, `Nx.max/2`,
      roots, angles and hyperbolic functions, even where sums and products keep them
    * functions of floats are exact within 2 units in the last place, so the last printed
      digit may differ
    * sums and products of floats are evaluated in another order. Matrix hardware adds products
      of bf16 and f16 up in f32, within 2 (K + 8) 2^-24 of the sum of the magnitudes of the K
      terms; the option `:matrix` of `NxVulkanGo.Launcher` keeps the order of the terms
    * the options `:eps` and `:max_iter` of `Nx.LinAlg` have no effect
    * GPUs factorise f32 matrices in f32, so a matrix is singular where a pivot is zero in f32.
      The host, also in the place of software devices, factorises them in f64
    * the largest component of each vector of `Nx.LinAlg.eigh/2` and `Nx.LinAlg.svd/2` is positive

  ## Configuration

    * `:add_backend_on_inspect` - whether inspecting a tensor shows its server and device
      (default: `true`; read when this package is compiled)
    * `:check_shape_and_type` - whether reading first compares type and shape with those of
      the server (default: `false`; read when this package is compiled)
    * `:check` - see `NxVulkanGo.Check`
    * `:fallback` - see `NxVulkanGo.Fallback`
    * `:label` - name of this VM's sessions in reports of the server (default: the name of
      the release, the project or the script)
    * `:limit` - maximum bytes of this VM on a device (default: `:infinity`)
    * `:deadline` - maximum milliseconds of one operation, or of one run of a compiled function.
      Reading the results of a longer one raises `NxVulkanGo.Error` of kind `:deadline`
      (default: `:infinity`)
    * `:weight` - share of this VM in a device and in the processors of the node while other
      clients compete for them, from 1 to 100. A client with 20 gets twice as much as one with
      10 (default: 10)
    * `:vm_limit` - maximum elements of a tensor that stays in this VM, see "Where numbers are
      computed" (default: 128; read at the first operation). With 0, only scalars that nothing was
      computed from stay
    * `:server`, `:cookie`, `:binary` and more - see `NxVulkanGo.Launcher`
  """

  @behaviour Nx.Backend
  @before_compile NxVulkanGo.Backend.Callbacks

  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend.{Attributes, Eager, Literal, Pieces, Transfer}
  alias NxVulkanGo.Compiler.Reducer
  alias NxVulkanGo.{Encoding, Fallback, Ops, Options}
  alias NxVulkanGo.Session.Registry
  alias NxVulkanGo.Session.Tracker

  @doc false
  # A value of a session; or, where id is nil, a small tensor of this VM: see Literal. Replicas are the same value in
  # other sessions: see Compiler.DataParallel.
  defstruct [:session, :id, :token, :keeper, :type, :shape, :literal, options: [], replicas: []]

  @type t :: %__MODULE__{}

  @impl true
  def init(options), do: Options.backend!(options)

  @doc false
  # Nx asks a compiler for this, and the next.
  def __jit__(_key, _vars, _fun, _args_list, _options), do: Options.misnamed_compiler!(__MODULE__)

  @doc false
  def __compile__(_key, _vars, _fun, _options), do: Options.misnamed_compiler!(__MODULE__)

  ## Creation

  @impl true
  def constant(%T{type: type, shape: {}} = out, number, options) do
    literal = Encoding.encode_scalar(type, number)
    options = Options.backend!(options)
    %{out | data: %__MODULE__{literal: literal, type: type, shape: {}, options: options}}
  end

  def constant(%T{type: type} = out, number, options) do
    here = options != :program and Literal.stays?(out)
    fun = fn -> Nx.BinaryBackend.constant(out, number, []) end

    (here && Literal.compute(out, Options.backend!(options), fun)) ||
      Eager.run(:constant, out, [scalar(type, number)], [], options)
  end

  defp scalar(type, number) do
    data = %__MODULE__{literal: Encoding.encode_scalar(type, number), type: type, shape: {}}
    %T{type: type, shape: {}, names: [], data: data}
  end

  @impl true
  def from_binary(%T{type: type} = out, binary, options) do
    data = Encoding.encode(binary, type)

    if Literal.stays?(out),
      do: Literal.new(out, data, Options.backend!(options)),
      else: Eager.upload(out, data, options)
  end

  ## Lifecycle

  @impl true
  def backend_deallocate(%T{data: %{id: nil}}), do: :ok

  def backend_deallocate(%T{data: %{session: session} = data}) do
    if node(session.pid) == node(), do: Tracker.release(data), else: :ok
  end

  @impl true
  def backend_copy(%T{data: %{id: nil} = data} = tensor, __MODULE__, options),
    do: %{tensor | data: %{data | options: Options.backend!(options)}}

  def backend_copy(tensor, __MODULE__, options) do
    case target(tensor, Options.backend!(options)) do
      :here -> Eager.run(:reshape, tensor, [tensor], [])
      {:device, session} -> Transfer.to_device(tensor, session)
      :elsewhere -> from_binary(tensor, whole(tensor), options)
    end
  end

  def backend_copy(tensor, backend, options),
    do: backend.from_binary(tensor, whole(tensor), options)

  @impl true
  def backend_transfer(%T{data: %{id: nil}} = tensor, backend, options),
    do: backend_copy(tensor, backend, options)

  def backend_transfer(%T{data: %{session: session}} = tensor, backend, options) do
    if backend == __MODULE__ and node(session.pid) == node() and
         target(tensor, Options.backend!(options)) == :here do
      tensor
    else
      try do
        backend_copy(tensor, backend, options)
      after
        backend_deallocate(tensor)
      end
    end
  end

  # Where the options lead, as seen from a tensor: its own device, another device of its server, or
  # another server.
  defp target(_tensor, []), do: :here

  defp target(%T{data: %{session: %{server: server, device: device}}}, options) do
    case Registry.fetch!(options) do
      %{server: ^server, device: ^device} -> :here
      %{server: ^server} = session -> {:device, session}
      _ -> :elsewhere
    end
  end

  @impl true
  defdelegate to_binary(tensor, limit), to: Transfer

  defp whole(%T{data: %{shape: shape}} = tensor), do: to_binary(tensor, Tuple.product(shape))

  @impl true
  def to_batched(out, %T{shape: shape} = tensor, opts) do
    batch = elem(out.shape, 0)
    total = elem(shape, 0)
    full = div(total, batch)
    left = rem(total, batch)

    whole = Stream.map(0..(full - 1)//1, &rows(out, tensor, &1 * batch, batch))

    if left > 0 and opts[:leftover] == :repeat,
      do: Stream.concat(whole, Stream.map([:last], fn _ -> last(out, tensor, total, left) end)),
      else: whole
  end

  defp rows(out, %T{shape: shape} = tensor, start, count) do
    rank = tuple_size(shape)
    starts = [start | List.duplicate(0, rank - 1)]
    lengths = [count | tl(Tuple.to_list(shape))]
    out = %{out | shape: put_elem(shape, 0, count)}
    slice(out, tensor, starts, lengths, List.duplicate(1, rank))
  end

  # The last rows, completed by the first.
  defp last(out, tensor, total, left) do
    missing = elem(out.shape, 0) - left
    parts = [rows(out, tensor, total - left, left), rows(out, tensor, 0, missing)]
    concatenate(out, parts, 0)
  end

  @impl true
  def from_pointer(_pointer, _type, _shape, _backend_options, _options), do: no_pointers!()

  @impl true
  def to_pointer(_tensor, _options), do: no_pointers!()

  defp no_pointers! do
    raise ArgumentError, """
    a tensor of NxVulkanGo.Backend is in the memory of another process or machine and has no \
    address here. Copy it with Nx.backend_copy/2, or send the tensor itself: other BEAM nodes \
    can use it in place\
    """
  end

  @impl true
  defdelegate inspect(tensor, inspect_opts), to: Transfer

  ## Operations that are not generated from the op table, see Callbacks

  @impl true
  def slice(out, tensor, starts, lengths, strides) do
    Literal.move(out, [tensor], starts, fn [tensor], starts ->
      Pieces.slice(out, tensor, starts, lengths, strides) ||
        Nx.BinaryBackend.slice(out, tensor, starts, lengths, strides)
    end) || slice_there(out, tensor, starts, lengths, strides)
  end

  defp slice_there(out, tensor, starts, lengths, strides) do
    if Enum.all?(starts, &is_integer/1),
      do: Eager.run(:slice, out, [tensor], [clamped(starts, tensor, lengths), lengths, strides]),
      else: Eager.run(:slice, out, [tensor | scalars(starts)], [[], lengths, strides])
  end

  @impl true
  def put_slice(out, tensor, starts, slice) do
    Literal.move(out, [tensor, slice], starts, fn [tensor, slice], starts ->
      Pieces.put_slice(out, tensor, starts, slice) ||
        Nx.BinaryBackend.put_slice(out, tensor, starts, slice)
    end) || put_slice_there(out, tensor, starts, slice)
  end

  defp put_slice_there(out, tensor, starts, slice) do
    if Enum.all?(starts, &is_integer/1) do
      starts = clamped(starts, tensor, Tuple.to_list(slice.shape))
      Eager.run(:put_slice, out, [tensor, slice], [starts])
    else
      Eager.run(:put_slice, out, [tensor, slice | scalars(starts)], [[]])
    end
  end

  defp clamped(starts, %T{shape: shape}, lengths) do
    Enum.zip_with([starts, Tuple.to_list(shape), lengths], fn [start, size, length] ->
      start |> min(size - length) |> max(0)
    end)
  end

  # Starts may be numbers and tensors side by side.
  defp scalars(starts) do
    for start <- starts do
      if is_integer(start),
        do: constant(%T{type: {:s, 64}, shape: {}, names: []}, start, []),
        else: start
    end
  end

  for name <- [:concatenate, :stack] do
    @impl true
    def unquote(name)(out, tensors, axis) do
      Literal.run(out, tensors, [], fn tensors, [] ->
        Nx.BinaryBackend.unquote(name)(out, tensors, axis)
      end) || Eager.run(unquote(name), out, tensors, [axis])
    end
  end

  @impl true
  def reduce(out, tensor, initial, opts, fun) do
    fold(:reduce, out, tensor, initial, opts, fun, fn args ->
      Nx.BinaryBackend.reduce(out, hd(args), hd(tl(args)), opts, List.last(args))
    end)
  end

  @impl true
  def window_reduce(out, tensor, initial, window, opts, fun) do
    fold(:window_reduce, out, tensor, initial, [window: window] ++ opts, fun, fn args ->
      Nx.BinaryBackend.window_reduce(out, hd(args), hd(tl(args)), window, opts, List.last(args))
    end)
  end

  # A function that can be traced is computed by the node; `host` takes another.
  defp fold(op, %T{type: type} = out, tensor, initial, opts, fun, host) do
    case Reducer.to_region(fun, type) do
      {:ok, region} ->
        tensors = [Nx.as_type(tensor, type), Nx.as_type(initial, type)]
        option = &Attributes.read_option(&1, opts, out, tensor)
        lookup = &if(&1 == :function, do: region, else: option.(&1))
        attrs = Attributes.encode_all(Ops.get(op).attrs, tensor, lookup)
        Eager.run(op, out, tensors, attrs)

      {:error, reason} ->
        Fallback.run(op, type, [tensor, initial, fun], host, reason)
    end
  end

  @impl true
  def block(%module{} = struct, out, args, fun) do
    op = block_op(module)
    tensors = for %T{} = t <- args, do: t

    if op == nil,
      do: apply(fun, [struct | args]),
      else:
        Literal.block(struct, out, args, tensors, fun) || native_block(op, struct, out, tensors)
  end

  defp native_block(op, struct, out, tensors) do
    attrs = Attributes.encode_all(Ops.get(op).attrs, hd(tensors), &field(struct, &1))
    Eager.run(op, out, tensors, attrs)
  end

  # A field that is a truth value may end in a question mark; no attribute does.
  defp field(struct, name) do
    case struct do
      %{^name => value} -> value
      _ -> Map.get(struct, :"#{name}?")
    end
  end

  @doc false
  # Nx.Block.LinAlg.QR is the operation qr, and so on.
  def block_op(module)

  {:ok, modules} = :application.get_key(:nx, :modules)

  for module <- modules,
      ["Nx", "Block" | [_ | _] = rest] <- [Module.split(module)],
      op = rest |> List.last() |> Macro.underscore() |> String.to_atom(),
      Ops.get(op) != nil do
    def block_op(unquote(module)), do: unquote(op)
  end

  def block_op(_module), do: nil
end
