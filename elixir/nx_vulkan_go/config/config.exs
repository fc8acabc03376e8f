import Config

if config_env() == :test do
  config :nx_vulkan_go,
    add_backend_on_inspect: false,
    check_shape_and_type: true
end
