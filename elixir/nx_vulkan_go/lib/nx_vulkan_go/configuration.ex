defmodule NxVulkanGo.Configuration do
  @moduledoc false
  # The keys of `config :nx_vulkan_go`, and the values that each takes.

  alias NxVulkanGo.Options

  @doc "Lists the keys."
  @spec keys() :: [atom]
  def keys, do: Keyword.keys(table())

  # A key, whether a value is one of its values, and which are.
  defp table do
    [
      server: {&name?/1, ~s(the name of a node, an atom such as :"nxvk@gpubox")},
      cookie: {&text?/1, "a text"},
      device: {&(index?(&1) or &1 == :auto), "the index of a device or :auto"},
      limit: {&bound?/1, "a number of bytes or :infinity"},
      deadline: {&bound?/1, "a number of milliseconds or :infinity"},
      weight: {&(&1 in 1..100), "an integer from 1 to 100"},
      fallback: one_of([:warn, :silent, :raise]),
      check: one_of([:none, :debug, :each]),
      binary: {&path?/1, "the path of the program nxvk-node"},
      install: {&is_boolean/1, "true or false"},
      base_url: {&url?/1, "a URL of https, http or file"},
      install_dir: {&path?/1, "the path of a folder"},
      node_args: {&strings?/1, ~s(a list of strings such as ["--device", "host"])},
      start_timeout: {&positive?/1, "a number of milliseconds"},
      tls: {&Keyword.keyword?/1, "a list of options of :ssl.connect/3"},
      distribution: one_of([:vm, :own]),
      label: {&text?/1, "a text"},
      allow_shaders: {&is_boolean/1, "true or false"},
      matrix: one_of([:hardware, :ordered]),
      mesh:
        {&Options.places?/1,
         ~s(a list of places such as [[server: :"nxvk@one", device: 0], [server: :"nxvk@two", device: 0]])},
      vm_limit: {&index?/1, "a number of elements"},
      add_backend_on_inspect: {&is_boolean/1, "true or false"},
      check_shape_and_type: {&is_boolean/1, "true or false"}
    ]
  end

  defp one_of(values), do: {&(&1 in values), "one of #{Enum.map_join(values, ", ", &inspect/1)}"}

  defp name?(value), do: is_atom(value) and value not in [true, false]
  defp text?(value), do: name?(value) or (is_binary(value) and String.valid?(value))
  defp index?(value), do: is_integer(value) and value >= 0
  defp positive?(value), do: is_integer(value) and value > 0
  defp bound?(value), do: positive?(value) or value == :infinity
  defp path?(value), do: (is_binary(value) and value != "") or (value != [] and charlist?(value))
  defp charlist?(value), do: is_list(value) and List.ascii_printable?(value)
  defp url?(value), do: is_binary(value) and value =~ ~r"^(https?|file)://"
  defp strings?(value), do: is_list(value) and Enum.all?(value, &is_binary/1)

  # What a session is opened with has no value that stands for none.
  @session [:limit, :deadline, :weight]

  @doc "Returns a configured value, or the default. Raises `ArgumentError` where it is none of the key's."
  @spec get(atom, term) :: term
  def get(key, default \\ nil) do
    case Application.fetch_env(:nx_vulkan_go, key) do
      {:ok, value} ->
        if value == nil and key not in @session, do: default, else: valid!(key, value)

      :error ->
        default
    end
  end

  @doc "Raises `ArgumentError` where a configured value is none of its key's."
  @spec check!() :: :ok
  def check!, do: Enum.each(keys(), &get/1)

  @doc "Returns the value. Raises `ArgumentError` where it is none of the key's."
  @spec valid!(atom, term) :: term
  def valid!(key, value) do
    {valid?, expected} = table()[key]

    if not valid?.(value) do
      raise ArgumentError,
            "config :nx_vulkan_go, #{key}: must be #{expected}, got: #{inspect(value)}"
    end

    value
  end
end
