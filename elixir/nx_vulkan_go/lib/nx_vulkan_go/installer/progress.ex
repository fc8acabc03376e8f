defmodule NxVulkanGo.Installer.Progress do
  @moduledoc false
  # Shows the progress of a download on standard error: a bar on a terminal and in Livebook,
  # lines elsewhere.

  @width 30
  # Milliseconds between two bars, and between two lines.
  @bar 100
  @line 10_000

  defstruct [:total, count: 0, next: 0]

  @doc "Begins a download of `total` bytes, nil where that is not known."
  def start(total), do: %__MODULE__{total: total, next: now() + pause()}

  @doc "Shows that `bytes` more have come."
  def add(%__MODULE__{} = progress, bytes) do
    progress = %{progress | count: progress.count + bytes}
    if now() >= progress.next, do: show(progress), else: progress
  end

  @doc "Shows the end."
  def finish(%__MODULE__{} = progress) do
    show(progress)
    if IO.ANSI.enabled?(), do: IO.write(:stderr, "\n")
    :ok
  end

  defp show(progress) do
    if IO.ANSI.enabled?(),
      do: IO.write(:stderr, "\r\e[K" <> text(progress)),
      else: IO.puts(:stderr, text(progress))

    %{progress | next: now() + pause()}
  end

  @doc "The bar, or the bytes where their number is not known."
  def text(%{total: total, count: count}) when total in [nil, 0],
    do: "nx_vulkan_go: #{megabytes(count)} MB"

  def text(%{total: total, count: count}) do
    done = min(div(@width * count, total), @width)
    bar = String.pad_trailing(String.duplicate("=", done), @width)
    percent = String.pad_leading("#{div(100 * count, total)}", 3)
    "nx_vulkan_go: [#{bar}] #{percent} % of #{megabytes(total)} MB"
  end

  defp megabytes(bytes), do: :erlang.float_to_binary(bytes / 1.0e6, decimals: 1)
  defp pause, do: if(IO.ANSI.enabled?(), do: @bar, else: @line)
  defp now, do: System.monotonic_time(:millisecond)
end
