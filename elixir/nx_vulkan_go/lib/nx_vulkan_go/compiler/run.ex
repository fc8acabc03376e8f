defmodule NxVulkanGo.Compiler.Run do
  @moduledoc false
  # Calls a compiled function: arguments become operands, results get ids, and one instruction
  # is sent to the session, unless the call is of this VM: see Small. As with single operations
  # nothing waits, unless the program calls functions of the caller.

  alias Nx.Defn.{Composite, Expr}
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Backend.Eager
  alias NxVulkanGo.{Check, Session, Telemetry, TraceContext}
  alias NxVulkanGo.Compiler.{Callbacks, Constants, DataParallel, Program, Small}
  alias NxVulkanGo.Session.Registry
  alias NxVulkanGo.Session.Tracker

  @doc """
  Runs a program. `args` are functions that return the arguments; those of unused arguments
  are not called.
  """
  @spec run(Program.t(), [(-> T.t())], keyword) :: term
  def run(%Program{results: [], callbacks: {}} = program, _args, options),
    do: output(program, [], options)

  def run(%Program{} = program, args, options) do
    tensors = arguments(program, args)
    place = place(options)
    here = place == [] && Small.run(program.small, program.inputs, tensors)
    output(program, here || run_there(program, tensors, place, options), options)
  end

  defp run_there(program, tensors, place, options) do
    {session, tensors} = place(tensors, place)

    Telemetry.span([:run], %{key: program.key, device: session.device}, fn ->
      start(program, session, tensors, options)
    end)
  end

  @doc "Returns the arguments that a program uses."
  @spec arguments(Program.t(), [(-> T.t())]) :: [T.t()]
  def arguments(program, args), do: arguments(program.inputs, args, 0)

  # Positions are in order.
  defp arguments([], _args, _i), do: []

  defp arguments([i | inputs], [arg | args], i),
    do: [argument(arg.()) | arguments(inputs, args, i + 1)]

  defp arguments(inputs, [_ | args], i), do: arguments(inputs, args, i + 1)

  defp argument(%T{data: %B{}} = tensor), do: tensor

  defp argument(%T{data: %Expr{}} = tensor) do
    raise ArgumentError,
          "cannot pass a tensor expression as argument to defn, got: #{inspect(tensor)}"
  end

  defp argument(%T{} = tensor), do: Nx.devectorize(tensor, keep_names: false)

  # Without options the program runs where its arguments are.
  defp place(tensors, []), do: {Eager.find_session(tensors, []), tensors}

  defp place(tensors, options) do
    session = Registry.fetch!(options)
    {session, Enum.map(tensors, &moved(&1, session, options))}
  end

  @doc "Returns a tensor that a session can use: one of another device is copied."
  @spec moved(T.t(), Session.t(), keyword) :: T.t()
  def moved(%T{data: %B{session: %Session{} = other}} = tensor, session, options) do
    if other.server == session.server and other.device == session.device,
      do: tensor,
      else: DataParallel.replica(tensor, session.pid) || Nx.backend_copy(tensor, {B, options})
  end

  def moved(tensor, _session, _options), do: tensor

  # The data of the results.
  defp start(program, session, tensors, options) do
    operands = tensors ++ Constants.fetch(session, program.captured)
    {ids, {uploads, temporary, foreign}} = Eager.encode_operands(operands, session)
    {values, datas} = Eager.new_values(program.results, session)
    donated = donated(program.donated, tensors)
    context = {uploads, donated ++ temporary, foreign}

    send_run = fn callbacks ->
      instruction = {:run, values, ids, TraceContext.run_attributes(program.key, callbacks)}
      {instructions, foreign} = Eager.add_context(session, instruction, context)
      Session.run(session, Map.take(program, [:key, :code, :loops]), instructions, foreign)
      Eager.mark_sent(context)
    end

    if program.callbacks == {},
      do: send_run.(nil),
      else:
        Callbacks.serve(
          program.callbacks,
          program.key,
          session,
          run_id(values),
          options,
          send_run
        )

    # A free must not overtake the run.
    Session.keep_alive(operands)
    Check.await!(session, values)
    datas
  end

  # The data of the arguments that the run frees: those of this VM, each once.
  defp donated([], _tensors), do: []

  defp donated(positions, tensors) do
    tensors = List.to_tuple(tensors)

    for i <- positions,
        %T{data: %B{session: %Session{pid: pid}} = handle} <- [elem(tensors, i)],
        node(pid) == node() and Tracker.held?(handle),
        uniq: true,
        do: handle
  end

  defp run_id([{id, _, _} | _]), do: id
  defp run_id([]), do: 0

  defp output(%{outs: [0], template: %T{} = template}, [data], _options),
    do: %{template | data: data}

  defp output(%{outs: outs, template: template}, datas, options) do
    datas = List.to_tuple(datas)

    {result, []} =
      Composite.traverse(template, outs, fn
        t, [at | outs] when is_integer(at) -> {%{t | data: elem(datas, at)}, outs}
        t, [scalar | outs] -> {%{t | data: %{scalar | options: place(options)}}, outs}
      end)

    result
  end

  defp place(options), do: Keyword.take(options, [:server, :device])
end
