package session

import (
	"context"
)

// PreviewSend gives the message that SendComments would hand to the agent now,
// nil when there is nothing to send. Nothing is kept or sent.
func (c *Client) PreviewSend(_ context.Context, id string) (*Message, error) {
	d := c.Root.Dir(id)
	unlock, err := d.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	_, m, err := c.nextMessage(d, "")
	return m, err
}
