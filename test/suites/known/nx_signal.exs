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
      "doctest NxSignal.Waveforms.chirp/5 (5)",
      "doctest NxSignal.Waveforms.gaussian_pulse/2 (3)",
      "doctest NxSignal.Waveforms.gaussian_pulse/2 (4)",
      "doctest NxSignal.Waveforms.polynomial_sweep/3 (6)"
    ]
  },
  "nx_signal/windows_test" => %{
    {:maybe, last_digits} => [
      "doctest NxSignal.Windows.blackman/2 (6)",
      "doctest NxSignal.Windows.hann/2 (9)"
    ]
  },
  "nx_signal_test" => %{
    {:maybe, last_digits} => [
      "doctest NxSignal.istft/3 (12)",
      "doctest NxSignal.stft_to_mel/3 (9)"
    ]
  }
}
