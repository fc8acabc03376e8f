# Runs Credo, by the configuration .credo.exs, on a package; outside of its project, so
# that the package does not depend on it.
#
#   elixir test/credo.exs FOLDER
#
# It ends with 75 where Credo cannot be fetched from Hex, else as Credo does.
[folder] = System.argv()

try do
  Mix.install([{:credo, "1.7.19"}])
rescue
  error ->
    IO.puts(Exception.message(error))
    System.halt(75)
end

config = Path.expand("../.credo.exs", __DIR__)
apply(Credo.CLI, :main, [["suggest", "--config-file", config, "--working-dir", folder]])
