# For `mix credo` in either package.
%{
  configs: [
    %{
      name: "default",
      strict: true,
      files: %{
        included: ["lib/", "test/", "config/", "bench/", "mix.exs"],
        excluded: [~r"/_build/", ~r"/deps/"]
      },
      checks: %{
        extra: [
          # Generated callbacks and traversals of expressions have one level more.
          {Credo.Check.Refactor.Nesting, max_nesting: 3},
          # Tests name what they test in full, and compute with loops that change nothing.
          {Credo.Check.Design.AliasUsage,
           priority: :low,
           if_nested_deeper_than: 2,
           if_called_more_often_than: 0,
           files: %{excluded: ["test/", "bench/"]}},
          {Credo.Check.Warning.OperationOnSameValues, files: %{excluded: ["test/"]}},
          {Credo.Check.Warning.OperationWithConstantResult, files: %{excluded: ["test/"]}}
        ]
      }
    }
  ]
}
