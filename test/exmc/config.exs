import Config

# eXMC's settings for tests, and trees in Elixir: its NIF is not built.
import_config Path.expand("config/test.exs", File.cwd!())
config :exmc, use_nif: false
