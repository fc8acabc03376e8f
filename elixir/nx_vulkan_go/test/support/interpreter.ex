defmodule NxVulkanGo.Interpreter do
  @moduledoc false
  # Carries out programs, as gen/README.md describes them, by Nx.BinaryBackend in
  # this VM: what the node must do, in the plainest way. It shares no code with
  # the compiler but the table of operations.

  alias NxVulkanGo.{Encoding, Ops}

  @doc """
  The values of a region for tensors as arguments. `answer` is called with
  `{:hook, index, tensors}` and `{:callback, index, tensors}`; for the latter it
  gives the bytes of the results, as they are on the wire.
  """
  def run({params, body, values}, args, answer \\ fn _ -> raise "nobody answers" end) do
    Nx.with_default_backend(Nx.BinaryBackend, fn ->
      region({params, body, values}, args, %{}, answer)
    end)
  end

  @doc "The results of one instruction of the stream."
  def step(op, results, tensors, attrs) do
    Nx.with_default_backend(Nx.BinaryBackend, fn ->
      compute(op, templates(results), tensors, attrs, %{}, fn _ -> raise "nobody answers" end)
    end)
  end

  defp region({params, body, values}, args, env, answer) do
    env = define(env, params, args)
    env = Enum.reduce(body, env, &instruction(&1, &2, answer))
    Enum.map(values, &operand(&1, env))
  end

  # Types and shapes must be what is stated, and an id is defined once.
  defp define(env, results, tensors) do
    if length(results) != length(tensors), do: raise("#{length(tensors)} for #{inspect(results)}")

    Enum.zip_reduce(results, tensors, env, fn {id, type, shape}, t, env ->
      if {Encoding.type_to_atom(t.type), t.shape} != {type, shape},
        do:
          raise("value #{id} is #{inspect({t.type, t.shape})}, stated #{inspect({type, shape})}")

      if is_map_key(env, id), do: raise("value #{id} is defined twice")
      Map.put(env, id, t)
    end)
  end

  defp operand(id, env) when is_integer(id), do: Map.fetch!(env, id)
  defp operand({type, data}, _env), do: tensor({type, {}, data})
  defp operand({_type, _shape, _data} = literal, _env), do: tensor(literal)

  defp templates(results),
    do: for({_, type, shape} <- results, do: template(Encoding.atom_to_type(type), shape))

  @doc "A literal as a tensor."
  def tensor({type, shape, data}) do
    type = Encoding.atom_to_type(type)
    Nx.BinaryBackend.from_binary(template(type, shape), Encoding.decode(data, type), [])
  end

  defp template(type, shape),
    do: %Nx.Tensor{type: type, shape: shape, names: List.duplicate(nil, tuple_size(shape))}

  defp instruction({op, results, operands, attrs}, env, answer) do
    tensors = Enum.map(operands, &operand(&1, env))
    define(env, results, compute(op, templates(results), tensors, attrs, env, answer))
  end

  ## Control flow

  defp compute(:while, outs, state, [condition, body] = regions, env, answer) do
    [holds] = region(condition, state, env, answer)

    if Nx.to_number(holds) == 0,
      do: state,
      else: compute(:while, outs, region(body, state, env, answer), regions, env, answer)
  end

  defp compute(:branch, _outs, [pred], [yes, no], env, answer) do
    region(if(Nx.to_number(pred) == 0, do: no, else: yes), [], env, answer)
  end

  defp compute(:hook, [], tensors, [index], _env, answer) do
    answer.({:hook, index, tensors})
    []
  end

  defp compute(:callback, outs, tensors, [index], _env, answer) do
    for {out, data} <- Enum.zip(outs, answer.({:callback, index, tensors})),
        do: tensor({Encoding.type_to_atom(out.type), out.shape, data})
  end

  defp compute(op, [out], [t, initial], attrs, _env, answer)
       when op in [:reduce, :window_reduce] do
    {attrs, [function]} = Enum.split(attrs, -1)
    fun = fn x, acc -> hd(region(function, [scalar(x, out), scalar(acc, out)], %{}, answer)) end
    opts = named(op, attrs)

    args =
      if op == :reduce,
        do: [out, t, initial, opts, fun],
        else: [out, t, initial, List.to_tuple(opts[:window]), opts, &Nx.to_number(fun.(&1, &2))]

    [apply(Nx.BinaryBackend, op, args)]
  end

  defp compute(op, outs, tensors, attrs, _env, _answer) do
    opts = named(op, attrs)

    case operation(op, outs, tensors, opts) do
      %Nx.Tensor{} = t -> [t]
      tuple -> Tuple.to_list(tuple)
    end
  end

  defp scalar(%Nx.Tensor{} = t, _out), do: t
  defp scalar(number, out), do: Nx.tensor(number, type: out.type)

  defp named(op, attrs) do
    names = for {name, kind, _} <- Ops.get(op).attrs, kind != :region, do: name
    Enum.zip(names, attrs)
  end

  ## Operations that are functions of Nx, with their attributes as options

  @functions [:take, :take_along_axis, :cumulative_sum, :cumulative_product, :cumulative_min] ++
               [:cumulative_max, :fft2, :ifft2, :rfft, :irfft, :top_k] ++
               [:logical_not, :phase]
  @factors [:cholesky, :solve, :qr, :eigh, :svd, :lu, :determinant]

  defp operation(op, _outs, tensors, opts) when op in @functions do
    opts =
      for {name, value} <- opts, not (name in [:axis, :length] and value == -1), do: {name, value}

    opts = if op in [:fft2, :ifft2, :rfft, :irfft], do: Keyword.delete(opts, :eps), else: opts
    apply(Nx, op, tensors ++ if(opts == [], do: [], else: [opts]))
  end

  defp operation(op, _outs, tensors, opts) when op in @factors do
    opts =
      for {name, value} <- opts,
          do: {if(name == :full_matrices, do: :full_matrices?, else: name), value}

    apply(Nx.LinAlg, op, tensors ++ if(opts == [], do: [], else: [opts]))
  end

  ## Operations that are callbacks, with their arguments in the order of these

  defp operation(op, [out], tensors, opts),
    do: apply(Nx.BinaryBackend, op, [out | arguments(op, out, tensors, opts)])

  defp arguments(:constant, _out, [t], []), do: [Nx.to_number(t), []]
  defp arguments(:eye, _out, [], []), do: [[]]
  defp arguments(:iota, _out, [], axis: axis), do: [absent(axis), []]

  defp arguments(op, _out, [t], axes: axes) when op in [:squeeze, :transpose, :reverse],
    do: [t, axes]

  defp arguments(:broadcast, out, [t], axes: axes), do: [t, out.shape, axes]
  defp arguments(:pad, _out, [t, value], config: config), do: [t, value, config]

  defp arguments(:dot, _out, [l, r], opts) do
    [l, opts[:contract_left], opts[:batch_left], r, opts[:contract_right], opts[:batch_right]]
  end

  defp arguments(:slice, _out, [t | starts], opts) do
    starts = if starts == [], do: opts[:starts], else: starts
    [t, starts, opts[:lengths], opts[:strides]]
  end

  defp arguments(:put_slice, _out, [t, slice | starts], opts),
    do: [t, if(starts == [], do: opts[:starts], else: starts), slice]

  defp arguments(op, _out, tensors, axis: axis) when op in [:concatenate, :stack],
    do: [tensors, axis]

  defp arguments(op, _out, tensors, [{:window, window} | opts]) do
    true = op |> Atom.to_string() |> String.starts_with?("window_")
    tensors ++ [List.to_tuple(window), opts]
  end

  defp arguments(op, _out, [t], opts) when op in [:argmax, :argmin],
    do: [t, Keyword.update!(opts, :axis, &absent/1)]

  # Nx.BinaryBackend takes no empty list of axes for a scalar.
  defp arguments(op, _out, [%Nx.Tensor{shape: {}} = t], axes: [], keep_axes: keep)
       when op in [:sum, :product, :reduce_max, :reduce_min, :all, :any],
       do: [t, [axes: nil, keep_axes: keep]]

  defp arguments(_op, _out, tensors, []), do: tensors
  defp arguments(_op, _out, tensors, opts), do: tensors ++ [opts]

  defp absent(-1), do: nil
  defp absent(axis), do: axis
end
