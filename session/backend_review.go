package session

import "context"

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
