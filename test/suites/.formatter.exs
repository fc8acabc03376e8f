[inputs: ["{mix,.formatter}.exs", "{config,lib,known}/**/*.{ex,exs}"]]
