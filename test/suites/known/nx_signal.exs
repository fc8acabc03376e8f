last_digits =
  "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"

captured = "Nx lifts captured tensors of Nx.BinaryBackend alone into a numerical definition"

%{
  "nx_signal/convolutions_test" => %{
    {:maybe, last_digits} => [
      "doctest NxSignal.Convolution.fftconvolve/3 (3)"
    ]
  },
  "nx_signal/filters_test" => %{
    {:maybe, last_digits} => [
      "wiener/2 performs n-dim wiener filter with calculated noise"
    ]
  },
  "nx_signal/peak_finding_test" => %{
    captured => [
      "doctest NxSignal.PeakFinding.argrelextrema/3 (8)"
    ]
  },
  "nx_signal/waveforms_test" => %{
    {:maybe, last_digits} => [
      "doctest NxSignal.Waveforms.chirp/5 (5)"
    ]
  },
  "nx_signal_test" => %{
    {:maybe, last_digits} => [
      "doctest NxSignal.istft/3 (12)",
      "doctest NxSignal.stft_to_mel/3 (9)"
    ]
  }
}
