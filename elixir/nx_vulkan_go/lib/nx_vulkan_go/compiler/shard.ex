defmodule NxVulkanGo.Compiler.Shard do
  @moduledoc false
  # Functions over several devices: `Nx.Defn.shard_jit/3`. Rank n of the mesh is device n of the server, or the
  # nth of the places. The function is traced for the shapes of the whole; the server divides its program over
  # the ranks, and says how the results are divided. A call is a run on each device, in one round.

  alias Nx.Defn.Composite
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Backend.Eager
  alias NxVulkanGo.{Check, Session, Telemetry, TraceContext}
  alias NxVulkanGo.Compiler.{Constants, Program, Run, Sharding}
  alias NxVulkanGo.Session.Mesh

  @enforce_keys [:program, :mesh, :params, :results]
  defstruct @enforce_keys ++ [layout: nil, whole: false, notes: [], values: []]

  @type t :: %__MODULE__{
          # of the whole
          program: Program.t(),
          mesh: Nx.Mesh.t(),
          layout: Mesh.layout(),
          # each rank gets all of the results
          whole: boolean,
          # of the parameters of the program
          params: [Sharding.t()],
          # type and shape of the part of each result
          results: [Nx.Tensor.t()],
          # {operation, text, bytes}: the collectives, and what is carried out whole
          notes: [{atom, String.t(), non_neg_integer}],
          # of each result of the program, whole
          values: [{atom, tuple, Sharding.t()}]
        }

  @doc "Checks the number of argument lists, and returns the number of ranks."
  @spec ranks!(Nx.Mesh.t(), [list]) :: pos_integer
  def ranks!(mesh, args_list) do
    ranks = Tuple.product(mesh.shape)

    if length(args_list) != ranks do
      raise ArgumentError,
            "the mesh #{inspect(mesh.shape)} has #{ranks} partitions and takes a list of arguments for each, " <>
              "got: #{length(args_list)}"
    end

    ranks
  end

  @doc "Has the server divide a program. `shardings` are those of all tensors of the arguments."
  @spec divide!(Program.t(), Nx.Mesh.t(), [Sharding.t()], keyword) :: t
  def divide!(%Program{callbacks: callbacks}, _mesh, _shardings, _options) when callbacks != {} do
    raise ArgumentError, "hooks and Nx.runtime_call/4 are not supported for sharded execution"
  end

  def divide!(%Program{} = program, mesh, shardings, options) do
    {params, _body, _values} = Program.region(program)
    given = for i <- program.inputs, do: Enum.at(shardings, i)
    captured = for {_id, _type, shape} <- Enum.drop(params, length(given)), do: whole(shape)
    layout = Mesh.layout!(options)

    shard = %__MODULE__{
      program: program,
      mesh: mesh,
      layout: layout,
      whole: Keyword.get(options, :whole, false),
      params: given ++ captured,
      results: []
    }

    {share, session} = first(shard, options)
    %{values: values, notes: notes} = Session.call!(session, {:shares, share.key}, share)

    results =
      Enum.zip_with(program.results, values, fn result, {_type, axes} ->
        %{result | shape: Sharding.part(result.shape, axes, mesh)}
      end)

    values = for {{type, shape}, axes} <- values, do: {type, shape, axes}
    %{shard | results: results, notes: notes, values: values}
  end

  defp whole(shape), do: List.duplicate([], tuple_size(shape))

  @doc "Returns the program of the first rank as its server knows it, and the session that has it."
  @spec first(t, keyword) :: {map, Session.t()}
  def first(%__MODULE__{} = shard, options) do
    [session | _] = Mesh.sessions!(shard.layout, Tuple.product(shard.mesh.shape), options)
    {share(shard, 0), session}
  end

  # The program of a rank.
  defp share(%__MODULE__{program: program, mesh: mesh, params: params} = shard, rank) do
    share = {mesh.shape, rank, params}
    share = if shard.whole, do: Tuple.insert_at(share, 3, :whole), else: share
    key = :crypto.hash(:sha256, [program.key, :erlang.term_to_binary(share)])
    # A part of a run is not cancelled because its results are garbage: the other ranks need it.
    %{key: key, code: program.code, loops: false, share: share}
  end

  @doc "Runs a program on all ranks, with a list of arguments for each. Returns what each rank gives."
  @spec run(t, [[(-> Nx.Tensor.t())]], keyword) :: [term]
  def run(%__MODULE__{program: %Program{results: []} = program}, args_list, options) do
    for args <- args_list, do: Run.run(program, args, options)
  end

  def run(%__MODULE__{} = shard, args_list, options) do
    round = System.unique_integer([:positive, :monotonic])

    sessions = Mesh.sessions!(shard.layout, length(args_list), options)

    parts =
      for {session, {args, rank}} <- Enum.zip(sessions, Enum.with_index(args_list)),
          do: prepare(shard, rank, session, args, round)

    # Nothing can go wrong between the runs: a rank waits for all others.
    for part <- parts, do: send_run(part)

    for {session, _share, _instruction, _context, values, datas, operands} <- parts do
      Session.keep_alive(operands)
      Check.await!(session, values)
      output(shard, datas, place(session))
    end
  end

  defp prepare(shard, rank, session, args, round) do
    tensors =
      for tensor <- Run.arguments(shard.program, args),
          do: Run.moved(tensor, session, place(session))

    operands = tensors ++ Constants.fetch(session, shard.program.captured)
    {ids, context} = Eager.encode_operands(operands, session)
    {values, datas} = Eager.new_values(shard.results, session)
    share = share(shard, rank)
    instruction = {:run, values, ids, [share.key, nil, TraceContext.current(), round]}
    {session, share, instruction, context, values, datas, operands}
  end

  defp send_run({session, share, instruction, context, _values, _datas, _operands}) do
    Telemetry.span([:run], %{key: share.key, device: session.device}, fn ->
      {instructions, foreign} = Eager.add_context(session, instruction, context)
      Session.run(session, share, instructions, foreign)
      Eager.mark_sent(context)
    end)
  end

  defp place(session), do: [server: session.server, device: session.device]

  defp output(%{program: program}, datas, options) do
    datas = List.to_tuple(datas)

    {result, []} =
      Composite.traverse(program.template, program.outs, fn
        t, [at | outs] when is_integer(at) ->
          %B{shape: shape} = data = elem(datas, at)
          {%{t | data: data, shape: shape}, outs}

        t, [scalar | outs] ->
          {%{t | data: %{scalar | options: Keyword.take(options, [:server, :device])}}, outs}
      end)

    result
  end
end
