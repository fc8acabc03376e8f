package bench

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
)

//go:embed share.erl
var shareSource []byte

// Share measures how long a session waits for what it reads beside so many others that
// compute without pause, each for so many seconds, and how equal their shares are. It
// needs Erlang.
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
