defmodule NxVulkanGo.Compiler.Program do
  @moduledoc false
  # A compiled function: everything that a call needs, and nothing of the expression unless it has
  # a few operations on few elements. It is small enough to be captured by closures and copied
  # between processes: the instructions are one binary off the heap.
  #
  # The key is a hash of the instructions, so functions with the same instructions share a
  # program on the node.

  alias Nx.Defn.Composite
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Compiler.{Lower, Scope, Small, TypeWidening}

  @enforce_keys [:key, :code, :inputs, :captured, :callbacks, :results, :outs, :template]
  defstruct @enforce_keys ++ [:small, loops: false, donated: []]

  @type t :: %__MODULE__{
          key: binary,
          # the region, in external term format
          code: binary,
          # positions of the arguments that are used
          inputs: [non_neg_integer],
          # tensors that the function has captured, by hash of their contents
          captured: [{binary, T.t()}],
          callbacks: tuple,
          # whether a run may take any time
          loops: boolean,
          # type and shape of each result of a run
          results: [T.t()],
          # for each tensor of the template the index of its result, or its data for a constant
          outs: [non_neg_integer | struct],
          # the container that the function returns
          template: term,
          # the inputs whose memory a run may overwrite
          donated: [non_neg_integer],
          # what computes a call with few elements in this VM
          small: Small.t() | nil
        }

  @doc """
  Makes the program of a container of expressions. `hooks` are the names of hooks with a
  function; `donatable` are the positions of arguments that the run may overwrite.
  """
  @spec new(term, [atom], [non_neg_integer]) :: t
  def new(expr, hooks \\ [], donatable \\ []) do
    expr = TypeWidening.widen_loops(expr)
    outputs = Composite.flatten_list([expr])
    lowered = Lower.lower_program(outputs, hooks)
    {unique, values, outs} = split(outputs, lowered.values)
    code = :erlang.term_to_binary({lowered.params, lowered.body, values}, minor_version: 2)

    %__MODULE__{
      key: :crypto.hash(:sha256, code),
      code: code,
      inputs: lowered.inputs,
      captured: lowered.captured,
      callbacks: lowered.callbacks,
      loops: lowered.loops,
      results: Enum.map(unique, &bare/1),
      small: Small.new(unique, lowered),
      outs: outs,
      template: Composite.traverse(expr, &template/1),
      donated: for({i, at} <- Enum.with_index(lowered.inputs), i in donatable, do: at)
    }
  end

  @doc "Returns the region of a program."
  @spec region(t) :: {list, list, list}
  def region(%__MODULE__{code: code}), do: :erlang.binary_to_term(code)

  # Outputs that are scalar constants need no run, and equal outputs share a result.
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
          {at, {[output | results], [value | values], Map.put(seen, value, at)}}
      end)

    {Enum.reverse(results), Enum.reverse(values), outs}
  end

  defp bare(t) do
    %T{type: type, shape: shape} = Scope.devectorize(t)
    %T{type: type, shape: shape, names: []}
  end

  # A result is not donatable, even where it is an argument that was.
  defp template(t) do
    t = Nx.to_template(t)
    if Map.get(t, :donatable?), do: Map.put(t, :donatable?, false), else: t
  end
end
