defmodule NxVulkanGo.Served do
  @moduledoc false
  # An `nxvk-node run` of a test, on the host device. It ends with the process that starts it.

  import ExUnit.Assertions

  @own ~w(--device host --exit-on-eof --cache-dir -)

  @doc """
  Starts a server with these arguments of `run`, and returns its name and port when it is
  ready. Options are those of `Port.open/2`, and `:under`, a command before the program's.
  """
  @spec start!([String.t()], keyword) :: {String.t(), String.t()}
  def start!(args, options \\ []) do
    {under, options} = Keyword.pop(options, :under, [])
    program = NxVulkanGo.Launcher.Executable.find!()
    [first | rest] = under ++ [program, "run" | args] ++ @own
    line = [:binary, :exit_status, :stderr_to_stdout, line: 16_384, args: rest]
    await(Port.open({:spawn_executable, System.find_executable(first)}, line ++ options), [])
  end

  defp await(port, said) do
    receive do
      {^port, {:data, {_, "nxvk ready " <> ready}}} -> ready |> String.split() |> List.to_tuple()
      {^port, {:data, {_, line}}} -> await(port, [line | said])
      {^port, {:exit_status, status}} -> flunk("ended with #{status}: #{Enum.reverse(said)}")
    end
  end
end
