defmodule NxVulkanGo.Compiler.Program do
  @moduledoc false
  # A compiled function: everything that a call needs, and nothing of the
  # expression. It is small enough to be captured by closures and copied between
  # processes: the instructions are one binary off the heap.
  #
  # The key is a hash of the instructions, so that functions that compute the
  # same share a program on the node.

  alias Nx.Defn.Composite
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Compiler.{Lower, Scope, TypeWidening}

  @enforce_keys [:key, :code, :inputs, :captured, :callbacks, :results, :outs, :template]
  defstruct @enforce_keys ++ [loops: false, donated: []]

  @type t :: %__MODULE__{
          key: binary,
          # the region, as term_to_binary/1 gives it
          code: binary,
          # positions of the arguments that are used
          inputs: [non_neg_integer],
          # tensors that the function has captured, by hash of their contents
          captured: [{binary, T.t()}],
          callbacks: tuple,
          # whether a run may take any time
          loops: boolean,
          # of each value that a run gives, type and shape
          results: [T.t()],
          # of each tensor of the template, which result, or its data where it is a constant
          outs: [non_neg_integer | struct],
          # what the function returns
          template: term,
          # which of the inputs a run may take for itself
          donated: [non_neg_integer]
        }

  @doc """
  The program of a container of expressions, with the names of the hooks that
  someone asked for, and the positions of the arguments that are given away.
  """
  @spec new(term, [atom], [non_neg_integer]) :: t
  def new(expr, hooks \\ [], donatable \\ []) do
    expr = TypeWidening.widen_loops(expr)
    outputs = Composite.flatten_list([expr])
    lowered = Lower.lower_program(outputs, hooks)
    {results, values, outs} = split(outputs, lowered.values)
    code = :erlang.term_to_binary({lowered.params, lowered.body, values}, minor_version: 2)

    %__MODULE__{
      key: :crypto.hash(:sha256, code),
      code: code,
      inputs: lowered.inputs,
      captured: lowered.captured,
      callbacks: lowered.callbacks,
      loops: lowered.loops,
      results: results,
      outs: outs,
      template: Composite.traverse(expr, &template/1),
      donated: for({i, at} <- Enum.with_index(lowered.inputs), i in donatable, do: at)
    }
  end

  @doc "The region of a program."
  @spec region(t) :: {list, list, list}
  def region(%__MODULE__{code: code}), do: :erlang.binary_to_term(code)

  # Outputs that are scalar constants need no run, and equal ones share a result.
  defp split(outputs, values) do
    {outs, {results, values, _}} =
      Enum.zip_with(outputs, values, &{&1, &2})
      |> Enum.map_reduce({[], [], %{}}, fn
        {output, {atom, literal}}, acc when is_atom(atom) ->
          {%B{literal: literal, type: output.type, shape: {}}, acc}

        {_output, value}, {_, _, seen} = acc when is_map_key(seen, value) ->
          {seen[value], acc}

        {output, value}, {results, values, seen} ->
          at = map_size(seen)
          {at, {[bare(output) | results], [value | values], Map.put(seen, value, at)}}
      end)

    {Enum.reverse(results), Enum.reverse(values), outs}
  end

  defp bare(t) do
    %T{type: type, shape: shape} = Scope.devectorize(t)
    %T{type: type, shape: shape, names: []}
  end

  # A result is nobody's to give away, though the argument was that it is.
  defp template(t) do
    t = Nx.to_template(t)
    if Map.get(t, :donatable?), do: Map.put(t, :donatable?, false), else: t
  end
end
