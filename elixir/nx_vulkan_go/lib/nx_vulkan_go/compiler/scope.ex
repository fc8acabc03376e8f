defmodule NxVulkanGo.Compiler.Scope do
  @moduledoc false
  # Orders the nodes of one scope of an expression, and finds the region of each. A scope is
  # an expression with parameters of its own: a program, the condition or the body of a loop,
  # the function of a reduction. This module knows how nodes refer to each other, and nothing
  # of instructions.
  #
  # A scope has the region 0, and two more regions for each clause of a cond: one for the
  # body of the clause, and one for the clauses that follow. A node belongs to the innermost
  # region that contains all its users. So a value that only one branch needs is computed in
  # that branch, and no value is computed twice.

  alias Nx.Defn.{Composite, Expr, Tree}
  alias Nx.Tensor, as: T
  alias NxVulkanGo.{Checkpoint, Encoding}

  @root 0
  @leaves [:parameter, :constant, :tensor, :iota, :eye]
  @folds [:reduce, :window_reduce]

  defstruct order: [], homes: nil, branches: %{}, passed: %{}

  @type region :: non_neg_integer
  @type t :: %__MODULE__{
          # nodes, each before its operands
          order: [T.t()],
          # nil where everything belongs to the root
          homes: nil | %{term => region},
          # of each cond, for each clause, the regions of yes and no
          branches: %{term => [{region, region}]},
          # of each barrier, which of its tensors anything needs
          passed: %{term => %{non_neg_integer => true}}
        }

  @doc "Makes the scope that computes `outputs`."
  @spec new([T.t()]) :: t
  def new(outputs) do
    order = visit(outputs, [], %{}, nil)
    barriers? = Enum.any?(order, &Checkpoint.barrier?/1)
    passed = if barriers?, do: passed(outputs, %{}, %{}), else: %{}
    order = if barriers?, do: visit(outputs, [], %{}, passed), else: order
    scope = %__MODULE__{order: order, passed: passed}

    if Enum.any?(order, &(&1.data.op == :cond)),
      do: place_all(scope, outputs),
      else: scope
  end

  @doc "Returns the numbers of a barrier's tensors that anything needs."
  @spec passed(t, T.t()) :: [non_neg_integer]
  def passed(%__MODULE__{passed: passed}, t),
    do: passed |> Map.get(id(t), %{}) |> Map.keys() |> Enum.sort()

  # Finds what is needed where a barrier passes only what is needed of it.
  defp passed([], passed, _seen), do: passed

  defp passed([%T{data: %Expr{op: op, args: args}} = t | rest], passed, seen) do
    id = id(t)

    cond do
      is_map_key(seen, id) ->
        passed(rest, passed, seen)

      op == :elem and Checkpoint.barrier?(hd(args)) ->
        [barrier, i] = args
        needed = Map.update(passed, id(barrier), %{i => true}, &Map.put(&1, i, true))
        passed([nth(barrier, i) | rest], needed, Map.put(seen, id, true))

      true ->
        passed(reduce_args(t, rest, nil, &[&1 | &2]), passed, Map.put(seen, id, true))
    end
  end

  defp passed([_option | rest], passed, seen), do: passed(rest, passed, seen)

  defp nth(%T{data: %Expr{args: [tuple, _]}}, i), do: elem(tuple, i)

  @doc "Returns the region of a node."
  @spec home(t, T.t()) :: region
  def home(%{homes: nil}, _t), do: @root
  def home(%{homes: homes}, t), do: Map.fetch!(homes, id(t))

  @doc """
  Returns the identity of a node. The id of Nx is not enough: equal constants share one,
  whatever their vectorized axes are, and so do zeros of both signs on some releases of OTP.
  """
  @spec id(T.t()) :: term
  def id(%T{type: type, data: %Expr{op: :constant, args: [number]}} = t),
    do: {Encoding.encode_scalar(type, number), type, devectorize(t).shape}

  def id(%T{data: %Expr{id: id}}), do: id

  @doc "Returns a tensor without vectorized axes, as the device has it."
  @spec devectorize(T.t()) :: T.t()
  def devectorize(%T{vectorized_axes: []} = t), do: t
  def devectorize(t), do: Nx.devectorize(t, keep_names: false)

  # Depth first, in the order of the arguments, as the evaluator goes: hooks run in that
  # order. The expressions to visit are in a list, not on the stack: expressions may be very
  # deep, and each garbage collection scans the stack.
  defp visit([], order, _seen, _passed), do: order
  defp visit([{:done, t} | rest], order, seen, passed), do: visit(rest, [t | order], seen, passed)

  defp visit([%T{data: %Expr{}} = t | rest], order, seen, passed) do
    id = id(t)

    if is_map_key(seen, id) do
      visit(rest, order, seen, passed)
    else
      args = reduce_args(t, [], passed, &[&1 | &2])
      visit(:lists.reverse(args, [{:done, t} | rest]), order, Map.put(seen, id, true), passed)
    end
  end

  defp visit([_option | rest], order, seen, passed), do: visit(rest, order, seen, passed)

  # The arguments that belong to the same scope; of barriers those that `passed` has, unless
  # that is nil.
  defp reduce_args(%T{data: %Expr{op: op}}, acc, _passed, _fun) when op in @leaves, do: acc

  defp reduce_args(%T{data: %Expr{op: op, args: [tensor, initial | _]}}, acc, _passed, fun)
       when op in @folds,
       do: fun.(initial, fun.(tensor, acc))

  defp reduce_args(t, acc, passed, fun) do
    if passed && Checkpoint.barrier?(t) do
      numbers = passed |> Map.get(id(t), %{}) |> Map.keys() |> Enum.sort()
      Enum.reduce(numbers, acc, &fun.(nth(t, &1), &2))
    else
      {_, acc} = Tree.apply_args(t, :scope, acc, &{&1, fun.(&1, &2)})
      acc
    end
  end

  ## Regions

  defp place_all(%{order: order} = scope, outputs) do
    state = %{homes: %{}, parents: %{@root => {nil, 0}}, branches: %{}, passed: scope.passed}
    state = Enum.reduce(outputs, state, &place(&1, @root, &2))
    state = Enum.reduce(order, state, &place_args/2)
    %{scope | homes: state.homes, branches: state.branches}
  end

  defp place_args(%T{data: %Expr{id: id, op: :cond, args: [clauses, last]}}, state) do
    {branches, {region, state}} =
      Enum.map_reduce(clauses, {state.homes[id], state}, fn {pred, body}, {region, state} ->
        state = place(pred, region, state)
        {yes, state} = region_in(region, state)
        {no, state} = region_in(region, state)
        {{yes, no}, {no, Composite.reduce(body, state, &place(&1, yes, &2))}}
      end)

    state = Composite.reduce(last, state, &place(&1, region, &2))
    put_in(state.branches[id], branches)
  end

  defp place_args(t, state) do
    region = Map.fetch!(state.homes, id(t))
    reduce_args(t, state, state.passed, &place(&1, region, &2))
  end

  defp region_in(parent, %{parents: parents} = state) do
    {_, depth} = Map.fetch!(parents, parent)
    region = map_size(parents)
    {region, %{state | parents: Map.put(parents, region, {parent, depth + 1})}}
  end

  defp place(%T{data: %Expr{}} = t, region, %{homes: homes} = state) do
    id = id(t)

    home =
      case homes do
        %{^id => other} -> common(other, region, state.parents)
        _ -> region
      end

    %{state | homes: Map.put(homes, id, home)}
  end

  defp place(_option, _region, state), do: state

  # The innermost region that contains both.
  defp common(region, region, _parents), do: region

  defp common(a, b, parents) do
    {outside_a, depth_a} = Map.fetch!(parents, a)
    {outside_b, depth_b} = Map.fetch!(parents, b)

    cond do
      depth_a > depth_b -> common(outside_a, b, parents)
      depth_a < depth_b -> common(a, outside_b, parents)
      true -> common(outside_a, outside_b, parents)
    end
  end
end
