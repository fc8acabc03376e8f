defmodule NxVulkanGo.Checkpoint do
  @moduledoc false
  # Gradient checkpointing (Chen et al. 2016) by what Nx has. The results of a region get a
  # custom gradient. That computes the region again from its inputs and differentiates the copy,
  # so no value inside of the region is kept for the gradient.
  #
  # The copy reads its inputs through a barrier, with the gradients of the results. So it is not
  # taken for the region itself, and is computed no sooner than it is needed. The gradients of the
  # inputs leave through a second barrier: all of them are computed before the gradient goes on,
  # and the copy is not needed any more. On other compilers a barrier is the identity.
  #
  # The copy is made of the expression, and not by calling the function again: a function may
  # capture tensors, for which its inputs have to stand in as well.

  alias Nx.Defn.{Composite, Expr, Tree}
  alias Nx.Tensor, as: T

  # Operations without a gradient for their operands, as in Nx.Defn.Grad.
  @constants [:all, :any, :argmax, :argmin, :argsort, :runtime_call] ++
               [:bitwise_and, :bitwise_or, :bitwise_xor, :bitwise_not] ++
               [:logical_and, :logical_or, :logical_xor, :logical_not] ++
               [:left_shift, :right_shift, :count_leading_zeros, :population_count] ++
               [:floor, :round, :ceil, :sign, :is_nan, :is_infinity] ++
               [:equal, :greater, :greater_equal, :less, :less_equal, :not_equal]

  # Nodes that a copy shares with the original. A runtime call is not repeated: its results are kept.
  @shared [:parameter, :constant, :tensor, :iota, :eye, :fun, :runtime_call]

  @most_arguments 16

  @doc "Returns a function like `fun` whose inner values are computed again for a gradient."
  @spec function(fun) :: fun
  def function(fun) do
    {:arity, arity} = Function.info(fun, :arity)
    with_arity(arity, fn args -> region(apply(fun, args), given([fun | args])) end)
  end

  for arity <- 0..@most_arguments do
    args = Macro.generate_arguments(arity, __MODULE__)
    defp with_arity(unquote(arity), f), do: fn unquote_splicing(args) -> f.(unquote(args)) end
  end

  defp with_arity(arity, _f) do
    raise ArgumentError,
          "NxVulkanGo.checkpoint/1 takes functions of at most #{@most_arguments} arguments, got one of #{arity}"
  end

  @doc """
  Returns an expression whose inner values are computed again for a gradient, from the parameters,
  the variables of the gradient and earlier checkpoints.
  """
  @spec expression(term) :: term
  def expression(expr), do: region(expr, &border?/1)

  @doc "Reports whether a node is a barrier."
  @spec barrier?(T.t()) :: boolean
  def barrier?(%T{data: %Expr{op: :metadata, args: [_, %{__MODULE__ => :barrier}]}}), do: true
  def barrier?(_t), do: false

  defp border?(%T{data: %Expr{op: :parameter}}), do: true
  defp border?(%T{data: %Expr{op: :elem, args: [tuple, _]}}), do: border?(tuple)
  defp border?(%T{data: %Expr{op: :metadata, args: [_, %{Nx.Defn.Grad => _}]}}), do: true
  defp border?(%T{data: %Expr{op: :metadata, args: [_, %{__MODULE__ => :region}]}}), do: true
  defp border?(_t), do: false

  # Whether a node is an argument of a function, or captured by it.
  defp given(term) do
    ids = given(term, %{})
    &is_map_key(ids, &1.data.id)
  end

  defp given(%T{data: %Expr{id: id}}, ids), do: Map.put(ids, id, true)
  defp given(%T{}, ids), do: ids
  defp given(list, ids) when is_list(list), do: given_list(list, ids)
  defp given(tuple, ids) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> given(ids)
  defp given(map, ids) when is_map(map), do: map |> Map.values() |> given(ids)

  defp given(fun, ids) when is_function(fun) do
    {:env, env} = Function.info(fun, :env)
    given(env, ids)
  end

  defp given(_other, ids), do: ids

  defp given_list([head | tail], ids), do: given_list(tail, given(head, ids))
  defp given_list([], ids), do: ids
  defp given_list(tail, ids), do: given(tail, ids)

  ## Regions

  defp region(result, border?) do
    outs = for %T{data: %Expr{}} = t <- Composite.flatten_list([result]), do: t
    inputs = inputs(outs, border?, &args/1)
    varied = inputs(outs, border?, &differentiable/1)

    if varied == [] or sums_vectors?(outs, varied) do
      result
    else
      flat = Enum.map(outs, &devectorize/1)
      back = fn g -> backward(flat, inputs, varied, to_list(g)) end
      replace(result, metadata(flat, varied, back, :region))
    end
  end

  # Nx keeps the gradient of a variable without vectorized axes apart for each vector where
  # the result is vectorized, and sums it where the result is not. A custom gradient cannot know
  # which, so such a region keeps its values.
  defp sums_vectors?(outs, varied) do
    axes = outs |> Enum.flat_map(& &1.vectorized_axes) |> Enum.uniq()
    axes != [] and Enum.any?(varied, &(axes -- &1.vectorized_axes != []))
  end

  # The gradients of the inputs, given those of the results.
  defp backward(outs, inputs, varied, gs) do
    gs = Enum.zip_with(gs, outs, &Nx.broadcast/2)

    {again, gs} =
      (Enum.map(inputs, &devectorize/1) ++ gs) |> barrier() |> Enum.split(length(inputs))

    copies = inputs |> Enum.map(&id/1) |> Enum.zip(again) |> Map.new()
    vars = for t <- varied, do: Map.fetch!(copies, id(t))

    vars
    |> List.to_tuple()
    |> Nx.Defn.grad(fn marked ->
      marked = varied |> Enum.map(&id/1) |> Enum.zip(Tuple.to_list(marked)) |> Map.new()
      {copied, _} = outs |> copy_all(Map.merge(copies, marked))

      {seed} =
        metadata([Nx.tensor(0.0, backend: Nx.BinaryBackend)], copied, fn _ -> gs end, :seed)

      seed
    end)
    |> Tuple.to_list()
    |> barrier()
  end

  defp barrier(tensors) do
    back = fn gs -> to_list(gs) end
    tensors |> metadata(tensors, back, :barrier) |> Tuple.to_list()
  end

  defp metadata(tensors, inputs, back, kind) do
    inputs = Enum.map(inputs, &devectorize/1)

    tensors
    |> List.to_tuple()
    |> Expr.metadata(%{:custom_grad => {inputs, back}, :inspect => kind, __MODULE__ => kind})
  end

  defp to_list(gs) when is_tuple(gs), do: Tuple.to_list(gs)
  defp to_list(g), do: [g]

  # The container, with expressions in the place of its own, as they are vectorized there.
  defp replace(container, tuple) do
    {result, []} =
      Composite.traverse(container, Tuple.to_list(tuple), fn
        %T{data: %Expr{}} = t, [new | rest] -> {%{t | data: new.data}, rest}
        t, rest -> {t, rest}
      end)

    result
  end

  defp devectorize(t), do: Nx.devectorize(t, keep_names: false)

  defp id(%T{data: %Expr{id: id}}), do: id

  ## Inputs

  # The borders that are reached from `outs`, the one that is found last first: as a rule it is
  # nearest to the results. So a compiler that goes through gradients in this order computes that of
  # a weight as soon as it can, and what that takes is not needed any more.
  defp inputs(outs, border?, args) do
    {found, _seen} = inputs(outs, border?, args, {[], %{}})
    found
  end

  defp inputs([], _border?, _args, acc), do: acc

  defp inputs([%T{data: %Expr{id: id}} = t | rest], border?, args, {found, seen} = acc) do
    cond do
      is_map_key(seen, id) -> inputs(rest, border?, args, acc)
      border?.(t) -> inputs(rest, border?, args, {[t | found], Map.put(seen, id, true)})
      true -> inputs(args.(t) ++ rest, border?, args, {found, Map.put(seen, id, true)})
    end
  end

  defp args(%T{data: %Expr{op: op}}) when op in @shared, do: []

  defp args(t) do
    {_, args} =
      Tree.apply_args(t, :scope, [], fn
        %T{data: %Expr{}} = arg, args -> {arg, [arg | args]}
        option, args -> {option, args}
      end)

    Enum.reverse(args)
  end

  # The arguments of a node that have a gradient.
  defp differentiable(%T{data: %Expr{op: op}}) when op in @constants, do: []

  defp differentiable(%T{data: %Expr{op: :metadata, args: [_, %{stop_grad: true}]}}), do: []

  defp differentiable(%T{data: %Expr{op: :metadata, args: [_, %{custom_grad: {inputs, _}}]}}),
    do: inputs

  defp differentiable(%T{data: %Expr{op: :select, args: [_, yes, no | _]}}), do: [yes, no]

  defp differentiable(%T{data: %Expr{op: op, args: [t | _]}}) when op in [:slice, :gather],
    do: [t]

  defp differentiable(%T{data: %Expr{op: op, args: [t, _, source | _]}})
       when op in [:put_slice, :indexed_add, :indexed_put],
       do: [t, source]

  defp differentiable(%T{data: %Expr{op: :block, args: [_struct, args, default | _]}}) do
    params = [default] |> Composite.flatten_list() |> inputs(&parameter?/1, &differentiable/1)
    for %T{data: %Expr{args: [i]}} <- params, do: Enum.at(args, i)
  end

  defp differentiable(%T{data: %Expr{op: :while, args: [initial | _]}}),
    do: Composite.flatten_list([initial])

  defp differentiable(t), do: args(t)

  defp parameter?(%T{data: %Expr{op: op}}), do: op == :parameter

  ## Copies

  # `copied` has the copies of nodes that have one, by id. A tensor may be seen with vectorized axes
  # or without; its copy, too.
  defp copy_all(tensors, copied), do: Enum.map_reduce(tensors, copied, &copy/2)

  defp copy(%T{data: %Expr{id: id}} = t, copied) do
    case copied do
      %{^id => copy} ->
        {%{t | data: copy.data}, copied}

      _ ->
        {copy, copied} = copy_node(t, copied)
        {copy, Map.put(copied, id, copy)}
    end
  end

  defp copy(option, copied), do: {option, copied}

  defp copy_node(%T{data: %Expr{op: op}} = t, copied) when op in @shared, do: {t, copied}

  defp copy_node(%T{data: %Expr{op: op, args: [expr, spec, template, _ref]}} = t, copied)
       when op in [:hook, :io_call] do
    {expr, copied} = Composite.traverse(expr, copied, &copy/2)
    {with_args(t, op, [expr, spec, template, make_ref()]), copied}
  end

  defp copy_node(
         %T{data: %Expr{op: :metadata, args: [expr, %{custom_grad: grad} = meta]}} = t,
         copied
       ) do
    {inputs, back} = grad
    {expr, copied} = Composite.traverse(expr, copied, &copy/2)
    {new, copied} = copy_all(inputs, copied)

    meta = %{meta | custom_grad: {new, fn g -> copy_gradient(back, g, copied) end}}
    {with_args(t, :metadata, [expr, meta]), copied}
  end

  defp copy_node(t, copied) do
    {args, after_args} = Tree.apply_args(t, :scope, copied, &copy/2)
    if args == t.data.args, do: {t, after_args}, else: {with_args(t, t.data.op, args), after_args}
  end

  # A custom gradient refers to the original. What it computes is copied, but not the gradient
  # with which it is called.
  defp copy_gradient(back, g, copied) do
    {stands, copied} =
      Composite.traverse(g, copied, fn g, copied ->
        stand = g |> devectorize() |> Expr.parameter(g.data.context, 0)
        {%{g | data: stand.data}, Map.put(copied, id(stand), g)}
      end)

    {grads, _} = stands |> back.() |> copy_all(copied)
    grads
  end

  defp with_args(%T{data: data} = t, op, args),
    do: %{t | data: %{data | id: make_ref(), op: op, args: args}}
end
