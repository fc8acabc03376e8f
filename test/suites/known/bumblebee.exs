%{
  "bumblebee/text/generation/logits_processing_test" => %{
    {:maybe,
     "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"} =>
      [
        "top_p_processor/3 keeps logits adding up to top-p probability",
        "top_p_processor/3 surpasses top-p if there is no exact match"
      ]
  }
}
