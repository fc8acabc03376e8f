defmodule Tokenizers.MixProject do
  use Mix.Project

  def project, do: [app: :tokenizers, version: "0.5.0"]
end
