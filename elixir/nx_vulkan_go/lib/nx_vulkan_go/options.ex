defmodule NxVulkanGo.Options do
  @moduledoc """
  Lists the options and the configuration of this package, and checks them.

  ## Options of the backend

  `{NxVulkanGo.Backend, options}` and the functions of `NxVulkanGo` take `:server` and
  `:device`. Others raise `ArgumentError`.

  ## Options of the compiler

  `compiler: NxVulkanGo` takes `:server`, `:device`, `:hooks`, `:callback_timeout` and `:data_parallel`, and for
  `Nx.Defn.shard_jit/3` `:input_shardings` and `:places`.
  `NxVulkanGo.explain/3` takes `:profile`, `:target`, `:mesh` and `:input_shardings` as well. Options of other libraries are known and
  ignored, so that a program can change its compiler and nothing else:

    * of Nx, `Nx.Serving` and `Nx.Defn.Evaluator`: `:compiler`, `:on_conflict`, `:batch_keys`,
      `:max_concurrency`, `:garbage_collect`, `:debug_options`
    * of EXLA: `:client`, `:device_id`, `:precision`, `:cache`, `:debug`, `:lazy_transfers`,
      `:run_options`, `:mesh`, `:module_compilation`,
      `:within_defn_compiler`, `EXLA`
    * of Axon, which passes its own options on: `:mode`, `:raise_on_none`, `:seed`, `:print_values`,
      `:global_layer_options`

  All others raise `ArgumentError`.

  ## Configuration

  Keys of `config :nx_vulkan_go`: `:server`, `:cookie`, `:device`, `:limit`, `:deadline`, `:weight`, `:fallback`, `:check`,
  `:binary`, `:install`, `:base_url`, `:install_dir`, `:node_args`, `:start_timeout`, `:tls`, `:distribution`, `:label`,
  `:allow_shaders`, `:matrix`, `:mesh`, `:vm_limit`, `:add_backend_on_inspect` and `:check_shape_and_type`. `NxVulkanGo.Backend`,
  `NxVulkanGo.Launcher` and `NxVulkanGo.Installer` explain them.
  For any other key a warning is logged when the application starts. An invalid value raises `ArgumentError` at the
  first operation that needs a server, an invalid `:vm_limit` at the first operation.
  """

  require Logger
  alias NxVulkanGo.Configuration

  @backend [:device, :server]
  @compiler [:device, :server, :hooks, :callback_timeout, :places, :data_parallel]
  @explain [:profile, :target, :mesh, :input_shardings | @compiler]

  @ignored [:compiler, :on_conflict, :batch_keys, :max_concurrency, :garbage_collect] ++
             [:debug_options, :client, :device_id, :precision, :cache, :debug, :lazy_transfers] ++
             [:run_options, :mesh, :input_shardings, :module_compilation] ++
             [:within_defn_compiler, EXLA, :mode, :raise_on_none, :seed, :print_values] ++
             [:global_layer_options]

  @doc "Checks options of the backend, and returns them. Raises `ArgumentError`."
  @spec backend!(keyword) :: keyword
  def backend!([]), do: []

  def backend!(options) do
    for option <- options, do: backend_option!(option)
    options
  end

  defp backend_option!({:device, device})
       when (is_integer(device) and device >= 0) or is_nil(device),
       do: :ok

  defp backend_option!({:device, :auto}), do: :ok

  defp backend_option!({:device, device}) do
    raise ArgumentError,
          ":device must be the index of a device, see NxVulkanGo.devices/1, or :auto, got: #{inspect(device)}"
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

  @doc "Returns whether a term is a list of places: options of the backend, or indices of devices."
  @spec places?(term) :: boolean
  def places?([_ | _] = list), do: Enum.all?(list, &place?/1)
  def places?(_other), do: false

  defp place?(device) when is_integer(device), do: device >= 0

  defp place?(place) do
    Keyword.keyword?(place) and Keyword.keys(place) -- @backend == [] and
      is_integer(place[:device] || 0) and (place[:device] || 0) >= 0 and is_atom(place[:server])
  end

  @doc "Returns the places of a mesh, each with its server and its device. Raises `ArgumentError`."
  @spec places!(term) :: [keyword]
  def places!(list) do
    if not places?(list) do
      raise ArgumentError,
            ":places must be a list such as [[server: :\"nxvk@one\", device: 0], [server: :\"nxvk@two\", device: 0]], " <>
              "or of indices of devices, got: #{inspect(list)}"
    end

    for place <- list do
      place = if is_integer(place), do: [device: place], else: place
      [server: place[:server], device: place[:device] || 0]
    end
  end

  @doc "Checks options of the compiler, and returns those that have an effect. Raises `ArgumentError`."
  @spec compiler!(keyword) :: keyword
  def compiler!(options), do: own!("compiler: NxVulkanGo", options, @compiler)

  @doc "Checks options of `NxVulkanGo.explain/3`, and returns those that have an effect. Raises `ArgumentError`."
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

  @doc false
  @spec misnamed_compiler!(module) :: no_return
  def misnamed_compiler!(module) do
    raise ArgumentError,
          "#{inspect(module)} is no compiler: write compiler: NxVulkanGo, as in Nx.Defn.jit(fun, compiler: NxVulkanGo)"
  end

  # A suggestion, where a known key is similar.
  defp meant(key, own) do
    distance = &String.jaro_distance(Atom.to_string(&1), Atom.to_string(key))
    nearest = Enum.max_by(own, distance)
    if distance.(nearest) > 0.75, do: "; did you mean #{inspect(nearest)}?", else: ""
  end

  @doc "Logs a warning for each unknown key of the configuration."
  @spec check_configuration() :: :ok
  def check_configuration do
    for {key, _} <- Application.get_all_env(:nx_vulkan_go), key not in configuration() do
      Logger.warning(
        "config :nx_vulkan_go has no key #{inspect(key)}#{meant(key, configuration())}; " <>
          "see NxVulkanGo.Options"
      )
    end

    :ok
  end

  @doc """
  Returns the configured options of a session: `:limit`, `:deadline` and `:weight`.
  Raises `ArgumentError` where one is invalid.
  """
  @spec session!() :: %{optional(:limit | :deadline | :weight) => pos_integer | :infinity}
  def session! do
    for key <- [:limit, :deadline, :weight],
        {:ok, _} <- [Application.fetch_env(:nx_vulkan_go, key)],
        into: %{},
        do: {key, Configuration.get(key)}
  end

  # Below it Nx.BinaryBackend computes most operations sooner than the node is asked.
  @vm_limit 128

  @doc "Returns how many elements a tensor of the backend may have to stay in this VM."
  @spec vm_limit() :: non_neg_integer
  def vm_limit do
    with nil <- :persistent_term.get({__MODULE__, :vm_limit}, nil),
         do: put_vm_limit(Configuration.get(:vm_limit, @vm_limit))
  end

  @doc false
  # Every operation asks, so the configuration is read once.
  def put_vm_limit(limit) do
    :persistent_term.put({__MODULE__, :vm_limit}, Configuration.valid!(:vm_limit, limit))
    limit
  end

  @doc "Whether this VM may download the program when it first needs it. Raises `ArgumentError`."
  @spec install?() :: boolean
  def install?, do: Configuration.get(:install, true)

  @doc "Returns the URL of the folder with the archives of the program, or `nil`. Raises `ArgumentError`."
  @spec base_url() :: String.t() | nil
  def base_url, do: Configuration.get(:base_url)

  @doc "Returns the folder in which programs are installed, or `nil`. Raises `ArgumentError`."
  @spec install_dir() :: Path.t() | nil
  def install_dir, do: Configuration.get(:install_dir)

  @doc "Lists the keys of the configuration."
  @spec configuration() :: [atom]
  def configuration, do: Configuration.keys()
end
