# A server that tests are given is not theirs to kill.
given = if System.get_env("NXVK_TEST_SERVER"), do: [:launched], else: []
ExUnit.start(exclude: [:soak | given])
