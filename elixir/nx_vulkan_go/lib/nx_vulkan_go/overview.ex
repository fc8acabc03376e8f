defmodule NxVulkanGo.Overview do
  @moduledoc """
  The result of `NxVulkanGo.overview/1`: what a server does, in tables for people. It prints as
  text, and in Livebook as tables:

      NxVulkanGo.overview()

      # once a second, until the cell is evaluated again
      Kino.animate(1000, fn _ -> NxVulkanGo.overview() end)

  `NxVulkanGo.LiveDashboard` shows the same tables.
  """

  alias NxVulkanGo.{Configuration, Error, Launcher, Units}

  @enforce_keys [:server, :devices, :sessions, :kernels, :fallbacks, :chains]
  defstruct @enforce_keys

  @typedoc """
  A list of maps for each table. Bytes and counts are integers, times are seconds.
  """
  @type t :: %__MODULE__{
          server: node,
          devices: [map],
          sessions: [map],
          kernels: [map],
          fallbacks: [map],
          chains: [map]
        }

  @columns [
    devices: [
      index: "Device",
      name: "Name",
      kind: "Kind",
      driver: "Driver",
      used: "Memory used",
      memory: "Memory",
      sessions: "Sessions",
      queued: "Messages queued"
    ],
    sessions: [
      device: "Device",
      label: "Label",
      owner: "Process",
      bytes: "Bytes",
      buffers: "Values",
      waiting: "Queue",
      waits_for: "Waits for"
    ],
    kernels: [
      device: "Device",
      op: "First run by",
      name: "Kernel",
      dispatches: "Dispatches",
      seconds: "Device time"
    ],
    fallbacks: [
      device: "Device",
      instructions: "Instructions",
      host: "On the host",
      fallbacks: "Because the device cannot",
      refused: "Kernels the driver refused",
      failed: "Failed"
    ],
    chains: [
      device: "Device",
      label: "Label",
      run: "Run",
      chain: "Chain",
      warmup: "Warm-up",
      warmup_of: "of",
      draws: "Draws",
      draws_of: "of",
      divergent: "Divergent",
      steps: "Leapfrog steps",
      step_size: "Step size"
    ]
  ]

  # Of kernels an overview has the first ones.
  @kernels 10

  @doc false
  # Raises NxVulkanGo.Error where the server cannot be reached.
  def new(options) do
    tables = for {name, _} <- @columns, do: {name, table(name, options)}
    overview = struct!(__MODULE__, [{:server, NxVulkanGo.connect(options)} | tables])
    %{overview | kernels: Enum.take(overview.kernels, @kernels)}
  end

  @doc "Returns the title, the header and the cells of each table that has rows, as text."
  @spec tables(t) :: [{String.t(), [String.t()], [[String.t()]]}]
  def tables(%__MODULE__{} = overview) do
    for {name, columns} <- @columns, (rows = Map.fetch!(overview, name)) != [] do
      cells = for row <- rows, do: for({key, _} <- columns, do: cell(key, row[key]))
      {String.capitalize("#{name}"), Keyword.values(columns), cells}
    end
  end

  @doc "Formats the tables as text."
  @spec text(t) :: String.t()
  def text(%__MODULE__{} = overview) do
    "#{overview.server}\n" <>
      for {title, header, rows} <- tables(overview), into: "" do
        widths =
          Enum.zip_with(
            [header | rows],
            &(&1 |> Enum.map(fn x -> String.length(x) end) |> Enum.max())
          )

        lines =
          for row <- [header | rows] do
            row
            |> Enum.zip_with(widths, &String.pad_trailing/2)
            |> Enum.join("  ")
            |> String.trim_trailing()
          end

        "\n#{title}\n" <> Enum.map_join(lines, &"  #{&1}\n")
      end
  end

  @doc "Formats a cell of a table."
  @spec cell(atom, term) :: String.t()
  def cell(key, n) when key in [:bytes, :used, :memory], do: Units.bytes(n)
  def cell(:seconds, s), do: seconds(s)
  def cell(:step_size, x), do: "#{Float.round(x, 4)}"
  def cell(_key, nil), do: ""
  def cell(_key, text), do: to_string(text)

  defp seconds(s) when s >= 1, do: "#{Float.round(s, 2)} s"
  defp seconds(s) when s >= 1.0e-3, do: "#{Float.round(s * 1.0e3, 2)} ms"
  defp seconds(s), do: "#{Float.round(s * 1.0e6, 1)} us"

  @doc false
  # Returns `:ok`, or why there is nothing to show. It starts no server.
  @spec state(keyword) :: :ok | String.t()
  def state(options) do
    server = options[:server] || Configuration.get(:server)

    if server || Launcher.os_pid() do
      answer(fn ->
        NxVulkanGo.connect(options)
        :ok
      end)
    else
      "No server runs: the first operation starts one."
    end
  end

  @doc false
  # Returns the rows of a table, or why there are none.
  @spec rows(:devices | :sessions | :kernels | :fallbacks | :chains, keyword) ::
          [map] | String.t()
  def rows(table, options), do: answer(fn -> table(table, options) end)

  @doc false
  # Closes the session of that `:id` in the rows of sessions; returns what happened.
  @spec close(String.t(), keyword) :: String.t()
  def close(id, options) do
    answer(fn ->
      case Enum.find(NxVulkanGo.sessions(options), &(id(&1) == id)) do
        nil ->
          "The session has ended already."

        session ->
          NxVulkanGo.close_session(session, options)
          "The session #{session.label} is closed."
      end
    end)
  end

  defp answer(fun) do
    fun.()
  rescue
    error in Error -> Exception.message(error)
  end

  defp id(%{device: device, pid: pid}), do: "#{device} #{inspect(pid)}"

  defp table(:devices, options) do
    metrics = NxVulkanGo.metrics(options)

    for device <- NxVulkanGo.devices(options) do
      of = fn name -> metrics[name] |> Map.get(device.server, 0.0) |> trunc() end

      device
      |> Map.take([:index, :name, :kind, :driver, :memory])
      |> Map.merge(%{
        used: of.(:device_used_bytes),
        sessions: of.(:sessions),
        queued: of.(:device_queued_messages)
      })
    end
  end

  defp table(:sessions, options) do
    for session <- NxVulkanGo.sessions(options) do
      Map.merge(session, %{id: id(session), owner: inspect(session.pid)})
    end
  end

  defp table(:fallbacks, options) do
    metrics = NxVulkanGo.metrics(options)

    for device <- NxVulkanGo.devices(options) do
      for {field, name} <- [
            instructions: :instructions_total,
            host: :host_instructions_total,
            fallbacks: :fallbacks_total,
            refused: :refused_kernels_total,
            failed: :failed_total
          ],
          into: %{device: device.index},
          do: {field, metrics[name] |> Map.get(device.server, 0.0) |> trunc()}
    end
  end

  defp table(:kernels, options), do: NxVulkanGo.kernels(options)
  defp table(:chains, options), do: NxVulkanGo.chains(options)

  defimpl String.Chars do
    defdelegate to_string(overview), to: NxVulkanGo.Overview, as: :text
  end

  defimpl Inspect do
    def inspect(overview, _opts),
      do: "#NxVulkanGo.Overview<" <> NxVulkanGo.Overview.text(overview) <> ">"
  end
end
