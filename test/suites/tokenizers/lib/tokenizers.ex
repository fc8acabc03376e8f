defmodule Tokenizers do
  @moduledoc """
  Stands in for tokenizers, whose NIF needs Rust: models of Bumblebee are built, initialised
  and run without it.
  """
end
