defmodule NxVulkanGo.Options do
  @moduledoc """
  The options and configuration of this package: which there are. One that is misspelt is
  an error, and one that is misspelt in the configuration is a warning.

  ## Of the backend

  `{NxVulkanGo.Backend, options}`, and the functions of `NxVulkanGo`, take `:server` and
  `:device`. Others raise `ArgumentError`.

  ## Of the compiler

  `compiler: NxVulkanGo` takes `:server`, `:device`, `:hooks` and `:callback_timeout`, and
  `NxVulkanGo.explain/3` `:profile` besides. These are known and ignored, so that a program
  may say which compiler it wants without saying more:

    * of Nx, `Nx.Serving` and `Nx.Defn.Evaluator`: `:compiler`, `:on_conflict`, `:batch_keys`,
      `:max_concurrency`, `:garbage_collect`, `:debug_options`
    * of EXLA: `:client`, `:device_id`, `:precision`, `:cache`, `:debug`, `:lazy_transfers`,
      `:run_options`, `:mesh`, `:input_shardings`, `:module_compilation`,
      `:within_defn_compiler`, `EXLA`
    * of Axon, which hands its own on: `:mode`, `:raise_on_none`, `:seed`, `:print_values`,
      `:global_layer_options`

  All others raise `ArgumentError`.

  ## Of the configuration

  Under `config :nx_vulkan_go`: `:server`, `:cookie`, `:device`, `:limit`, `:deadline`, `:weight`, `:fallback`, `:check`,
  `:binary`, `:node_args`, `:start_timeout`, `:tls`, `:distribution`, `:label`, `:allow_shaders`,
  `:add_backend_on_inspect` and `:check_shape_and_type`; `NxVulkanGo.Backend` and `NxVulkanGo.Launcher` say what they mean.
  Others are warned of when the application starts. Values of `:limit`, `:deadline` and `:weight` that a
  session cannot have raise `ArgumentError` when the first operation opens it.
  """

  require Logger

  @backend [:device, :server]
  @compiler [:device, :server, :hooks, :callback_timeout]
  @explain [:profile | @compiler]

  @ignored [:compiler, :on_conflict, :batch_keys, :max_concurrency, :garbage_collect] ++
             [:debug_options, :client, :device_id, :precision, :cache, :debug, :lazy_transfers] ++
             [:run_options, :mesh, :input_shardings, :module_compilation] ++
             [:within_defn_compiler, EXLA, :mode, :raise_on_none, :seed, :print_values] ++
             [:global_layer_options]

  @configuration [:server, :cookie, :device, :limit, :deadline, :weight, :fallback, :check, :binary, :node_args] ++
                   [:start_timeout, :tls, :distribution, :label, :allow_shaders] ++
                   [:add_backend_on_inspect, :check_shape_and_type]

  @doc "The options of the backend, where they are some."
  @spec backend!(keyword) :: keyword
  def backend!([]), do: []

  def backend!(options) do
    for option <- options, do: backend_option!(option)
    options
  end

  defp backend_option!({:device, device})
       when (is_integer(device) and device >= 0) or is_nil(device),
       do: :ok

  defp backend_option!({:device, device}) do
    raise ArgumentError,
          ":device must be the index of a device, see NxVulkanGo.devices/1, got: #{inspect(device)}"
  end

  defp backend_option!({:server, server}) when is_atom(server), do: :ok

  defp backend_option!({:server, server}) do
    raise ArgumentError,
          ":server must be the name of a node, an atom, got: #{inspect(server)}"
  end

  defp backend_option!({key, _}), do: unknown!("NxVulkanGo.Backend", key, @backend)

  defp backend_option!(other) do
    raise ArgumentError,
          "the options of NxVulkanGo.Backend are a keyword list, got: #{inspect(other)}"
  end

  @doc "The options of the compiler that are its own."
  @spec compiler!(keyword) :: keyword
  def compiler!(options), do: own!("compiler: NxVulkanGo", options, @compiler)

  @doc "Those of `NxVulkanGo.explain/3` that are its own."
  @spec explain!(keyword) :: keyword
  def explain!(options), do: own!("NxVulkanGo.explain/3", options, @explain)

  defp own!(of, options, own) do
    Enum.filter(options, fn {key, value} ->
      cond do
        key in @backend -> backend_option!({key, value}) == :ok
        key in own -> true
        key in @ignored -> false
        true -> unknown!(of, key, own)
      end
    end)
  end

  @spec unknown!(String.t(), atom, [atom]) :: no_return
  defp unknown!(of, key, own) do
    raise ArgumentError,
          "#{of} has no option #{inspect(key)}#{meant(key, own)}; it takes " <>
            Enum.map_join(own, ", ", &inspect/1)
  end

  # What is likely to be meant.
  defp meant(key, own) do
    distance = &String.jaro_distance(Atom.to_string(&1), Atom.to_string(key))
    nearest = Enum.max_by(own, distance)
    if distance.(nearest) > 0.75, do: "; did you mean #{inspect(nearest)}?", else: ""
  end

  @doc "Warns of keys of the configuration that there are not."
  @spec check_configuration() :: :ok
  def check_configuration do
    for {key, _} <- Application.get_all_env(:nx_vulkan_go), key not in @configuration do
      Logger.warning(
        "config :nx_vulkan_go has no key #{inspect(key)}#{meant(key, @configuration)}; " <>
          "see NxVulkanGo.Options"
      )
    end

    :ok
  end

  @doc """
  The options of a session that are configured: `:limit`, `:deadline` and `:weight`.
  Raises `ArgumentError` where one is not valid.
  """
  @spec session!() :: %{optional(:limit | :deadline | :weight) => pos_integer | :infinity}
  def session! do
    for {key, valid?, expected} <- [
          {:limit, &(bound?(&1) or &1 == :infinity), "a number of bytes or :infinity"},
          {:deadline, &(bound?(&1) or &1 == :infinity), "a number of milliseconds or :infinity"},
          {:weight, &(&1 in 1..100), "an integer from 1 to 100"}
        ],
        {:ok, value} <- [Application.fetch_env(:nx_vulkan_go, key)],
        into: %{} do
      if not valid?.(value) do
        raise ArgumentError,
              "config :nx_vulkan_go, #{key}: must be #{expected}, got: #{inspect(value)}"
      end

      {key, value}
    end
  end

  defp bound?(value), do: is_integer(value) and value > 0

  @doc "The keys of the configuration."
  @spec configuration() :: [atom]
  def configuration, do: @configuration
end
