defmodule NxVulkanGo.Backend.Callbacks do
  @moduledoc false
  # Defines the callbacks of Nx.Backend that a module leaves out and that the op table has: each of them
  # sends one instruction.

  alias NxVulkanGo.Backend.{Attributes, Eager, Literal, Validation}
  alias NxVulkanGo.Ops

  # A callback takes its tensors first, as many as the operation has operands, and
  # then options; where it does not, its arguments are here, tensors as {:tensor, _}.
  @arguments %{
    eye: [:backend_options],
    iota: [:axis, :backend_options],
    squeeze: [{:tensor, :t}, :axes],
    transpose: [{:tensor, :t}, :axes],
    reverse: [{:tensor, :t}, :axes],
    broadcast: [{:tensor, :t}, :shape, :axes],
    pad: [{:tensor, :t}, {:tensor, :value}, :config],
    dot:
      [{:tensor, :l}, :contract_left, :batch_left, {:tensor, :r}] ++
        [:contract_right, :batch_right],
    window_sum: [{:tensor, :t}, :window, :opts],
    window_product: [{:tensor, :t}, :window, :opts],
    window_max: [{:tensor, :t}, :window, :opts],
    window_min: [{:tensor, :t}, :window, :opts],
    window_scatter_max: [{:tensor, :t}, {:tensor, :source}, {:tensor, :initial}, :window, :opts],
    window_scatter_min: [{:tensor, :t}, {:tensor, :source}, {:tensor, :initial}, :window, :opts]
  }

  defmacro __before_compile__(env) do
    done = Module.definitions_in(env.module, :def)

    for {name, arity} <- Nx.Backend.behaviour_info(:callbacks),
        {name, arity} not in done,
        row = Ops.get(name),
        do: callback(name, names(name, arity, row), row)
  end

  defp names(name, arity, row) do
    operands = for i <- 1..row.arity//1, do: {:tensor, :"t#{i}"}
    rest = if arity - 1 > row.arity, do: [:opts], else: []
    Map.get(@arguments, name, operands ++ rest)
  end

  defp callback(name, names, row) do
    out = Macro.var(:out, nil)
    args = Enum.map(names, &variable/1)
    tensors = for {:tensor, _} = name <- names, do: variable(name)
    options = if :backend_options in names, do: variable(:backend_options), else: []
    attrs = Enum.map(row.attrs, &attribute(&1, names, out, tensors))

    there =
      quote do
        Eager.run(
          unquote(name),
          unquote(out),
          unquote(tensors),
          unquote(attrs),
          unquote(options)
        )
      end

    checked =
      if name in Validation.ops(),
        do: quote(do: Validation.check!(unquote(name), unquote(tensors)) && unquote(there)),
        else: there

    here = Literal.quoted(name, names, &variable/1, options)

    quote do
      @impl true
      def unquote(name)(unquote(out), unquote_splicing(args)) do
        _ = unquote(args)
        unquote(here) || unquote(checked)
      end
    end
  end

  defp variable({:tensor, name}), do: Macro.var(name, __MODULE__)
  defp variable(name), do: Macro.var(name, __MODULE__)

  # An attribute is the argument of its name, or else the option.
  defp attribute({attr, _, _} = schema, names, out, tensors) do
    value =
      if attr in names,
        do: variable(attr),
        else:
          quote(
            do:
              Attributes.read_option(
                unquote(attr),
                unquote(variable(:opts)),
                unquote(out),
                unquote(hd(tensors))
              )
          )

    quote(
      do:
        Attributes.encode(
          unquote(Macro.escape(schema)),
          unquote(value),
          unquote(hd(tensors ++ [nil]))
        )
    )
  end
end
