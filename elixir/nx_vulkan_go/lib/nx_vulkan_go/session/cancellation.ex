defmodule NxVulkanGo.Session.Cancellation do
  @moduledoc false
  # Finds runs with loops to cancel. Such a run may take any time. When nothing refers to any
  # of its results, and no instruction has used one, nobody needs it: its caller may have been
  # killed. Cancelling a run that has ended does nothing.
  #
  # A map from each result to its run, and from {:results, run} to the results that are left.

  @type t :: %{pos_integer => pos_integer, {:results, pos_integer} => [pos_integer]}

  @doc "Tracks a run that has been sent, with these results."
  @spec track(t, [pos_integer]) :: t
  def track(loops, []), do: loops

  def track(loops, [run | _] = ids),
    do: Enum.reduce(ids, Map.put(loops, {:results, run}, ids), &Map.put(&2, &1, run))

  @doc "Stops tracking runs whose results are operands of these instructions."
  @spec untrack_used(t, [tuple]) :: t
  def untrack_used(loops, _instructions) when loops == %{}, do: loops

  def untrack_used(loops, instructions) do
    for {_op, _results, operands, _attrs} <- instructions, id <- operands, reduce: loops do
      loops when is_map_key(loops, id) -> untrack(loops, id)
      loops -> loops
    end
  end

  @doc "Stops tracking the run of a result that another BEAM node has."
  @spec untrack(t, pos_integer) :: t
  def untrack(loops, id) do
    with %{^id => run} <- loops do
      {ids, loops} = Map.pop!(loops, {:results, run})
      Map.drop(loops, ids)
    end
  end

  @doc "Notes that values were freed; returns the instructions that cancel runs."
  @spec release(t, [pos_integer]) :: {t, [tuple]}
  def release(loops, _ids) when loops == %{}, do: {loops, []}

  def release(loops, ids) do
    {loops, runs} =
      for id <- ids, is_map_key(loops, id), reduce: {loops, []} do
        {loops, runs} -> left(Map.pop!(loops, id), id, runs)
      end

    {loops, if(runs == [], do: [], else: [{:cancel, [], [], [runs]}])}
  end

  defp left({run, loops}, id, runs) do
    case List.delete(loops[{:results, run}], id) do
      [] -> {Map.delete(loops, {:results, run}), [run | runs]}
      ids -> {Map.put(loops, {:results, run}, ids), runs}
    end
  end
end
