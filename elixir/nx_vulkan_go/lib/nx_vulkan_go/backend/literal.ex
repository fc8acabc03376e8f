defmodule NxVulkanGo.Backend.Literal do
  @moduledoc false
  # Tensors whose elements are in the struct, and operations on them.
  #
  # To ask the node for a few numbers takes longer than Nx.BinaryBackend takes to compute them.
  # So what is made in this VM and small stays here, and so does what is computed from nothing
  # else; a loop that counts never waits for the node. Such a tensor has no id and no session.
  # The operation and the sizes decide where a result is computed, never the time. Pointwise
  # and Rows compute the most frequent operations themselves, with the bits of Nx.BinaryBackend.

  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Backend.{Literal, Pieces, Pointwise, ReadCache, Rows}
  alias NxVulkanGo.{Encoding, Options}

  # Nx.BinaryBackend takes up to some 40 µs for this many steps, less than a read of the node.
  @steps_for_each_element 2

  # Operations with more steps for an element than `few_steps?/3` counts.
  @remote [:conv, :fft, :ifft, :triangular_solve, :window_scatter_max, :window_scatter_min]
  # Those that only move elements of their first operand; slices and blocks do so, too.
  @moves [:gather, :indexed_put]
  @windows [:window_sum, :window_product, :window_max, :window_min]

  # Blocks whose default is made of a few operations, and those whose steps are the square of
  # the elements.
  @blocks [Nx.Block.LogicalNot, Nx.Block.Phase, Nx.Block.AllClose, Nx.Block.TopK]
  @picking [Nx.Block.Take, Nx.Block.TakeAlongAxis]
  @square [Nx.Block.CumulativeSum, Nx.Block.CumulativeProduct] ++
            [Nx.Block.CumulativeMin, Nx.Block.CumulativeMax]

  @compile {:inline, new: 3, keep: 3}

  @doc "Makes a tensor like `out` of encoded elements."
  @spec new(T.t(), binary, keyword) :: T.t()
  def new(%T{type: type, shape: shape} = out, data, options),
    do: %{out | data: %B{literal: data, type: type, shape: shape, options: options}}

  @doc "Whether a tensor like `out` that is made of elements of this VM stays here."
  @spec stays?(T.t()) :: boolean
  def stays?(%T{shape: {}}), do: Options.vm_limit() > 0
  def stays?(%T{shape: shape}), do: Tuple.product(shape) <= Options.vm_limit()

  @doc "Whether an operand is in this VM and small."
  @spec here?(T.t()) :: boolean
  def here?(%T{data: %B{id: nil, session: nil}, shape: {}}), do: true
  def here?(%T{data: %B{id: nil, session: nil}} = tensor), do: stays?(tensor)
  def here?(%T{data: %Nx.BinaryBackend{}} = tensor), do: stays?(tensor)
  def here?(%T{}), do: false

  # A tensor whose elements are known may be larger: see ReadCache.
  defp known?(%T{data: %B{id: nil, session: nil}}), do: true
  defp known?(tensor), do: here?(tensor)

  @doc """
  Computes an operation by `fun` if its tensors and its `starts`, numbers or scalars, are in this
  VM and its result stays here; otherwise returns nil. `fun` takes tensors of
  `Nx.BinaryBackend`, and numbers.
  """
  @spec run(T.t(), [T.t()], [integer | T.t()], ([T.t()], [integer] -> T.t())) :: T.t() | nil
  def run(out, tensors, starts, fun) do
    scalars = Enum.filter(starts, &is_struct(&1, T))

    if Enum.all?(tensors ++ scalars, &here?/1) and stays?(out) do
      compute(out, options(tensors), fn ->
        fun.(Enum.map(tensors, &operand/1), Enum.map(starts, &number/1))
      end)
    end
  end

  @doc """
  Computes an operation that moves elements of its first tensor, as `run/4` does. That tensor may be one
  whose elements are known, of any size, and the result has no more of them or stays here.
  """
  @spec move(T.t(), [T.t()], [integer | T.t()], ([T.t()], [integer] -> T.t())) :: T.t() | nil
  def move(out, tensors, starts, fun) do
    {[first | rest] = tensors, starts} =
      (tensors ++ starts) |> ReadCache.operands() |> Enum.split(length(tensors))

    scalars = Enum.filter(starts, &is_struct(&1, T))

    if known?(first) and Enum.all?(rest ++ scalars, &here?/1) and moves?(out, first) do
      compute(out, options(tensors), fn ->
        fun.(Enum.map(tensors, &operand/1), Enum.map(starts, &number/1))
      end)
    end
  end

  defp moves?(out, first), do: stays?(out) or Nx.size(out) <= Nx.size(first)

  defp number(start) when is_integer(start), do: start
  defp number(start), do: Nx.to_number(start)

  @doc """
  Makes the code of a callback that computes the operation `op` in this VM, or nil where it is not
  of this VM. `names` are those of its arguments, `{:tensor, name}` of an operand; `variable` gives
  the variable of one. `options` is the variable of the backend's options, or [].
  """
  @spec quoted(atom, [atom | {:tensor, atom}], (atom | {:tensor, atom} -> Macro.t()), Macro.t()) ::
          Macro.t()
  def quoted(op, _names, _variable, _options) when op in @remote, do: nil

  def quoted(op, names, variable, options) do
    out = Macro.var(:out, nil)
    variables = Enum.map(names, variable)
    tensors = for {:tensor, _} = name <- names, do: variable.(name)

    conditions =
      for(tensor <- tensors, do: quote(do: Literal.here?(unquote(tensor)))) ++
        [quote(do: Literal.stays?(unquote(out)) and unquote(options) != :program)] ++
        for ^op <- [:dot | @windows],
            do: quote(do: Literal.few_steps?(unquote(op), unquote(out), unquote(variables)))

    args =
      Enum.map(names, fn
        {:tensor, _} = name -> quote(do: Literal.operand(unquote(variable.(name))))
        name -> variable.(name)
      end)

    general =
      quote do
        if unquote(Enum.reduce(conditions, &quote(do: unquote(&2) and unquote(&1)))) do
          Literal.compute(
            unquote(out),
            Literal.options(unquote(tensors), unquote(options)),
            fn -> Nx.BinaryBackend.unquote(op)(unquote(out), unquote_splicing(args)) end
          )
        end
      end

    cond do
      op in Pointwise.ops() ->
        quote(
          do:
            Literal.pointwise(unquote(op), unquote(out), unquote_splicing(tensors)) ||
              unquote(general)
        )

      op in Rows.ops() ->
        quote(
          do:
            Literal.rows(unquote(op), unquote(out), unquote_splicing(variables)) ||
              unquote(general)
        )

      op in [:reshape, :squeeze] ->
        quote(do: Literal.view(unquote(out), unquote_splicing(tensors)) || unquote(general))

      op in @moves ->
        there = quote(do: Nx.BinaryBackend.unquote(op)(unquote(out), unquote_splicing(variables)))
        piece = quote(do: Pieces.unquote(op)(unquote(out), unquote_splicing(variables)))
        here = if op == :indexed_put, do: quote(do: unquote(piece) || unquote(there)), else: there

        quote do
          Literal.move(unquote(out), unquote(tensors), [], fn unquote(tensors), [] ->
            unquote(here)
          end)
        end

      true ->
        general
    end
  end

  @doc "Returns `out` with the elements of a tensor of this VM, or nil if it is not of this VM."
  @spec view(T.t(), T.t()) :: T.t() | nil
  def view(%T{shape: shape} = out, %T{data: %B{literal: elements} = data})
      when is_binary(elements),
      do: %{out | data: %{data | shape: shape}}

  def view(_out, _tensor), do: nil

  @doc """
  Computes an operation of `Pointwise` on tensors of this VM, of the same shape or with a scalar.
  Returns nil where it is not of these: `Nx.BinaryBackend` computes it, or the node.
  """
  @spec pointwise(atom, T.t(), T.t(), T.t()) :: T.t() | nil
  def pointwise(
        op,
        %T{type: type} = out,
        %T{type: s, shape: left, data: %B{literal: xs, options: options}},
        %T{type: t, shape: right, data: %B{literal: ys, options: others}}
      )
      when is_binary(xs) and is_binary(ys) do
    data =
      cond do
        not stays?(out) -> nil
        left == right and s == t -> Pointwise.elements(op, s, type, xs, ys)
        right == {} -> with_number(op, s, type, xs, Pointwise.number(t, ys))
        left == {} -> with_number(op, t, type, Pointwise.number(s, xs), ys)
        true -> nil
      end

    data && new(out, data, if(options == [], do: others, else: options))
  end

  def pointwise(_op, _out, _left, _right), do: nil

  defp with_number(_op, _type, _out, nil, _right), do: nil
  defp with_number(_op, _type, _out, _left, nil), do: nil
  defp with_number(op, type, out, left, right), do: Pointwise.elements(op, type, out, left, right)

  @doc """
  Computes an operation of `Rows` on a tensor of this VM, along all of its axes or the last ones.
  Returns nil where it is not of these: `Nx.BinaryBackend` computes it, or the node.
  """
  @spec rows(atom, T.t(), T.t(), keyword) :: T.t() | nil
  def rows(
        op,
        %T{type: type} = out,
        %T{type: t, shape: shape, data: %B{literal: xs, options: options}},
        opts
      )
      when is_binary(xs) do
    count = stays?(out) && Rows.length(shape, opts[:axes])
    data = count && Rows.elements(op, t, type, xs, count)
    data && new(out, data, options)
  end

  def rows(_op, _out, _tensor, _opts), do: nil

  @doc "Whether an operation with so few elements has few steps. `args` are those of its callback."
  @spec few_steps?(atom, T.t(), list) :: boolean
  def few_steps?(:dot, %T{shape: shape}, [%T{shape: left}, contracted | _]),
    do: Enum.reduce(contracted, Tuple.product(shape), &(elem(left, &1) * &2)) <= most_steps()

  def few_steps?(_window, %T{shape: shape}, [_tensor, window | _]),
    do: Tuple.product(shape) * Tuple.product(window) <= most_steps()

  @doc """
  Computes a block by `fun`, its default, if its tensors are in this VM and it has few steps;
  otherwise returns nil.
  """
  @spec block(struct, T.t() | tuple, [term], [T.t()], fun) :: T.t() | tuple | nil
  def block(%module{} = struct, out, args, tensors, fun) do
    cond do
      module in @picking ->
        # Their arguments are tensors.
        move(out, args, [], fn args, [] -> by_default(struct, args, fun) end)

      few_steps_of_block?(module, tensors) and Enum.all?(tensors, &here?/1) and all_stay?(out) ->
        args = for arg <- args, do: if(is_struct(arg, T), do: operand(arg), else: arg)
        compute(out, options(tensors), fn -> by_default(struct, args, fun) end)

      true ->
        nil
    end
  end

  defp by_default(struct, args, fun),
    do: Nx.with_default_backend(Nx.BinaryBackend, fn -> apply(fun, [struct | args]) end)

  defp few_steps_of_block?(module, _tensors) when module in @blocks, do: true

  defp few_steps_of_block?(module, [%T{shape: shape} | _]) when module in @square,
    do: Tuple.product(shape) ** 2 <= most_steps()

  defp few_steps_of_block?(_module, _tensors), do: false

  defp all_stay?(%T{} = out), do: stays?(out)
  defp all_stay?(outs), do: outs |> Tuple.to_list() |> Enum.all?(&stays?/1)

  defp most_steps, do: @steps_for_each_element * Options.vm_limit()

  @doc """
  Computes `out`, a template or a tuple of them, by a function that returns tensors of
  `Nx.BinaryBackend`. Returns nil where that backend raises, as for an index out of bounds, or
  returns too few elements, as for a window that does not fit: the operation is then the
  node's, which keeps an error for whoever reads the result.
  """
  @spec compute(T.t() | tuple, keyword, (-> T.t() | tuple)) :: T.t() | tuple | nil
  def compute(out, options, fun) do
    keep(out, fun.(), options)
  rescue
    _error -> nil
  end

  # The elements of a scalar are as many as its type says.
  defp keep(%T{shape: {}, type: {_, size}} = out, %T{data: %{state: bits}}, options)
       when bit_size(bits) == size and size >= 8,
       do: new(out, bits, options)

  defp keep(%T{type: {_, size} = type, shape: shape} = out, %T{data: data}, options) do
    %Nx.BinaryBackend{state: bits} = data
    true = bit_size(bits) == Tuple.product(shape) * size
    new(out, Encoding.encode(bits, type), options)
  end

  defp keep(outs, results, options) do
    Enum.zip_with(Tuple.to_list(outs), Tuple.to_list(results), &keep(&1, &2, options))
    |> List.to_tuple()
  end

  @doc "Returns an operand as a tensor of `Nx.BinaryBackend`."
  @spec operand(T.t()) :: T.t()
  def operand(%T{type: {_, size}, data: %B{literal: data}} = tensor) when size >= 8,
    do: %{tensor | data: %Nx.BinaryBackend{state: data}}

  def operand(%T{type: type, data: %B{literal: data}} = tensor),
    do: %{tensor | data: %Nx.BinaryBackend{state: Encoding.decode(data, type)}}

  def operand(%T{data: %Nx.BinaryBackend{}} = tensor), do: tensor

  @doc """
  Returns the options of the first operand that has some, or else the given ones: where the result
  goes when it is combined with a tensor that is not of this VM.
  """
  @spec options([T.t()], keyword) :: keyword
  def options(tensors, options \\ [])
  def options([%T{data: %B{options: [_ | _] = options}} | _], _options), do: options
  def options([_ | rest], options), do: options(rest, options)
  def options([], options), do: Options.backend!(options)
end
