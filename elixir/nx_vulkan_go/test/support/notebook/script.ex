defmodule NxVulkanGo.Script do
  @moduledoc false
  # A script, run by an Elixir of its own with the packages of this one.

  @doc "Runs a script; returns what it prints and its exit status."
  @spec run(Path.t(), [{String.t(), String.t() | nil}]) :: {String.t(), non_neg_integer}
  def run(path, env) do
    paths = for path <- :code.get_path(), arg <- ["-pa", to_string(path)], do: arg
    start = "{:ok, _} = Application.ensure_all_started(:nx_vulkan_go)"
    System.cmd("elixir", paths ++ ["-e", start, "-r", path], env: env, stderr_to_stdout: true)
  end
end
