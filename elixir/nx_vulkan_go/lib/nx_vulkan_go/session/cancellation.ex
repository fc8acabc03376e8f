defmodule NxVulkanGo.Session.Cancellation do
  @moduledoc false
  # Runs with loops, which may take any time, and what has become of their results.
  # When nobody refers to any of these, and no instruction has worked on one, the
  # run is of no use to anybody: its caller may have been killed. Then it is
  # cancelled; where it has ended long ago, that is nothing.
  #
  # A map of each result to its run, and of {:results, run} to those that are left.

  @type t :: %{pos_integer => pos_integer, {:results, pos_integer} => [pos_integer]}

  @doc "A run has been sent, with these results."
  @spec track(t, [pos_integer]) :: t
  def track(loops, []), do: loops

  def track(loops, [run | _] = ids),
    do: Enum.reduce(ids, Map.put(loops, {:results, run}, ids), &Map.put(&2, &1, run))

  @doc "Instructions have been sent; those that work on a result want its run."
  @spec untrack_used(t, [tuple]) :: t
  def untrack_used(loops, _instructions) when loops == %{}, do: loops

  def untrack_used(loops, instructions) do
    for {_op, _results, operands, _attrs} <- instructions, id <- operands, reduce: loops do
      loops when is_map_key(loops, id) -> untrack(loops, id)
      loops -> loops
    end
  end

  @doc "Somebody else has a result: its run goes on."
  @spec untrack(t, pos_integer) :: t
  def untrack(loops, id) do
    with %{^id => run} <- loops do
      {ids, loops} = Map.pop!(loops, {:results, run})
      Map.drop(loops, ids)
    end
  end

  @doc "Values have been let go of; gives the instructions that end runs."
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
