defmodule NxVulkanGo.Compiler.TypeWidening do
  @moduledoc false
  # Widens the state of loops whose body computes a wider float than the state has. Nx refuses
  # such loops in functions, but writes them itself: the gradient of a loop begins with f32
  # zeros where nothing outside needs a part of the state. The state, and what is computed from
  # it, then has the wider type from the beginning, as where Nx.Defn.Evaluator runs the loop.
  # Expressions without such a loop are returned unchanged.

  alias Nx.Defn.{Composite, Expr, Tree}
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Compiler.Scope

  # Operations with a type of their own, or with code that depends on the types of arguments.
  @strict [:as_type, :bitcast, :block, :reduce, :window_reduce, :fun] ++
            [:hook, :io_call, :runtime_call]

  @doc "Returns a container of the same values, some with wider types."
  @spec widen_loops(term) :: term
  def widen_loops(expr) do
    outputs = flat(expr)

    if Enum.any?(Scope.new(outputs).order, &narrow?/1),
      do: outputs |> scope(%{}) |> like(expr),
      else: expr
  end

  # Whether a loop, or one within it, has a body that gives wider floats.
  defp narrow?(%T{data: %Expr{op: :while, args: [_initial, arg, condition, body]}}) do
    body = flat(body)

    types(flat(arg)) != types(body) or
      Enum.any?(Scope.new([condition | body]).order, &narrow?/1)
  end

  defp narrow?(%T{data: %Expr{op: :block, args: [_, _, default, _]}}),
    do: Enum.any?(Scope.new(flat(default)).order, &narrow?/1)

  defp narrow?(_t), do: false

  # The outputs of a scope in which some parameters have other types.
  defp scope(outputs, params) do
    known =
      Scope.new(outputs).order
      |> Enum.reverse()
      |> Enum.reduce(%{}, &Map.put(&2, Scope.id(&1), node(&1, &2, params)))

    Enum.map(outputs, &known_as(&1, known))
  end

  defp known_as(t, known), do: Map.get(known, Scope.id(t), t)

  defp node(%T{data: %Expr{op: :parameter, args: [i]}} = t, _known, params),
    do: retype(t, Map.get(params, i, t.type))

  defp node(%T{data: %Expr{op: :while}} = t, known, _params), do: loop(t, known)

  defp node(%T{data: %Expr{op: :cond}} = t, known, _params), do: branch(t, known)

  defp node(%T{data: %Expr{op: :elem, args: [tuple, i]} = data} = t, known, _params) do
    tuple = known_as(tuple, known)
    t = %{t | data: %{data | args: [tuple, i]}}

    case tuple do
      %T{data: %Expr{op: :while, args: [_, arg, _, _]}} -> retype(t, nth(arg, i).type)
      %T{data: %Expr{op: :cond, args: [_, last]}} -> retype(t, nth(last, i).type)
      %T{data: %Expr{op: :metadata, args: [inner, _]}} -> retype(t, nth(inner, i).type)
      _ -> t
    end
  end

  defp node(%T{data: %Expr{op: op} = data} = t, known, _params) do
    strict? = op in @strict and op != :as_type

    {args, type} =
      Tree.apply_args(t, :scope, t.type, fn
        %T{data: %Expr{}} = old, type ->
          new = known_as(old, known)

          cond do
            new.type == old.type -> {new, type}
            strict? -> {hd(cast([new], [old.type])), type}
            true -> {new, wider(type, new.type)}
          end

        option, type ->
          {option, type}
      end)

    t = %{t | data: %{data | args: args}}
    if op in @strict, do: t, else: retype(t, type)
  end

  defp loop(%T{data: %Expr{args: [initial, arg, condition, body]} = data} = t, known) do
    initial = for t <- flat(initial), do: known_as(t, known)
    wide = Enum.zip_with(types(initial), types(flat(arg)), &wider(&2, &1))
    {wide, [new_condition | new_body]} = settle([condition | flat(body)], wide)

    args = [
      initial |> cast(wide) |> like(arg),
      arg |> flat() |> Enum.zip_with(wide, &retype/2) |> like(arg),
      new_condition,
      new_body |> cast(wide) |> like(body)
    ]

    t = %{t | data: %{data | args: args}}
    if match?({:tuple, _}, t.type), do: t, else: retype(t, hd(wide))
  end

  # All clauses give the widest of their types.
  defp branch(%T{data: %Expr{args: [clauses, last]} = data} = t, known) do
    bodies = for body <- [last | Enum.map(clauses, &elem(&1, 1))], do: flat(body)
    [new_last | new_bodies] = for body <- bodies, do: Enum.map(body, &known_as(&1, known))

    wide =
      Enum.reduce(
        new_bodies,
        types(new_last),
        &Enum.zip_with(&2, types(&1), fn a, b -> wider(a, b) end)
      )

    clauses =
      Enum.zip_with(clauses, new_bodies, fn {pred, body}, new ->
        {known_as(pred, known), new |> cast(wide) |> like(body)}
      end)

    t = %{t | data: %{data | args: [clauses, new_last |> cast(wide) |> like(last)]}}
    if match?({:tuple, _}, t.type), do: t, else: retype(t, hd(wide))
  end

  # The types that the state of a loop has in the end, and what computes it then.
  defp settle(outputs, wide) do
    params = wide |> Enum.with_index() |> Map.new(fn {type, i} -> {i, type} end)
    [_condition | body] = new = scope(outputs, params)

    case Enum.zip_with(wide, types(body), &wider/2) do
      ^wide -> {wide, new}
      wider -> settle(outputs, wider)
    end
  end

  # Floats and complex numbers become wider; other types stay as they are.
  defp wider({kind, _} = type, {other, _} = by)
       when kind in [:f, :bf, :f8, :f8_e4m3fn, :c] and other in [:f, :bf, :f8, :f8_e4m3fn, :c],
       do: Nx.Type.merge(type, by)

  defp wider(type, _by), do: type

  defp retype(%T{type: type} = t, type), do: t
  defp retype(t, type), do: %{t | type: type}

  defp cast(tensors, types) do
    Enum.zip_with(tensors, types, fn
      %T{type: type} = t, type -> t
      t, type -> Nx.as_type(t, type)
    end)
  end

  defp nth(container, i), do: container |> flat() |> Enum.at(i)

  defp types(tensors), do: Enum.map(tensors, & &1.type)

  defp flat(container), do: Composite.flatten_list([container])

  # The tensors in the places that those of a container have.
  defp like(tensors, container) do
    {new, []} = Composite.traverse(container, tensors, fn _, [t | rest] -> {t, rest} end)
    new
  end
end
