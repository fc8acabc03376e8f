# Credo's checks, but for what follows. test/credo.exs names its version.
%{
  configs: [
    %{
      name: "default",
      files: %{included: ["lib/", "test/", "mix.exs"], excluded: ["/_build/", "/deps/"]},
      checks: %{
        extra: [
          # A reduction over the cases of a `case` is three deep and reads well.
          {Credo.Check.Refactor.Nesting, max_nesting: 3},
          # Tests compute 0 * x and x - x of infinities and NaN.
          {Credo.Check.Warning.OperationOnSameValues, files: %{excluded: ["test/"]}},
          {Credo.Check.Warning.OperationWithConstantResult, files: %{excluded: ["test/"]}}
        ],
        # `with` reads as a sequence of what must hold, also where it has one clause.
        disabled: [{Credo.Check.Readability.WithSingleClause, []}]
      }
    }
  ]
}
