defmodule NxVulkanGo do
  @moduledoc """
  Nx on any device with a Vulkan driver, in another process or on another machine.

  `NxVulkanGo.Backend` is the backend, and `compiler: NxVulkanGo` compiles whole
  functions; see `NxVulkanGo.Compiler`. `explain/3` shows the program of a function, and
  `NxVulkanGo.Sampler` draws from densities. [First tensor](guides/first_tensor.md) is the
  place to begin.

  ## Beside other backends

  Nx has several backends for GPUs. The table says what this one has over EXLA, EMLX and
  nx_vulkan, and what they have over it.

  | | NxVulkanGo | EXLA | EMLX | nx_vulkan 0.1 |
  |---|---|---|---|---|
  | devices | any with a Vulkan 1.2 driver: NVIDIA, AMD, Intel, Apple through MoltenVK; the processor | NVIDIA, AMD (built from source), TPU; the processor | Apple; the processor | those with a Vulkan driver |
  | systems | Linux on amd64; FreeBSD, macOS, Windows and arm64 are built and have not been run | Linux, macOS, Windows through WSL | macOS; Linux on the processor | Linux, FreeBSD |
  | to install | one program of 9 MB, downloaded | a library of XLA, downloaded, and CUDA | a library of MLX, downloaded | Rust, and a build |
  | native code in the VM | none | NIF | NIF | NIF |
  | a driver that crashes | ends the server; the next operation starts another | ends the VM | ends the VM | ends the VM |
  | GPU of another machine | yes | through a BEAM node there | through a BEAM node there | through a BEAM node there |
  | several VMs on one GPU | with shares, limits and deadlines | each takes memory of its own | each takes memory of its own | each takes memory of its own |
  | a tensor on another BEAM node | is used in place | is copied as an argument of a compiled function | cannot be used | cannot be used |
  | compiler | yes, with loops, branches, hooks and runtime calls | yes, with all of these | yes; named hooks raise | no |
  | operations | all | all | most; reductions by functions are limited | 24; the others on `Nx.BinaryBackend` |
  | f64 and c128 | yes | yes, not on TPU | as f32 and c64 | f64 of some operations |
  | f8 and integers of 2 and 4 bits | yes | yes | f8 as f16, small integers in 8 bits | no |
  | matrix hardware | bf16, f16, s8, u8 | these, TF32 and f64 | that of Metal | no |
  | libraries of the vendor | no | cuBLAS, cuDNN, cuSOLVER | MLX | no |
  | a function over several GPUs | of one machine (sharding) | yes (sharding) | no | no |
  | pointers to a tensor's memory | no | yes | yes | no |
  | sampler (NUTS) | on the node | no | no | chains of steps, for eXMC |

  What is said of others was read in their sources and documents (EXLA of Nx 0.13, EMLX of
  August 2026) and has not been run. The table has no speeds, since they depend on the device:
  `examples/full_bench.exs` of the repository measures this backend beside
  `Nx.BinaryBackend` and EXLA on yours.

  ## Functions

  The other functions ask servers and devices. They take the options of the backend,
  `:server` and `:device`, and raise `NxVulkanGo.Error` where the server cannot be
  reached.
  """

  @behaviour Nx.Defn.Compiler

  import Nx.Defn, only: [deftransform: 2]

  alias NxVulkanGo.{Attention, Checkpoint, Compiler, Distribution, Error, Options, Session}
  alias NxVulkanGo.Session.Registry

  @impl true
  defdelegate __jit__(key, vars, fun, args_list, options), to: Compiler, as: :jit

  @impl true
  defdelegate __compile__(key, vars, fun, options), to: Compiler, as: :compile

  @impl true
  defdelegate __shard_jit__(key, mesh, vars, fun, args_list, options),
    to: Compiler,
    as: :shard_jit

  @impl true
  def __partitions_options__(options) do
    place = options |> Options.compiler!() |> Keyword.take([:server, :device])
    for %{index: index} <- devices(place), do: Keyword.put(options, :device, index)
  end

  @doc false
  # Nx asks a backend for this.
  def init(_options) do
    raise ArgumentError,
          "NxVulkanGo is a compiler; the backend is NxVulkanGo.Backend, as in Nx.default_backend(NxVulkanGo.Backend)"
  end

  @impl true
  def __to_backend__(options) do
    {NxVulkanGo.Backend, options |> Options.compiler!() |> Keyword.take([:server, :device])}
  end

  @doc """
  Explains how a function is computed for arguments of these types and shapes.

  The explanation has the program, with the regions of its loops and branches, and its
  parts as the device carries them out after the first run. For each part it shows
  kernels, bytes moved and time, the rules by which operations were fused, and why the
  part ends where it does. The function is not run.

      IO.puts(NxVulkanGo.explain(&MyModule.step/2, [params, batch]))

  The result prints as text and is a table in Livebook; see `NxVulkanGo.Explanation`.
  Times are estimates. With `profile: true` the device carries out each part on zeros
  and measures it. With `target: :gpu` the explanation is that of a GPU with the features
  of an H200, whatever the device is.

  With `:mesh` and `:input_shardings`, as `Nx.Defn.shard_jit/3` takes them, the arguments are
  those of one partition. The explanation then has the shardings of arguments and results and the
  collectives with their bytes, and the parts are those of the first device.

  Takes the options of `Nx.Defn.jit/2`. Of these `:server`, `:device` and `:hooks` have
  an effect; see `NxVulkanGo.Options`.
  """
  @spec explain(fun, [term], keyword) :: NxVulkanGo.Explanation.t()
  def explain(fun, args, options \\ []), do: Compiler.explain(fun, args, options)

  @doc """
  Marks values that a gradient computes again, so that they need no memory until then (gradient
  checkpointing, Chen et al. 2016).

  With a function, returns a function of the same results. A gradient keeps its arguments,
  the tensors that it captures and its results, and none of the values between.

      defn loss(x, layers) do
        {w1, w2, w3} = layers
        layer = NxVulkanGo.checkpoint(fn x, w -> Nx.tanh(Nx.dot(x, w)) end)
        x |> layer.(w1) |> layer.(w2) |> layer.(w3) |> Nx.sum()
      end

  With an expression, or a container of them, returns the same values. The values from which they
  are computed are computed again, from the parameters of the `defn`, the variables of the gradient
  and earlier checkpoints: `x = NxVulkanGo.checkpoint(layer(x, w))` keeps only x.

  The memory of a gradient falls with the number of checkpointed parts, and each part is computed
  twice. Values and gradients are the same, except that gradients may be added in another order.
  Checkpoints can be nested, in loops, branches and vectorized functions. Hooks run again with
  the values; results of `Nx.runtime_call/4` are kept.

  It works with every compiler and every release of Nx from 0.13 on. `Nx.Defn.Evaluator` computes the
  values again; EXLA may find that they are the same, and keep them. Outside of a gradient it has no
  effect, nor where the results have vectorized axes that a value with a gradient, such as a weight, has not.
  """
  @spec checkpoint(fun) :: fun
  @spec checkpoint(expr) :: expr when expr: Nx.Container.t() | Nx.Tensor.t()
  deftransform checkpoint(fun_or_expr) do
    if is_function(fun_or_expr),
      do: Checkpoint.function(fun_or_expr),
      else: Checkpoint.expression(fun_or_expr)
  end

  @doc """
  Computes scaled dot-product attention: `softmax(query · keyᵀ · scale + bias) · value`.

  | tensor | shape |
  |---|---|
  | query | `{..., heads, queries, size}` |
  | key | `{..., groups, keys, size}` |
  | value | `{..., groups, keys, width}` |
  | result | `{..., heads, queries, width}` |

  The leading dimensions are equal. `heads` is a multiple of `groups`: each group of a key and a value serves
  `heads / groups` heads, one after the other (grouped-query attention). The types are floats; the result has the type to which
  they merge. Vectorized tensors are attended to for each vector.

      defn layer(query, key, value, mask) do
        NxVulkanGo.attention(query, key, value, mask: mask, causal: true)
      end

  In a function that is compiled by `compiler: NxVulkanGo`, it is one kernel on a GPU wherever the kernel exists: for f32, bf16 and f16
  and at most 256 columns of values. The memory of the kernel is linear in the lengths; "Attention" in `NxVulkanGo.Compiler` gives the bound
  of its error. Elsewhere, and with other compilers and backends, it is computed by operations of Nx, and so is its gradient.

  ## Options

    * `:causal` - query i sees only the keys 0 to i (default: `false`)
    * `:mask` - a tensor that broadcasts to `{..., heads, queries, keys}`. Keys where it is zero are excluded. A
      query without any key gives NaN
    * `:bias` - a tensor of floats that is added to the scaled scores, and broadcasts as the mask does
    * `:scale` - a number (default: `1 / sqrt(size)`)
  """
  @spec attention(Nx.Tensor.t(), Nx.Tensor.t(), Nx.Tensor.t(), keyword) :: Nx.Tensor.t()
  deftransform attention(query, key, value, options \\ []) do
    Attention.run(query, key, value, options)
  end

  @doc """
  Lists the devices of a server: maps with `:index`, `:name`, `:kind`, `:driver`,
  `:memory` (bytes) and more.
  """
  @spec devices(keyword) :: [map]
  def devices(options \\ []), do: info(options).devices

  @doc "Describes a server: its version, operating system and devices."
  @spec info(keyword) :: map
  def info(options \\ []), do: call(options, :info)

  @doc """
  Lists the sessions of all clients of a server: maps with `:device`, `:pid`, `:label`,
  `:buffers`, `:bytes`, `:limit`, `:waiting` (instructions and reads), `:waits_for` (a reason, or
  `nil`) and `:closable` (whether this VM may close it).
  """
  @spec sessions(keyword) :: [map]
  def sessions(options \\ []), do: call(options, :sessions)

  @doc """
  Closes a session that `sessions/1` lists, and frees its memory. The tensors of its VM are
  then stale, and the next operation there opens another session.

  This VM may close its own sessions; those of others only where the node was started with
  `--allow-close`. Raises `NxVulkanGo.Error` of kind `:bad_argument` otherwise, or where there is no
  such session.
  """
  @spec close_session(%{device: non_neg_integer, pid: pid}, keyword) :: :ok
  def close_session(%{device: device, pid: pid}, options \\ []),
    do: call(options, {:close, pid}, :"nxvk_#{device}")

  @doc """
  Lists the kernels that took the devices of a server longest: maps with `:device`, `:name` (the
  hash of the code), `:op` (what first ran it), `:dispatches` and `:seconds` of device time, an
  estimate that measured times have corrected.
  """
  @spec kernels(keyword) :: [map]
  def kernels(options \\ []), do: call(options, :kernels)

  @doc """
  Asks a server what it does: devices with their memory, sessions, the kernels that take longest,
  fallbacks and chains. The result prints as tables; see `NxVulkanGo.Overview`.
  """
  @spec overview(keyword) :: NxVulkanGo.Overview.t()
  def overview(options \\ []), do: NxVulkanGo.Overview.new(options)

  @doc """
  Lists the chains of the sampler that are under way on a server: maps with `:device`, `:pid`,
  `:label`, `:run`, `:chain`, `:warmup`, `:warmup_of`, `:draws`, `:draws_of`, `:divergent`, `:steps` and
  `:step_size`.
  """
  @spec chains(keyword) :: [map]
  def chains(options \\ []), do: call(options, :chains)

  @doc """
  Returns the counters of a server, for all clients together.

  The keys are names of counters, such as `:host_instructions_total`. Each value is a map
  from device servers, such as `:nxvk_0`, to numbers.
  [Where numbers are computed](guides/where_numbers_are_computed.md) explains some of them.
  """
  @spec metrics(keyword) :: %{atom => %{atom => number}}
  def metrics(options \\ []), do: call(options, :metrics)

  @doc """
  Returns the memory in use, in bytes and counts: `%{session: %{buffers: _, bytes: _,
  limit: _}, device: %{used: _, reserved: _, peak: _, total: _, sessions: _}}`. The
  session has all tensors of this VM on the device.
  """
  @spec memory(keyword) :: map
  def memory(options \\ []), do: options |> session!() |> Session.call!(:memory)

  @doc "Waits until a device has computed everything that this VM sent to it."
  @spec sync(keyword) :: :ok
  def sync(options \\ []), do: options |> session!() |> Session.sync()

  @doc """
  Frees the memory of garbage without delay. The calling process collects its garbage;
  then the memory of all tensors that no process refers to is freed.
  """
  @spec sweep(keyword) :: :ok
  def sweep(options \\ []) do
    session = session!(options)
    :erlang.garbage_collect()
    Session.sweep(session)
  end

  @doc "Connects to the server and returns its name. Starts a server where none is configured."
  @spec connect(keyword) :: node
  def connect(options \\ []), do: Registry.fetch_server!(Options.backend!(options)[:server])

  defp session!(options), do: options |> Options.backend!() |> Registry.fetch!()

  defp call(options, request, name \\ :nxvk) do
    server = connect(options)

    case Distribution.call({name, server}, request, 30_000) do
      {:ok, reply} -> reply
      :ok -> :ok
      {:error, error} -> raise Error.from_wire(error)
    end
  catch
    :exit, {reason, _} -> raise Error.gone(options[:server] || "the server", reason)
  end
end
