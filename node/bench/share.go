package bench

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
)

//go:embed share.erl
var shareSource []byte

// Share measures the reads of a session beside others that compute without pause, and the
// shares of these, through the distribution. hogs is the number of others, seconds the time
// of each row. It needs Erlang.
func Share(ctx context.Context, device string, hogs, seconds int) error {
	return inCluster(ctx, &cluster{module: "share", source: shareSource, device: device}, func(c *cluster) error {
		node, err := c.node()
		if err != nil {
			return err
		}
		defer node.stop()
		client, err := c.beam("client", c.name("node"), strconv.Itoa(hogs), strconv.Itoa(seconds))
		if err != nil {
			return err
		}
		defer client.stop()
		for client.lines.Scan() {
			fmt.Println(client.lines.Text())
		}
		return client.lines.Err()
	})
}
