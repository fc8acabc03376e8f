%{
  "exla/defn/expr_test" => %{
    "an index out of bounds is an error as on Nx.BinaryBackend, where XLA takes the nearest one" =>
      ["gather 1d result"],
    "options of EXLA are ignored" => ["precision raises on bad precision"]
  },
  "exla/defn/runtime_call_test" => %{
    "asks for the platforms of XLA" => [
      "runtime_call with CUDA client fails when CUDA not available"
    ]
  },
  "exla/defn/api_test" => %{
    "what EXLA logs, counts or keeps on disk" => [
      "options logs when debugging",
      "disk cache reads and writes",
      "telemetry executes event when function is compiled"
    ],
    {:maybe,
     "independent hooks run in the order in which Nx.Defn.Evaluator meets them; Nx has renamed the test"} =>
      [
        "executes independent hooks in program order",
        "io_calls executes independent io_calls in program order"
      ]
  }
}
