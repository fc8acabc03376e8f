defmodule NxVulkanGo.Telemetry do
  @moduledoc """
  Lists the telemetry events of this package.

  | event | measurements | metadata |
  |---|---|---|
  | `[:nx_vulkan_go, :upload, :start]` | `system_time`, `monotonic_time` | `server`, `device` |
  | `[:nx_vulkan_go, :upload, :stop]` | `duration`, `monotonic_time`, `bytes` | `server`, `device` |
  | `[:nx_vulkan_go, :upload, :exception]` | `duration`, `monotonic_time` | and `kind`, `reason`, `stacktrace` |
  | `[:nx_vulkan_go, :download, :start]` | `system_time`, `monotonic_time` | `server`, `device` |
  | `[:nx_vulkan_go, :download, :stop]` | `duration`, `monotonic_time`, `bytes` | `server`, `device` |
  | `[:nx_vulkan_go, :download, :exception]` | `duration`, `monotonic_time` | and `kind`, `reason`, `stacktrace` |
  | `[:nx_vulkan_go, :compile, :start]` | `system_time`, `monotonic_time` | `function` |
  | `[:nx_vulkan_go, :compile, :stop]` | `duration`, `monotonic_time` | `function` |
  | `[:nx_vulkan_go, :compile, :exception]` | `duration`, `monotonic_time` | and `kind`, `reason`, `stacktrace` |
  | `[:nx_vulkan_go, :run, :start]` | `system_time`, `monotonic_time` | `key`, `device` |
  | `[:nx_vulkan_go, :run, :stop]` | `duration`, `monotonic_time` | `key`, `device` |
  | `[:nx_vulkan_go, :run, :exception]` | `duration`, `monotonic_time` | and `kind`, `reason`, `stacktrace` |
  | `[:nx_vulkan_go, :hook]` | `elapsed`, `interval`, `count` | `name`, `key`, `server`, `device` |
  | `[:nx_vulkan_go, :compiler, :fallback]` | `count` | `function`, `reason` |
  | `[:nx_vulkan_go, :fallback]` | `count` | `op`, `type`, `reason` |
  | `[:nx_vulkan_go, :connection, :up]` | `count` | `server`, `device`, `incarnation` |
  | `[:nx_vulkan_go, :connection, :down]` | `count` | `server`, `device`, `incarnation`, `reason` |
  | `[:nx_vulkan_go, :memory, :sweep]` | `freed`, `live` | `server`, `device`, `reason` |
  | `[:nx_vulkan_go, :shader, :lag]` | `count` | `path`, `key` |
  | `[:nx_vulkan_go, :node, :spans]` | `duration` (nanoseconds) | `server`, `device`, `incarnation`, `context`, `span` |
  | `[:nx_vulkan_go, :error]` | `count` | `server`, `device`, `error` |

    * uploads of less than a kilobyte and constants have no events. An upload stops when it
      has been sent; it takes longer where the device is far behind
    * `freed` and `live` of a sweep count the tensors of one tracker, a process that watches
      for garbage; `reason` is `:routine` or `:pressure`
    * a run stops when it has been sent and the functions that it calls have returned. The
      device may take longer. A call that is computed in this VM has no events
    * the values of a hook come `elapsed` after the start of their run and `interval` after the values
      before them, or after the start; `count` numbers them from 1. Bumblebee tells each token by the
      hook `:token`: where `count` is 1, `elapsed` is the time to the first token, and `interval` is
      the time between tokens from then on. The times are in native units
    * spans of the node come for runs and downloads of a sampled trace, where
      `NxVulkanGo.OpenTelemetry` is set up. `context` is the W3C traceparent of the request; `span`
      is a map as in "Where time goes" of the node's protocol
    * a shader lags where its log density is that of the position before the step
      (`Nx.Vulkan.NativeV`); the event comes once for each shader
  """

  @doc false
  def execute(event, measurements, metadata) do
    :telemetry.execute([:nx_vulkan_go | event], measurements, metadata)
  end

  @doc false
  def span(event, metadata, fun) do
    :telemetry.span([:nx_vulkan_go | event], metadata, fn -> {fun.(), metadata} end)
  end

  @doc false
  # Like :telemetry.span/3; the function gives its result and how many bytes moved, which
  # are a measurement.
  def transfer(event, metadata, fun) do
    :telemetry.span([:nx_vulkan_go, event], metadata, fn ->
      {result, bytes} = fun.()
      {result, %{bytes: bytes}, metadata}
    end)
  end
end
