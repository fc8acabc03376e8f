defmodule NxVulkanGo.Compiler do
  @moduledoc """
  Compiles whole functions: `compiler: NxVulkanGo`.

      Nx.Defn.default_options(compiler: NxVulkanGo)
      Nx.Defn.jit(&MyModule.step/2, compiler: NxVulkanGo).(params, batch)

  A function is traced once for the types of its arguments and becomes a program,
  which the node gets once. A call is then one message, with the arguments that
  are not on the device yet; loops and branches run on the node and ask nobody.
  As with `NxVulkanGo.Backend`, a call does not wait for its results: an error of
  the device is raised where one of them is read. A loop that has not ended is
  cancelled when nobody refers to its results any more, or all have been given to
  `Nx.backend_deallocate/1`. A function is traced again when its module, or one that it
  calls, has been replaced, as by a Livebook cell that runs again. Arguments that Nx marks as donatable are freed by the
  message that uses them, so the node may compute in their memory.

  ## Options

    * `:device`, `:server` - where to run, as for the backend. Without them a
      program runs where its arguments are
    * `:hooks` - functions for named hooks, as `Nx.Defn` has it
    * `:callback_timeout` - how long a function of `Nx.runtime_call/4` may take, in milliseconds
      (default 300,000)

  Options of Nx, EXLA and Axon that mean nothing here are ignored, by the list of
  `NxVulkanGo.Options`; others raise `ArgumentError`.

  ## Hooks and runtime calls

  Both get tensors of `Nx.BinaryBackend`. A hook runs in the calling process, which
  waits until all hooks have run. The function of `Nx.runtime_call/4` runs in a
  process of its own, with `Nx.BinaryBackend` as its default backend; the device
  waits for it, so it must not wait for tensors of that device. Whatever these
  functions raise is raised by the call, and ends the run.

  ## What cannot be compiled

  A function with an operation that the node does not know is run by
  `Nx.Defn.Evaluator`. That is an event, `[:nx_vulkan_go, :compiler, :fallback]`, and
  `config :nx_vulkan_go, fallback: :warn | :raise` says what else it is; see
  `NxVulkanGo.Fallback`.

  What two branches of different conds share is computed before them, whether one
  of them is taken or not; what only one needs is computed there.
  """

  alias Nx.Defn.{Composite, Evaluator}
  alias NxVulkanGo.Compiler.{Cache, Program, Run}
  alias NxVulkanGo.{Explanation, Fallback, Options, Session, Telemetry}
  alias NxVulkanGo.Session.Registry

  @doc false
  def jit(key, vars, fun, args_list, options) do
    own = Options.compiler!(options)

    case compiled(key, vars, fun, own) do
      %Program{} = program ->
        for args <- args_list, do: Run.run(program, args, own)

      {:unsupported, reason} ->
        fallback(key, reason)
        Evaluator.__jit__(key, vars, fun, args_list, options)
    end
  end

  @doc false
  def compile(key, vars, fun, options) do
    own = Options.compiler!(options)

    case compiled(key, vars, fun, own) do
      %Program{} = program ->
        fn args_list -> for args <- args_list, do: Run.run(program, args, own) end

      {:unsupported, reason} ->
        fallback(key, reason)
        Evaluator.__compile__(key, vars, fun, options)
    end
  end

  # The function is called in the caller's process, and only where nobody has
  # called one like it with arguments of these types.
  defp compiled(key, vars, fun, options) do
    hooks = names(options)

    Cache.fetch({key, types(vars), hooks}, fn ->
      Telemetry.span([:compile], %{function: key}, fn -> build(fun.(vars), hooks, vars) end)
    end)
  end

  @doc false
  def explain(fun, args, options) do
    options = Options.explain!(options)
    program = fun |> Nx.Defn.debug_expr_apply(args) |> build(names(options), [])
    %Explanation{program: program, parts: parts(program, options)}
  end

  defp parts(%Program{key: key} = program, options) do
    session = Registry.fetch!(options)
    request = if options[:profile], do: {:explain, key, :profile}, else: {:explain, key}
    for part <- Session.call!(session, request, program), do: Map.put_new(part, :measured, nil)
  end

  defp parts({:unsupported, _reason}, _options), do: []

  # Hooks that someone asked for.
  defp names(options),
    do: for({name, hook} <- Keyword.get(options, :hooks, %{}), hook != nil, do: name)

  @doc false
  # The program of an expression, or why there is none.
  @spec build(term, [atom], [term]) :: Program.t() | {:unsupported, String.t()}
  def build(expr, hooks, vars) do
    Program.new(expr, hooks, donatable(vars))
  catch
    {:unsupported, _reason} = unsupported -> unsupported
  end

  defp types(vars) do
    for var <- vars do
      Composite.traverse(var, fn t ->
        {t.type, t.shape, t.names, t.vectorized_axes, donatable?(t)}
      end)
    end
  end

  defp donatable(vars) do
    for {t, i} <- Enum.with_index(Composite.flatten_list(vars)), donatable?(t), do: i
  end

  # Nx has had this field since 0.14.
  defp donatable?(t), do: Map.get(t, :donatable?, false)

  # The same for all closures of one place, of which there may be any number.
  defp named(fun) when is_function(fun),
    do: for(item <- [:module, :name, :arity], do: elem(Function.info(fun, item), 1))

  defp named(key), do: key

  defp fallback(key, reason) do
    Telemetry.execute([:compiler, :fallback], %{count: 1}, %{function: key, reason: reason})
    Fallback.apply_policy!(named(key), "#{inspect(key)} is run by Nx.Defn.Evaluator: #{reason}")
  end
end
