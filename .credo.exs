# Credo's checks, all of them (strict), but for what follows. test/credo.exs names its version.
%{
  configs: [
    %{
      name: "default",
      strict: true,
      files: %{
        included: ["lib/", "test/", "config/", "bench/", "mix.exs"],
        excluded: ["/_build/", "/deps/"]
      },
      checks: %{
        extra: [
          # A reduction over the cases of a `case` is three deep and reads well.
          {Credo.Check.Refactor.Nesting, max_nesting: 3},
          # Tests name what they test in full.
          {Credo.Check.Design.AliasUsage,
           priority: :low,
           if_nested_deeper_than: 2,
           if_called_more_often_than: 0,
           files: %{excluded: ["test/", "bench/"]}},
          # Tests compute 0 * x and x - x of infinities and NaN.
          {Credo.Check.Warning.OperationOnSameValues, files: %{excluded: ["test/"]}},
          {Credo.Check.Warning.OperationWithConstantResult, files: %{excluded: ["test/"]}}
        ]
      }
    }
  ]
}
