import Config

config :nx_vulkan_go, fallback: :raise

if config_env() == :test do
  config :nx_vulkan_go,
    add_backend_on_inspect: false,
    check_shape_and_type: true,
    # What stays in the VM is computed by Nx.BinaryBackend; the suites are of the node.
    vm_limit: 0
end

# Some tests read what is logged; nobody else does.
config :bumblebee, progress_bar_enabled: false

config :logger, :default_handler, false

# The suites start a node of their own, with these arguments, unless these name one.
if args = System.get_env("NXVK_NODE_ARGS") do
  config :nx_vulkan_go, node_args: String.split(args)
end

if server = System.get_env("NXVK_TEST_SERVER") do
  config :nx_vulkan_go,
    server: String.to_atom(server),
    cookie: System.get_env("NXVK_TEST_COOKIE")
end
