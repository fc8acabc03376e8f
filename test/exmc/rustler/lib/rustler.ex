defmodule Rustler do
  @moduledoc """
  Stands in for rustler where there is no Rust: a module that uses it does not load, as
  one whose NIF is missing, and eXMC builds its trees in Elixir.
  """

  defmacro __using__(_options) do
    quote do
      @on_load :no_nif
      def no_nif, do: {:error, {:load_failed, ~c"there is no NIF here"}}
    end
  end
end
