defmodule NxVulkanGo.Launcher.Output do
  @moduledoc false
  # Reads the log of the server: lines of JSON with a level, a message, and other fields.

  @levels %{
    "trace" => :debug,
    "debug" => :debug,
    "info" => :debug,
    "warn" => :warning,
    "error" => :error,
    "fatal" => :error,
    "panic" => :error
  }
  @shown ["level", "message", "time"]

  @doc """
  Returns the level and the text of a line. The level is `:debug` for information about the
  ordinary work of the server, and for lines that are not JSON.
  """
  @spec parse(String.t()) :: {Logger.level(), String.t()}
  def parse(line) do
    case decode(line) do
      {:ok, %{"level" => level} = fields} -> {Map.get(@levels, level, :debug), text(fields)}
      _ -> {:debug, line}
    end
  end

  defp text(fields) do
    rest = for {name, value} <- fields, name not in @shown, do: "#{name}: #{plain(value)}"
    message = to_string(fields["message"])
    if rest == [], do: message, else: "#{message} (#{Enum.join(rest, ", ")})"
  end

  defp plain(value) when is_binary(value), do: value
  defp plain(value), do: inspect(value)

  # JSON came with OTP 27. Before it a line has its level at least.
  if Code.ensure_loaded?(:json) do
    defp decode(line) do
      {:ok, :json.decode(line)}
    rescue
      _ in [ErlangError, ArgumentError] -> :error
    end
  else
    defp decode(line) do
      with [_, level] <- Regex.run(~r/^\{"level":"([a-z]+)"/, line),
           do: {:ok, %{"level" => level, "message" => line}}
    end
  end
end
