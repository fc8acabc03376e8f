defmodule Mix.Tasks.Suite do
  @shortdoc "Runs a file of another package's tests on NxVulkanGo"

  @moduledoc """
      mix suite                       the files there are
      mix suite nx nx/lin_alg_test    one of them
      mix suite nx nx_test --verbose  with the text of the known failures
      mix suite nx nx_test --control  on Nx.BinaryBackend by Nx.Defn.Evaluator, where nothing
                                      is known to fail
      mix suite nx nx_test --slowest 20   and the tests that took longest, in milliseconds
      mix suite nx nx_test --test "random_uniform/1 generates with shape"   one test of it
      mix suite nx nx_test --timeout 3600  seconds that a test may take, for those that compute much on a
                                      device (600)

  The outcome is printed in the form that `test/count` reads.
  """
  use Mix.Task

  @impl true
  def run(args) do
    Mix.Task.run("app.start")

    {options, args} =
      OptionParser.parse!(args,
        strict: [
          verbose: :boolean,
          control: :boolean,
          slowest: :integer,
          test: :keep,
          timeout: :integer
        ]
      )

    case args do
      [] -> for name <- Suites.names(), file <- Suites.files(name), do: IO.puts("#{name} #{file}")
      [name, file] -> run(name, file, options)
    end
  end

  defp run(name, file, options) do
    {place, known} =
      if options[:control],
        do: {{Nx.BinaryBackend, Nx.Defn.Evaluator}, %{}},
        else: {{NxVulkanGo.Backend, Suites.compiler(name)}, Suites.Known.read(name, file)}

    tests = for {:test, test} <- options, do: test
    known = if tests == [], do: known, else: Map.take(known, tests)

    name
    |> Suites.run(file, place, [timeout: 1000 * (options[:timeout] || 600)] ++ only(tests))
    |> report(known, name, file, options)
  end

  defp only([]), do: [include: [:integration]]

  # The name of an example of documentation begins with "doctest" and not with "test".
  defp only(tests) do
    names = for test <- tests, name <- ["test #{test}", test], do: {:test, String.to_atom(name)}
    [exclude: [:test], include: names]
  end

  defp report(outcomes, known, name, file, options) do
    {lines, summary} = Suites.Known.compare(outcomes, known, options[:verbose] == true)
    Enum.each(lines, &IO.puts/1)

    for {test, time} <- Suites.Outcomes.slowest(options[:slowest] || 0),
        do: IO.puts("#{time} ms: #{test}")

    IO.puts("#{summary.verdict} #{name} #{file}: #{summary.text}")
  end
end
