module nxvk

go 1.26

require (
	ergo.services/ergo v1.999.310
	github.com/rs/zerolog v1.33.0
	github.com/vulkan-go/vulkan v0.0.0-20221209234627-c0a353ae26c8
	golang.org/x/time v0.9.0
	gonum.org/v1/gonum v0.16.0
)

replace ergo.services/ergo => github.com/ergo-services/ergo v1.999.310

require (
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.19 // indirect
	golang.org/x/sys v0.12.0 // indirect
)
