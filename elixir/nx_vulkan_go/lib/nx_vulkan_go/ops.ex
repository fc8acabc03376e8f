defmodule NxVulkanGo.Ops do
  @moduledoc """
  The table of operations, which client and server share.

  A row has the number of operands of an operation, and its attributes in order. The table
  is read from `priv/ops.eterm` when this module is compiled. That file is generated from
  the Go package `ops`, so the repository has one table only.
  """

  @table Application.app_dir(:nx_vulkan_go, "priv/ops.eterm")
         |> then(
           &if(File.exists?(&1), do: &1, else: Path.expand("../../priv/ops.eterm", __DIR__))
         )
  @external_resource @table

  terms =
    for line <- File.stream!(@table),
        (text = line |> String.trim() |> String.trim_trailing(".")) != "" do
      {:ok, tokens, _} = :erl_scan.string(String.to_charlist(text <> "."))
      {:ok, term} = :erl_parse.parse_term(tokens)
      term
    end

  [digest] = for {:digest, digest} <- terms, do: digest

  rows =
    for {:op, name, fields} <- terms, into: %{} do
      {name, fields |> Map.new() |> Map.take([:kind, :arity, :attrs, :results, :doc])}
    end

  @type row :: %{
          kind: atom,
          arity: integer,
          attrs: [{atom, atom, [atom]}],
          results: non_neg_integer,
          doc: String.t()
        }

  @doc "Returns the digest of the table. A server with another table refuses the session."
  @spec digest :: binary
  def digest, do: unquote(digest)

  @rows rows

  @doc "Returns all rows by name."
  @spec all :: %{atom => row}
  def all, do: @rows

  @doc "Returns the row of an operation, or `nil`."
  @spec get(atom) :: row | nil
  def get(name), do: Map.get(@rows, name)
end
