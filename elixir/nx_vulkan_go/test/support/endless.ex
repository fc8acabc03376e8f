defmodule NxVulkanGo.Endless do
  @moduledoc false
  # Loops without end, and the wait until nothing runs.

  import ExUnit.Assertions
  import Nx.Defn

  @doc "Turns for ever where `x` is positive, with a hook `:turn` each time."
  defn turning(x) do
    while x, x > 0 do
      told(x + 1 - 1)
    end
  end

  # Later releases than Nx 0.13 have hook under another name.
  if Code.ensure_loaded?(Nx.Defn.Kernel) and function_exported?(Nx.Defn.Kernel, :io_call, 2) do
    defnp told(x), do: io_call(x, :turn)
  else
    defnp told(x), do: hook(x, :turn)
  end

  @doc "Takes the sine again and again, and tells nobody."
  defn sine(x) do
    {x, _} =
      while {x, i = 0}, i < 1 do
        {Nx.sin(x), i * 1}
      end

    x
  end

  @doc "Waits for all that runs, so for ever where a run does not end."
  def await_all do
    assert :ok = Task.await(Task.async(fn -> NxVulkanGo.sync() end), 30_000)
    assert Nx.to_flat_list(Nx.add(Nx.iota({3}), 1)) == [1, 2, 3]
  end
end
