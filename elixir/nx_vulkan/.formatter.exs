[
  import_deps: [:nx],
  inputs: ["{mix,.formatter}.exs", "{lib,test}/**/*.{ex,exs}"]
]
