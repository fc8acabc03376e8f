defmodule Nx.Vulkan.NativeV do
  @moduledoc """
  The functions of the NIF of `nx_vulkan`, carried out by the node.

  ## Leapfrog chains

  `leapfrog_chain_synth_f64/6` and its kin take `k` leapfrog steps by the shader of a
  SPIR-V file. The file is read where this VM runs and goes to the node once. Shaders
  whose log density lags one step behind the position are put right by the node, and told
  of by the event `[:nx_vulkan_go, :shader, :lag]` of `:telemetry`, with `path` and `key`, once
  for each; `config :nx_vulkan, correct_lag: false` leaves them as they are. The
  shader gets storage buffers at bindings 0 to 6 (q, p, extras; then q, p, gradients and
  log densities of each step), and the first bytes of `push`:

      k, n_obs, d: u32; n instances, or 0: u32; step size: f64, or f32

  The extras are `n_obs` numbers of data and the diagonal of the inverse mass matrix. Of one
  instance they may be that diagonal alone where the data follow the step size in `push`.

  ## Buffers

  A buffer is a reference that belongs to the process that made it. The operations take
  the codes of `nx_vulkan`; the path of their shader says whether elements are f64 or f32,
  and the node computes them without it.
  """

  alias Nx.Vulkan.{Buffers, Chain}

  @binary {:add, :multiply, :subtract, :divide, :pow, :max, :min}
  @unary {:exp, :log, :sqrt, :abs, :negate, :sigmoid, :tanh, :relu, :ceil, :floor, :sign,
          :reciprocal, :square}
  @reductions {:sum, :reduce_max, :reduce_min}

  ## Chains

  for {type, suffix} <- [f64: "_f64", f32: ""] do
    @doc """
    Steps of one instance, in #{type}: `{:ok, {q, p, grad, logp}}` of `k` rows,
    `{:error, :size_mismatch | :bad_input}`, or `{:error, :dispatch_failed, message}`.
    """
    def unquote(:"leapfrog_chain_synth#{suffix}")(q, p, extras, push, k, spv_path),
      do: Chain.run(unquote(type), :single, {q, p, extras}, push, k, spv_path)

    @doc "Steps of as many instances as `push` names, in #{type}; buffers are instance by instance."
    def unquote(:"leapfrog_chain_synth_batch#{suffix}")(q, p, extras, push, k, spv_path),
      do: Chain.run(unquote(type), :batch, {q, p, extras}, push, k, spv_path)
  end

  ## The device

  @doc "Its name."
  def device_name, do: Nx.Vulkan.device_name()

  @doc "Whether it computes f64."
  def device_supports_f64, do: Nx.Vulkan.has_f64?()

  @doc "Waits until the device has computed everything."
  def flush, do: NxVulkanGo.sync()

  ## Buffers

  @doc "A buffer of these bytes."
  @spec buf_upload(binary) :: {:ok, reference}
  def buf_upload(bytes) when is_binary(bytes), do: {:ok, Buffers.new(bytes)}

  @doc "A buffer of so many zero bytes."
  @spec buf_alloc(non_neg_integer) :: {:ok, reference}
  def buf_alloc(count) when is_integer(count) and count >= 0,
    do: {:ok, Buffers.new(<<0::size(count)-unit(8)>>)}

  @doc "The bytes of a buffer."
  @spec buf_download(reference) :: {:ok, binary}
  def buf_download(ref), do: {:ok, Buffers.bytes(ref)}

  @doc "How many bytes it has."
  @spec buf_byte_size(reference) :: non_neg_integer
  def buf_byte_size(ref), do: Buffers.size(ref)

  @doc "Replaces its bytes by as many others."
  @spec buf_upload_into(reference, binary) :: :ok | {:error, :size_mismatch}
  def buf_upload_into(ref, bytes) when is_binary(bytes), do: Buffers.put(ref, bytes)

  @doc "`out` = a `op` b of `n` elements: #{inspect(Enum.with_index(Tuple.to_list(@binary)))}."
  def apply_binary(out, a, b, n, op, spv_path) do
    compute(out, spv_path, [{a, n}, {b, n}], fn [a, b] ->
      apply(Nx, code(@binary, op), [a, b])
    end)
  end

  @doc "`out` = `op` of `n` elements: #{inspect(Enum.with_index(Tuple.to_list(@unary)))}."
  def apply_unary(out, a, n, op, spv_path) do
    compute(out, spv_path, [{a, n}], fn [a] -> unary(code(@unary, op), a) end)
  end

  defp unary(:relu, a), do: Nx.max(a, zero(a))
  defp unary(:reciprocal, a), do: Nx.divide(Nx.add(zero(a), 1), a)
  defp unary(:square, a), do: Nx.multiply(a, a)
  defp unary(name, a), do: apply(Nx, name, [a])

  defp zero(a), do: Nx.tensor(0, type: Nx.type(a), backend: NxVulkanGo.Backend)

  @doc """
  `out` of `outer × inner` elements = `a` of `outer × reduce × inner`, reduced:
  #{inspect(Enum.with_index(Tuple.to_list(@reductions)))}.
  """
  def reduce_axis(out, a, outer, reduce, inner, op, spv_path) do
    compute(out, spv_path, [{a, outer * reduce * inner}], fn [a] ->
      apply(Nx, code(@reductions, op), [Nx.reshape(a, {outer, reduce, inner}), [axes: [1]]])
    end)
  end

  @doc "`out` of n rows = the transpose of `a`, of `m` rows and `n` columns."
  def transpose_2d(out, a, m, n, spv_path) do
    compute(out, spv_path, [{a, m * n}], fn [a] -> a |> Nx.reshape({m, n}) |> Nx.transpose() end)
  end

  @doc "`out` = a · b, of `m` rows and `n` columns, with `k` products each."
  def matmul(out, a, b, m, n, k, spv_path) do
    compute(out, spv_path, [{a, m * k}, {b, k * n}], fn [a, b] ->
      Nx.dot(Nx.reshape(a, {m, k}), Nx.reshape(b, {k, n}))
    end)
  end

  defp compute(out, spv_path, operands, fun) do
    type = if Path.basename(spv_path) =~ "f64", do: {:f, 64}, else: {:f, 32}

    with {:ok, tensors} <- tensors(operands, type),
         do: Buffers.put(out, tensors |> fun.() |> Nx.flatten())
  rescue
    error in NxVulkanGo.Error -> {:error, :dispatch_failed, Exception.message(error)}
  end

  defp tensors(operands, type) do
    Enum.reduce_while(operands, {:ok, []}, fn {ref, count}, {:ok, tensors} ->
      case Buffers.tensor(ref, type, count) do
        {:ok, tensor} -> {:cont, {:ok, tensors ++ [tensor]}}
        error -> {:halt, error}
      end
    end)
  end

  defp code(names, op) when op in 0..(tuple_size(names) - 1)//1, do: elem(names, op)

  defp code(_names, op),
    do: raise(ArgumentError, "there is no operation of the code #{inspect(op)}")
end
