package session

import (
	"context"
	"time"
)

// Try runs a command on the baseline plus what is approved: see Host.Try.
func (c *Client) Try(ctx context.Context, id string, argv []string) (Tried, error) {
	t, err := c.Host.Try(ctx, c.Root.Dir(id), TryRequest{Argv: argv})
	if t == nil {
		return Tried{}, err
	}
	return *t, err
}

// SendComments hands the unsent comments to the agent: see Host.SendComments.
func (c *Client) SendComments(ctx context.Context, id string) (Sent, error) {
	return c.Host.SendComments(ctx, c.Root.Dir(id), "")
}

// GoneOn tells whether the agent has gone on since a snapshot: see Host.GoneOn.
func (c *Client) GoneOn(ctx context.Context, id string, since time.Time) (bool, error) {
	return c.Host.GoneOn(ctx, c.Root.Dir(id), since)
}
