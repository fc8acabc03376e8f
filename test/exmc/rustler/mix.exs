defmodule Rustler.MixProject do
  use Mix.Project

  def project, do: [app: :rustler, version: "0.36.0"]
end
