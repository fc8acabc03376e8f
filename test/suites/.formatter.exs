[inputs: ["{mix,.formatter}.exs", "{config,lib,known,test}/**/*.{ex,exs}"]]
