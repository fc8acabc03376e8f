defmodule Nx.Vulkan.NativeV do
  @moduledoc """
  The functions of the NIF of `nx_vulkan`. The node carries them out.

  ## Leapfrog chains

  `leapfrog_chain_synth_f64/6` and the other chain functions take `k` leapfrog steps with the
  shader of a SPIR-V file. The file is read on the machine of this VM and sent to the node once.

  The shader gets storage buffers at the bindings 0 to 6: q, p and extras; then q, p, gradient
  and log density of each step. `push` begins with

      k, n_obs, d: u32; number of instances, or 0: u32; step size: f64, or f32

  The extras are `n_obs` numbers of data and the diagonal of the inverse mass matrix. For one
  instance they may be the diagonal only; the data then follow the step size in `push`.

  The log density of some shaders lags one step behind the position. The node corrects that and
  the telemetry event `[:nx_vulkan_go, :shader, :lag]`, with `path` and `key`, tells it once for
  each shader. `config :nx_vulkan, correct_lag: false` leaves the log densities unchanged.

  ## Buffers

  A buffer is a reference that belongs to the process that made it. Operations have the codes of
  `nx_vulkan`. Elements are f64 where the path of the shader contains `f64`, else f32; the
  node computes the operation without the shader.
  """

  alias Nx.Vulkan.{Buffers, Chain}

  @binary {:add, :multiply, :subtract, :divide, :pow, :max, :min}
  @unary {:exp, :log, :sqrt, :abs, :negate, :sigmoid, :tanh, :relu, :ceil, :floor, :sign,
          :reciprocal, :square}
  @reductions {:sum, :reduce_max, :reduce_min}

  ## Chains

  for {type, suffix} <- [f64: "_f64", f32: ""] do
    @doc """
    Takes the steps of one instance, in #{type}. Returns `{:ok, {q, p, grad, logp}}`, binaries of
    `k` rows, or `{:error, :size_mismatch | :bad_input}`, or `{:error, :dispatch_failed, message}`.
    """
    def unquote(:"leapfrog_chain_synth#{suffix}")(q, p, extras, push, k, spv_path),
      do: Chain.run(unquote(type), :single, {q, p, extras}, push, k, spv_path)

    @doc "Takes the steps of as many instances as `push` has, in #{type}; buffers are instance by instance."
    def unquote(:"leapfrog_chain_synth_batch#{suffix}")(q, p, extras, push, k, spv_path),
      do: Chain.run(unquote(type), :batch, {q, p, extras}, push, k, spv_path)
  end

  ## The device

  @doc "Returns the name of the device."
  def device_name, do: Nx.Vulkan.device_name()

  @doc "Whether the device computes f64."
  def device_supports_f64, do: Nx.Vulkan.has_f64?()

  @doc "Waits until the device has computed everything."
  def flush, do: NxVulkanGo.sync()

  ## Buffers

  @doc "Makes a buffer with these bytes."
  @spec buf_upload(binary) :: {:ok, reference}
  def buf_upload(bytes) when is_binary(bytes), do: {:ok, Buffers.new(bytes)}

  @doc "Makes a buffer of `count` zero bytes."
  @spec buf_alloc(non_neg_integer) :: {:ok, reference}
  def buf_alloc(count) when is_integer(count) and count >= 0,
    do: {:ok, Buffers.new(<<0::size(count)-unit(8)>>)}

  @doc "Returns the bytes of a buffer."
  @spec buf_download(reference) :: {:ok, binary}
  def buf_download(ref), do: {:ok, Buffers.bytes(ref)}

  @doc "Returns the size of a buffer in bytes."
  @spec buf_byte_size(reference) :: non_neg_integer
  def buf_byte_size(ref), do: Buffers.size(ref)

  @doc "Replaces the bytes of a buffer by as many others."
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
    do: raise(ArgumentError, "no operation has the code #{inspect(op)}")
end
