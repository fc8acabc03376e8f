# Runs Credo, by the configuration .credo.exs, on a package; outside of its project, so
# that the package does not depend on it.
#
#   elixir test/credo.exs FOLDER
#
# It ends with 75 where Credo cannot be installed from Hex, and its last line says why; else it
# ends as Credo does.
[folder] = System.argv()

try do
  Mix.install([{:credo, "1.7.19"}])
rescue
  error ->
    why = error |> Exception.message() |> String.split("\n", trim: true) |> List.first()
    IO.puts("Credo cannot be installed from Hex: #{why}")
    System.halt(75)
end

config = Path.expand("../.credo.exs", __DIR__)
apply(Credo.CLI, :main, [["suggest", "--config-file", config, "--working-dir", folder]])
