package egress

import (
	"slices"
	"sync"

	"fumehood/isolate/egress/account"
)

// maxAttached is how many secrets are searched for: the newest ones that were
// attached in the session. An old one that was rotated may still be good.
const maxAttached = 64

// cutters are the secrets that were attached in a session so far, whatever the
// destination, and the cutters for them: making one costs more than a small
// request, and they change only with a new secret.
type cutters struct {
	mu   sync.Mutex
	list []attached                 // the newest last
	made map[string]*account.Cutter // by the account that is left out
}

// attached is one of them. text is what was attached where it is encoded: of a
// user and a password in base64 none of it is the secret's own form once it is
// encoded again, and whoever reads it takes that off.
type attached struct{ account, secret, text string }

// add notes a secret that is about to be sent.
func (c *cutters) add(a attached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.list, a)
	if i >= 0 {
		if i < len(c.list)-1 {
			c.list = append(slices.Delete(c.list, i, i+1), a) // the set is the same
		}
		return
	}
	if c.list = append(c.list, a); len(c.list) > maxAttached {
		c.list = slices.Delete(c.list, 0, 1)
	}
	c.made = nil
}

// but is the cutter for all that are not one account's; empty leaves none out.
func (c *cutters) but(name string) *account.Cutter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.made[name]; k != nil {
		return k
	}
	var secrets []string
	for _, a := range c.list {
		if a.account != name {
			secrets = append(secrets, a.secret, a.text)
		}
	}
	if c.made == nil {
		c.made = map[string]*account.Cutter{}
	}
	c.made[name] = account.NewCutter(secrets...)
	return c.made[name]
}
