import Config

if config_env() == :test do
  config :nx_vulkan_go,
    add_backend_on_inspect: false,
    check_shape_and_type: true,
    fallback: :silent,
    # Tests are of the node; those of small tensors in this VM set it.
    vm_limit: String.to_integer(System.get_env("NXVK_TEST_VM_LIMIT", "0"))

  config :logger, level: :warning

  # Tests start a node of their own, with these arguments, unless these name one.
  if args = System.get_env("NXVK_NODE_ARGS") do
    config :nx_vulkan_go, node_args: String.split(args)
  end

  if server = System.get_env("NXVK_TEST_SERVER") do
    config :nx_vulkan_go,
      server: String.to_atom(server),
      cookie: System.get_env("NXVK_TEST_COOKIE")
  end
end
