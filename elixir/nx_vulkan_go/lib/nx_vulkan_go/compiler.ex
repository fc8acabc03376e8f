defmodule NxVulkanGo.Compiler do
  @moduledoc """
  Compiles whole functions: `compiler: NxVulkanGo`.

      Nx.Defn.default_options(compiler: NxVulkanGo)
      Nx.Defn.jit(&MyModule.step/2, compiler: NxVulkanGo).(params, batch)

  A function is traced once for the types and shapes of its arguments. The program that
  results is sent to the node once. A call is then one message, with the arguments that
  are not on the device yet. Loops and branches run on the node.

  A call of a few operations on few elements, whose arguments are all in this VM, is computed
  there, as single operations are: see the guide "Where numbers are computed". Any other call is
  sent to the node.

  A call does not wait for its results, as with `NxVulkanGo.Backend`: an error of the
  device is raised where a result is read. A loop that runs is cancelled when nothing refers
  to its results any more, or when all have been given to `Nx.backend_deallocate/1`. The
  node may compute in the memory of arguments that Nx marks as donatable.

  A function is traced again when its module, or a module that it calls, is replaced: by a
  Livebook cell that runs again, or by `recompile/0` of IEx.

  ## Options

    * `:device`, `:server` - where to run, as for the backend. By default a program runs
      where its arguments are
    * `:hooks` - a map of functions for named hooks, as in `Nx.Defn`
    * `:callback_timeout` - milliseconds that a function of `Nx.runtime_call/4` may take
      (default: 300,000)

  Options of Nx, EXLA and Axon without an effect here are ignored; `NxVulkanGo.Options`
  lists them. Others raise `ArgumentError`.

  ## Hooks and runtime calls

  Both get tensors of `Nx.BinaryBackend`. A hook runs in the calling process; the call
  returns when all hooks have run. The function of `Nx.runtime_call/4` runs in a process of
  its own, with `Nx.BinaryBackend` as its default backend. The device waits for it, so it
  must not read tensors of that device. An exception of these functions ends the run and is
  raised by the call.

  ## Functions that cannot be compiled

  `Nx.Defn.Evaluator` runs a function with an operation that the node does not know. See
  `NxVulkanGo.Fallback` for the event, the warning, and how to make this an error.

  ## Attention

  `softmax(Q·Kᵀ)·V` in a compiled function, with a scale, masks and biases, is one kernel on a GPU
  where its scores would be too large to store, about 4 GiB, or take longer to move than to
  compute. Its memory is linear in the length. Types are f32, bf16 and f16; values have up to 256
  columns. For K keys, queries of D elements and values below 2^127 / K, a result is within
  4·(K + D·S + 64)·2⁻²⁴ of that of the separate operations, relative to the greatest magnitude of
  the values. S, at least 1, is the greatest sum of the magnitudes of a logit's terms. The
  roundings of bf16 and f16 between the operations add 2⁻⁸·(4 + S) and 2⁻¹¹·(4 + S). A row whose
  mask excludes everything by -Inf is NaN, as without the kernel.
  Gradients keep the separate operations, as does a server with `--disable-passes attention`.
  `NxVulkanGo.attention/4` states an attention, which is then one kernel at any size.

  ## Gradients of models of bf16

  Nx begins gradients in f32, so backward passes multiply f32 by bf16. Where a GPU has matrix hardware
  for bf16 and that is sooner, such a product is two products of bf16: of the first 8 bits of each
  f32, and of the next 8, rounded. A result is within 2⁻¹⁶ of the sum of the magnitudes of its terms
  of that in f32. An infinite element of the operand of bf16 gives NaN. A server with
  `--matrix ordered` or `--disable-passes split` keeps f32.

  ## Several devices

  `Nx.Defn.shard_jit/3` runs a function on several devices of a server at once. Partition n of the
  mesh is device n. The option `:input_shardings` has a map for each argument, as with EXLA: the
  dimensions, and the axes of the mesh that divide each. Each partition gets its part of the
  arguments, and gives its part of the results.

      mesh = %Nx.Mesh{name: "mesh", shape: {2}}
      fun = Nx.Defn.shard_jit(&Nx.dot/2, mesh, input_shardings: [%{0 => [0]}, %{}], compiler: NxVulkanGo)
      [top, bottom] = fun.([[x[0..3], w], [x[4..7], w]])

  The function is traced for the whole tensors. Shardings propagate from the arguments to the
  results, and the devices exchange what they need of each other. An operation that cannot be
  divided is carried out whole on each device. The map of a container holds for all of its tensors. Hooks,
  runtime calls and vectorized tensors raise `ArgumentError`.

  The option `:places` lays the mesh on devices of one or of several servers: partition n is that of the nth place.
  `config :nx_vulkan_go, mesh: places` does so for all functions.

      places = for server <- [:"nxvk@one", :"nxvk@two"], device <- [0, 1], do: [server: server, device: device]
      Nx.Defn.shard_jit(fun, mesh, input_shardings: shardings, places: places, compiler: NxVulkanGo)

  The servers have the same version and the same cookie, and reach each other by their names. A session is in one mesh at a time, so
  functions that run at the same time and share a device have the same places.

  With `data_parallel: n` an ordinary function runs on n devices, or on the first n places: the tensors of its first argument are divided along
  their first dimension, and results are those of the whole. A result that is an argument of the next call stays on all
  devices. So a training loop of Axon divides its batches:

      Axon.Loop.run(loop, batches, %{}, compiler: NxVulkanGo, data_parallel: 2)

  Where the rows of a batch cannot be divided by n, the call runs on one device. Random numbers are those of the whole batch.

  ## Branches

  A value that only one branch of a `cond` needs is computed in that branch. A value that
  several branches need is computed once, before the `cond`.
  """

  alias Nx.Defn.{Composite, Evaluator}
  alias NxVulkanGo.Compiler.{Cache, DataParallel, Program, Run, Shard, Sharding}
  alias NxVulkanGo.{Explanation, Fallback, Options, Session, Telemetry}
  alias NxVulkanGo.Session.{Mesh, Registry}

  @doc false
  # Nx asks a compiler for this, and the next.
  def __jit__(_key, _vars, _fun, _args_list, _options), do: Options.misnamed_compiler!(__MODULE__)

  @doc false
  def __compile__(_key, _vars, _fun, _options), do: Options.misnamed_compiler!(__MODULE__)

  @doc false
  def jit(key, vars, fun, args_list, options) do
    own = Options.compiler!(options)

    if n = DataParallel.devices!(own, vars) do
      shard = divided(key, vars, fun, n, own)
      for args <- args_list, do: DataParallel.run(shard, vars, args, own)
    else
      jit(key, vars, fun, args_list, options, DataParallel.alone(own))
    end
  end

  defp jit(key, vars, fun, args_list, options, own) do
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

    if n = DataParallel.devices!(own, vars) do
      shard = divided(key, vars, fun, n, own)
      fn args_list -> for args <- args_list, do: DataParallel.run(shard, vars, args, own) end
    else
      compile(key, vars, fun, options, DataParallel.alone(own))
    end
  end

  defp compile(key, vars, fun, options, own) do
    case compiled(key, vars, fun, own) do
      %Program{} = program ->
        fn args_list -> for args <- args_list, do: Run.run(program, args, own) end

      {:unsupported, reason} ->
        fallback(key, reason)
        Evaluator.__compile__(key, vars, fun, options)
    end
  end

  # The function is called in the caller's process, unless it has been compiled for
  # arguments of these types before.
  defp compiled(key, vars, fun, options) do
    hooks = names(options)

    Cache.fetch({key, types(vars), hooks}, fn ->
      Telemetry.span([:compile], %{function: key}, fn -> build(fun.(vars), hooks, vars) end)
    end)
  end

  # As compiled/4, over several devices.
  defp divided(key, vars, fun, n, own) do
    cached = {key, types(vars), names(own), {:data_parallel, n}, own[:server], Mesh.layout!(own)}

    Cache.fetch(cached, fn ->
      Telemetry.span([:compile], %{function: key}, fn ->
        fun.(vars) |> build(names(own), []) |> program!() |> DataParallel.divide!(vars, n, own)
      end)
    end)
  end

  defp program!(%Program{} = program), do: program

  defp program!({:unsupported, reason}),
    do: raise(ArgumentError, "the function cannot be sharded: #{reason}")

  @doc false
  def shard_jit(key, mesh, vars, fun, args_list, options) do
    {shardings, vars} = Sharding.parse!(mesh, options[:input_shardings], vars)
    Shard.ranks!(mesh, args_list)
    own = Options.compiler!(options)

    without_device!(own)

    cached =
      {key, types(vars), names(own), mesh.shape, shardings, own[:server], Mesh.layout!(own)}

    shard =
      Cache.fetch(cached, fn ->
        Telemetry.span([:compile], %{function: key}, fn ->
          fun.(vars) |> build(names(own), []) |> program!() |> Shard.divide!(mesh, shardings, own)
        end)
      end)

    Shard.run(shard, args_list, own)
  end

  @doc false
  def explain(fun, args, options) do
    options = Options.explain!(options)
    {mesh, options} = Keyword.pop(options, :mesh)
    {shardings, options} = Keyword.pop(options, :input_shardings)

    if mesh do
      explain_shards(fun, args, mesh, shardings, options)
    else
      program = fun |> Nx.Defn.debug_expr_apply(args) |> build(names(options), [])
      %Explanation{program: program, parts: parts(program, options)}
    end
  end

  # The arguments are those of a partition, as for a call.
  defp explain_shards(fun, args, mesh, shardings, options) do
    vars = for arg <- args, do: Composite.traverse(arg, &Nx.to_template/1)
    {found, vars} = Sharding.parse!(mesh, shardings, vars)
    without_device!(options)

    case fun |> Nx.Defn.debug_expr_apply(vars) |> build(names(options), []) do
      %Program{} = program ->
        shard = Shard.divide!(program, mesh, found, options)
        {share, session} = Shard.first(shard, options)
        parts = parts(share, session, options)
        %Explanation{program: program, parts: parts, shards: shards(shard)}

      unsupported ->
        %Explanation{program: unsupported, parts: []}
    end
  end

  defp shards(%Shard{} = shard) do
    %{
      mesh: shard.mesh.shape,
      arguments: Enum.take(shard.params, length(shard.program.inputs)),
      results: shard.values,
      collectives:
        for({op, text, bytes} <- shard.notes, do: %{operation: op, what: text, bytes: bytes})
    }
  end

  defp without_device!(options) do
    if options[:device] do
      raise ArgumentError, "a sharded function takes no :device: partition n runs on device n"
    end
  end

  defp parts(%Program{} = program, options), do: parts(program, Registry.fetch!(options), options)
  defp parts({:unsupported, _reason}, _options), do: []

  defp parts(%{key: key} = program, session, options) do
    request =
      case {options[:target], options[:profile]} do
        {nil, yes} when yes in [nil, false] -> {:explain, key}
        {nil, true} -> {:explain, key, :profile}
        {:gpu, no} when no in [nil, false] -> {:explain, key, :gpu}
        other -> raise ArgumentError, explain_ways(other)
      end

    for part <- Session.call!(session, request, program), do: Map.put_new(part, :measured, nil)
  end

  defp explain_ways({target, profile}) do
    "NxVulkanGo.explain/3 takes profile: true, or target: :gpu, of which nothing is measured; " <>
      "got target: #{inspect(target)}, profile: #{inspect(profile)}"
  end

  # The names of hooks that have a function.
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

  # Nx 0.13 has no such field.
  defp donatable?(t), do: Map.get(t, :donatable?, false)

  # All closures of one place in the code share this name.
  defp named(fun) when is_function(fun),
    do: for(item <- [:module, :name, :arity], do: elem(Function.info(fun, item), 1))

  defp named(key), do: key

  defp fallback(key, reason) do
    Telemetry.execute([:compiler, :fallback], %{count: 1}, %{function: key, reason: reason})
    Fallback.apply_policy!(named(key), "#{inspect(key)} is run by Nx.Defn.Evaluator: #{reason}")
  end
end
