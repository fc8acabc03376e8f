# A server that tests are given is not theirs to kill.
given = if System.get_env("NXVK_TEST_SERVER"), do: [:launched], else: []

# One that computes all that it can on its device; see the README.
device = if System.get_env("NXVK_TEST_DEVICE"), do: [], else: [:device]

# What is waited for comes soon, except on a machine that does much else.
ExUnit.start(exclude: [:soak | given] ++ device, assert_receive_timeout: 30_000, timeout: 300_000)
