defmodule Suites.Picture do
  @moduledoc """
  Looks for what keeps a specification of Vega-Lite from being drawn: a mark without data, a
  field that its data lack, numbers that are not finite, a type that does not suit its values.
  """

  @compositions ~w(layer hconcat vconcat concat)
  @marks ~w(arc area bar boxplot circle errorband errorbar line point rect rule square text tick trail)
  @channels ~w(x y x2 y2 color fill stroke opacity size shape detail tooltip order text facet row column
               strokeWidth theta xOffset yOffset)
  @types ~w(quantitative nominal ordinal temporal)

  @doc "Lists the faults of a specification; none where it is sound."
  @spec faults(map) :: [String.t()]
  def faults(spec), do: faults(spec, nil, %{})

  # Parts have the data and the channels of what they are in.
  defp faults(spec, data, channels) do
    data = values(spec) || data
    channels = Map.merge(channels, Map.get(spec, "encoding", %{}))
    inner = Enum.flat_map(@compositions, &Map.get(spec, &1, [])) ++ List.wrap(spec["spec"])
    facet = facet(spec["facet"], data)

    cond do
      inner != [] -> facet ++ Enum.flat_map(inner, &faults(&1, data, channels))
      data in [nil, []] -> ["a mark has no data"]
      true -> mark(spec["mark"]) ++ Enum.flat_map(channels, &channel(&1, data))
    end
  end

  defp values(%{"data" => %{"values" => values}}), do: values
  defp values(_spec), do: nil

  defp facet(nil, _data), do: []
  defp facet(facet, data), do: channel({"facet", facet}, data || [])

  defp mark(%{"type" => type}), do: mark(type)
  defp mark(type) when type in @marks, do: []
  defp mark(type), do: ["no mark is #{inspect(type)}"]

  defp channel({name, _}, _data) when name not in @channels, do: ["no channel is #{name}"]

  defp channel({name, %{"field" => field} = channel}, data) do
    lacking = for row <- data, not Map.has_key?(row, field), do: row
    type = channel["type"]

    cond do
      data == [] -> ["#{name}: there are no data"]
      lacking != [] -> ["#{name}: #{field} is not in #{inspect(hd(lacking))}"]
      type == nil and name in ["x2", "y2"] -> numbers(name, field, data)
      type not in @types -> ["#{name}: no type is #{inspect(type)}"]
      type == "quantitative" -> numbers(name, field, data) ++ scale(name, field, channel, data)
      true -> []
    end
  end

  defp channel({_name, %{"aggregate" => "count"}}, _data), do: []
  defp channel({_name, %{"value" => _}}, _data), do: []
  defp channel({name, channel}, _data), do: ["#{name} shows nothing: #{inspect(channel)}"]

  # A float of Elixir is finite; NaN and infinities are atoms.
  defp numbers(name, field, data) do
    case Enum.find(data, &(not is_number(&1[field]))) do
      nil -> []
      row -> ["#{name}: #{field} of #{inspect(row)} is no finite number"]
    end
  end

  defp scale(name, field, %{"scale" => %{"type" => "log"}}, data) do
    if Enum.any?(data, &(is_number(&1[field]) and &1[field] <= 0)),
      do: ["#{name}: #{field} has values of 0 or less on a logarithmic scale"],
      else: []
  end

  defp scale(_name, _field, _channel, _data), do: []
end
