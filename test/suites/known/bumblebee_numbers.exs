%{
  "numbers/bumblebee_test" => %{
    "Bumblebee lists an architecture that its model does not have" => [
      "Bumblebee.Text.Albert :for_pre_training"
    ],
    {:maybe, "Nx.BinaryBackend raises for the inverse root of a variance that is 0 in f16"} => [
      "Bumblebee.Vision.Vit of f16"
    ]
  }
}
