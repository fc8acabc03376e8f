# A server that tests are given is not theirs to kill.
given = if System.get_env("NXVK_TEST_SERVER"), do: [:launched], else: []

# What is waited for comes soon, except on a machine that does much else.
ExUnit.start(exclude: [:soak | given], assert_receive_timeout: 30_000, timeout: 300_000)
