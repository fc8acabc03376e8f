defmodule NxVulkanGo.Compiler.Lower do
  @moduledoc false
  # Turns expressions into instructions and regions, in the format of gen/README.md. It
  # walks scopes and knows control flow. The callbacks of NxVulkanGo.Backend know which
  # instruction an operation is, for compiled and for eager code. See "The compiler" in guides/contributing/design.md.
  #
  # Ids of a program are dense and start at 1. The value of an expression is an operand (an
  # id or a literal), or {:many, operands} for a tuple.

  alias Nx.Defn.{Composite, Expr}
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Backend.Eager
  alias NxVulkanGo.Compiler.{Operation, Scope}
  alias NxVulkanGo.{Attention, Checkpoint, Encoding, Ops}
  import NxVulkanGo.Compiler.Scope, only: [devectorize: 1]

  # For the program: the next id, the tensors that the function has captured, the
  # functions to call, whether there are loops, and the names of hooks with a function.
  # For the scope: its nodes, their values, its parameters by position, and the
  # instructions of its regions, last first. `closed` regions capture nothing.
  defstruct next: 1,
            captured: %{},
            callbacks: [],
            loops: false,
            hooks: [],
            scope: nil,
            env: %{},
            params: %{},
            code: %{},
            closed: false

  defguardp is_scalar(t) when t.shape == {} and t.vectorized_axes == []

  @type callback ::
          {:hook, spec :: tuple, template :: term}
          | {:call, fun :: (term, term -> term), template :: term, out :: term, opts :: term}

  @doc """
  Lowers a program that computes `outputs`. The arguments that it uses, whose positions are
  returned, are its first parameters; captured tensors are the others.

  Throws `{:unsupported, reason}` where the node does not know an operation.
  """
  def lower_program(outputs, hooks) do
    scope = Scope.new(outputs)
    inputs = inputs(scope)
    state = %__MODULE__{hooks: hooks}
    {params, state} = parameters(state, Enum.map(inputs, &elem(&1, 1)))
    positions = Enum.map(inputs, &elem(&1, 0))
    env = positions |> Enum.zip(ids(params)) |> Map.new()
    {body, values, state} = scope(state, scope, outputs, env)
    captured = state.captured |> Map.values() |> Enum.sort_by(fn {{id, _, _}, _} -> id end)

    %{
      params: params ++ Enum.map(captured, &elem(&1, 0)),
      body: body,
      values: values,
      inputs: positions,
      captured: Enum.map(captured, &elem(&1, 1)),
      loops: state.loops,
      callbacks: state.callbacks |> Enum.reverse() |> List.to_tuple()
    }
  end

  defp inputs(scope) do
    for(%T{data: %Expr{op: :parameter, args: [i]}} = t <- scope.order, do: {i, t})
    |> Enum.uniq_by(&elem(&1, 0))
    |> Enum.sort_by(&elem(&1, 0))
  end

  @doc "Lowers a function of two scalars of a type, for reductions, to a region."
  def lower_function(state \\ %__MODULE__{}, [_, _] = params, %T{} = body, type) do
    {params, state} = parameters(state, params)
    env = params |> ids() |> Enum.with_index(&{&2, &1}) |> Map.new()
    closed = state.closed
    {code, [value], state} = scope(%{state | closed: true}, Scope.new([body]), [body], env)
    state = %{state | closed: closed}

    if body.type == type do
      {{params, code, [value]}, state}
    else
      {results, [id], state} = results(state, [%T{type: type, shape: {}, names: []}])
      {{params, code ++ [{:as_type, results, [value], []}], [id]}, state}
    end
  end

  ## Scopes

  # The instructions of a scope, the values of its outputs, and the state with
  # the scope around it in place.
  defp scope(state, scope, outputs, params) do
    inner = %{state | scope: scope, env: %{}, params: params, code: %{}}
    inner = scope.order |> Enum.reverse() |> Enum.reduce(inner, &node/2)
    values = Enum.map(outputs, &operand(inner, &1))
    outer = Map.take(state, [:scope, :env, :params, :code])
    {instructions(inner, 0), values, Map.merge(inner, outer)}
  end

  defp parameters(state, tensors) do
    {params, _ids, state} = results(state, tensors)
    {params, state}
  end

  defp ids(params), do: Enum.map(params, &elem(&1, 0))

  defp results(state, tensors) do
    {results, next} =
      Enum.map_reduce(tensors, state.next, fn t, next ->
        %T{type: type, shape: shape} = devectorize(t)
        {{next, Encoding.type_to_atom(type), shape}, next + 1}
      end)

    {results, ids(results), %{state | next: next}}
  end

  defp emit(state, region, instruction) do
    code = Map.update(state.code, region, [instruction], &[instruction | &1])
    %{state | code: code}
  end

  defp instructions(state, region), do: state.code |> Map.get(region, []) |> Enum.reverse()

  ## Values

  defp bind(state, t, value), do: %{state | env: Map.put(state.env, Scope.id(t), value)}

  # Binds a result, or a tuple of results where the node is one.
  defp bind_all(state, %T{type: {:tuple, _}} = t, values),
    do: bind(state, t, {:many, List.to_tuple(values)})

  defp bind_all(state, t, [value]), do: bind(state, t, value)

  defp operand(_state, %T{data: %Expr{op: :constant, args: [number]}} = t) when is_scalar(t),
    do: {Encoding.type_to_atom(t.type), Encoding.encode_scalar(t.type, number)}

  defp operand(state, t), do: Map.fetch!(state.env, Scope.id(t))

  defp operands(state, container), do: Enum.map(flat(container), &operand(state, &1))

  defp flat(container), do: Composite.flatten_list([container])

  # The tensor that a callback of the backend gets for a value.
  defp placeholder(state, %T{data: %Expr{}} = t) do
    value = operand(state, t)
    %T{type: type, shape: shape} = t = devectorize(t)
    %{t | data: %B{session: :program, id: value, type: type, shape: shape}}
  end

  defp placeholder(_state, option), do: option

  ## Nodes

  defp node(%T{data: %Expr{op: :parameter, args: [i]}} = t, state),
    do: bind(state, t, Map.fetch!(state.params, i))

  defp node(%T{data: %Expr{op: :constant}} = t, state) when is_scalar(t), do: state

  defp node(%T{data: %Expr{op: :constant, args: [number]}} = t, state),
    do: record(state, t, Operation.build(:constant, devectorize(t), [number]))

  defp node(%T{data: %Expr{op: :tensor, args: [tensor]}} = t, state), do: tensor(state, t, tensor)

  defp node(%T{data: %Expr{op: :metadata, args: [expr, _]}} = t, state) do
    if Checkpoint.barrier?(t),
      do: barrier(state, t, expr),
      else: bind_all(state, t, operands(state, expr))
  end

  defp node(%T{data: %Expr{op: :elem, args: [tuple, i]}} = t, state) do
    {:many, values} = operand(state, tuple)
    bind(state, t, elem(values, i))
  end

  defp node(%T{data: %Expr{op: :cond}} = t, state), do: branch(state, t)
  defp node(%T{data: %Expr{op: :while}} = t, state), do: while(state, t)
  defp node(%T{data: %Expr{op: :block}} = t, state), do: block(state, t)

  # The operation is hook in Nx 0.13, and io_call in later releases.
  defp node(%T{data: %Expr{op: op}} = t, state) when op in [:hook, :io_call], do: hook(state, t)
  defp node(%T{data: %Expr{op: :runtime_call}} = t, state), do: runtime_call(state, t)

  defp node(%T{data: %Expr{op: op}} = t, state) when op in [:reduce, :window_reduce],
    do: fold(state, t)

  defp node(%T{data: %Expr{op: op}} = t, state) do
    supported!(op)
    args = Operation.map_args(t, &placeholder(state, &1))
    record(state, t, Operation.build(op, devectorize(t), args))
  end

  defp supported!(op) do
    Ops.get(op) || throw({:unsupported, "#{op}: the table has no such operation"})
  end

  # Puts an instruction where the node belongs.
  defp record(state, t, {:instruction, op, outs, tensors, attrs}) do
    {results, ids, state} = results(state, flat(outs))
    operands = Enum.map(tensors, &Eager.encode_program_operand/1)

    state
    |> emit(home(state, t), {op, results, operands, attrs})
    |> bind_all(t, ids)
  end

  defp home(state, t), do: Scope.home(state.scope, t)

  # A small tensor is a literal, as in eager code. A large one is sent once and is a
  # parameter.
  defp tensor(state, t, %T{type: type, shape: shape} = tensor) do
    data = tensor |> Nx.to_binary() |> Encoding.encode(type)

    if state.closed or Eager.literal?(data) do
      bind(state, t, {Encoding.type_to_atom(type), shape, data})
    else
      hash = :crypto.hash(:sha256, [:erlang.term_to_binary({type, shape}), data])
      {id, state} = capture(state, hash, tensor)
      bind(state, t, id)
    end
  end

  defp capture(%{captured: captured} = state, hash, tensor) do
    case captured do
      %{^hash => {{id, _, _}, _}} ->
        {id, state}

      _ ->
        {[param], [id], state} = results(state, [tensor])
        {id, %{state | captured: Map.put(captured, hash, {param, {hash, tensor}})}}
    end
  end

  # A barrier passes what anything needs of it. A literal passes as it is.
  defp barrier(state, t, tensors) do
    values = for i <- Scope.passed(state.scope, t), do: {i, operand(state, elem(tensors, i))}
    {taken, literals} = Enum.split_with(values, fn {_, value} -> is_integer(value) end)
    {results, ids, state} = results(state, for({i, _} <- taken, do: elem(tensors, i)))
    instruction = {:optimization_barrier, results, Enum.map(taken, &elem(&1, 1)), []}
    state = if taken == [], do: state, else: emit(state, home(state, t), instruction)

    passed = taken |> Enum.zip_with(ids, fn {i, _}, id -> {i, id} end) |> Map.new()
    passed = Map.merge(passed, Map.new(literals))
    bind_all(state, t, for(i <- 0..(tuple_size(tensors) - 1), do: passed[i]))
  end

  ## Control flow

  defp branch(state, %T{data: %Expr{id: id, args: [clauses, last]}} = t) do
    outs = if match?({:tuple, _}, t.type), do: flat(last), else: [t]
    clauses = Enum.zip(clauses, Map.fetch!(state.scope.branches, id))
    {ids, state} = clauses(state, clauses, last, outs, home(state, t))
    bind_all(state, t, ids)
  end

  # The regions have their instructions already. Each clause after the first lies in the
  # second region of the clause before it.
  defp clauses(state, [{{pred, body}, {yes, no}} | rest], last, outs, region) do
    {otherwise, state} =
      if rest == [] do
        {operands(state, last), state}
      else
        clauses(state, rest, last, outs, no)
      end

    regions = [
      {[], instructions(state, yes), operands(state, body)},
      {[], instructions(state, no), otherwise}
    ]

    {results, ids, state} = results(state, outs)
    {ids, emit(state, region, {:branch, results, [operand(state, pred)], regions})}
  end

  defp while(state, %T{data: %Expr{args: [initial, arg, condition, body]}} = t) do
    args = flat(arg)
    inits = operands(state, initial)
    {condition, state} = region(state, args, [condition])
    {body, state} = region(state, args, flat(body))
    {results, ids, state} = results(%{state | loops: true}, args)

    state
    |> emit(home(state, t), {:while, results, inits, [condition, body]})
    |> bind_all(t, ids)
  end

  defp region(state, args, outputs) do
    {params, state} = parameters(state, args)
    env = params |> ids() |> Enum.with_index(&{&2, &1}) |> Map.new()
    {body, values, state} = scope(state, Scope.new(outputs), outputs, env)
    {{params, body, values}, state}
  end

  # Attention is an instruction with its default as a region. Another block that the node knows is
  # an instruction. Any other block is inlined with the default of Nx.
  defp block(state, %T{data: %Expr{args: [%Attention{}, args, default, _fun]}} = t) do
    closed = state.closed
    {region, state} = region(%{state | closed: true}, args, [default])
    {results, ids, state} = results(%{state | closed: closed}, [t])
    instruction = {:attention, results, Enum.map(args, &operand(state, &1)), [region]}
    state |> emit(home(state, t), instruction) |> bind_all(t, ids)
  end

  defp block(state, %T{data: %Expr{args: [struct, in_args, default, _fun]}} = t) do
    out = if match?({:tuple, _}, t.type), do: templates(default), else: devectorize(t)
    args = Enum.map(in_args, &placeholder(state, &1))

    case Operation.build_block(struct, out, args) do
      :default -> inlined(state, t, Enum.take_while(in_args, &is_struct(&1, T)), default)
      instruction -> record(state, t, instruction)
    end
  end

  defp templates(tuple),
    do: tuple |> Tuple.to_list() |> Enum.map(&devectorize/1) |> List.to_tuple()

  # The default of a block has the block's arguments as parameters. It is a scope of its
  # own, in the region of the block.
  defp inlined(state, t, args, default) do
    params = args |> Enum.with_index(&{&2, operand(state, &1)}) |> Map.new()
    outputs = flat(default)
    {body, values, state} = scope(state, Scope.new(outputs), outputs, params)
    region = home(state, t)

    body
    |> Enum.reduce(state, &emit(&2, region, &1))
    |> bind_all(t, values)
  end

  defp fold(state, %T{type: type, data: %Expr{op: op, args: [tensor, initial | rest]}} = t) do
    supported!(op)
    {options, [%T{data: %Expr{op: :fun, args: [params, body, _mfa]}}]} = Enum.split(rest, -1)
    {tensor, state} = cast(state, t, tensor, type)
    {initial, state} = cast(state, t, initial, type)
    {function, state} = lower_function(state, params, body, type)
    args = [tensor, initial] ++ options ++ [{:region, function}]
    record(state, t, Operation.build(op, devectorize(t), args))
  end

  # A function of a reduction takes scalars of the type of the result.
  defp cast(state, _t, %T{type: type} = tensor, type), do: {placeholder(state, tensor), state}

  defp cast(state, t, tensor, type) do
    out = %{devectorize(tensor) | type: type}
    {results, [id], state} = results(state, [out])
    state = emit(state, home(state, t), {:as_type, results, [operand(state, tensor)], []})
    {%{out | data: %B{session: :program, id: id, type: type, shape: out.shape}}, state}
  end

  ## Functions of the caller

  defp hook(state, %T{data: %Expr{args: [expr, spec, _template, _ref]}} = t) do
    {hooked, spec} =
      case spec do
        {:token_hook, hooked, spec} -> {hooked, spec}
        spec -> {expr, spec}
      end

    state =
      if wanted?(spec, state.hooks) do
        {index, state} = callback(state, {:hook, spec, argument(hooked)})
        emit(state, home(state, t), {:hook, [], operands(state, hooked), [index]})
      else
        state
      end

    bind_all(state, t, operands(state, expr))
  end

  defp wanted?({:fn, _}, _hooks), do: true
  defp wanted?({:named, name, default}, hooks), do: default != nil or name in hooks

  defp runtime_call(state, %T{data: %Expr{args: [expr, fun, out, opts]}} = t) do
    {index, state} = callback(state, {:call, fun, argument(expr), out, opts})
    {results, ids, state} = results(state, flat(out))

    state
    |> emit(home(state, t), {:callback, results, operands(state, expr), [index]})
    |> bind_all(t, ids)
  end

  # Vectorized as in the function, as in EXLA. Nx.Defn.Evaluator calls hooks with
  # devectorized tensors.
  defp argument(expr), do: Nx.to_template(expr)

  defp callback(state, callback),
    do: {length(state.callbacks), %{state | callbacks: [callback | state.callbacks]}}
end
