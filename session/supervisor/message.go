package supervisor

import (
	"os"
	"strings"
	"time"

	"fumehood/session"
	"fumehood/session/agent"
	"fumehood/session/term"
	"fumehood/session/wire"
)

const (
	// messageLook is how often a kept message looks whether the agent waits. Nobody
	// looks while none is kept: an idle session sleeps.
	messageLook = time.Second
	// typingRest is how long a person must have typed nothing.
	typingRest = 1500 * time.Millisecond
	// quietRest is how long an agent that never says that it waits must have
	// written nothing.
	quietRest = 2 * time.Second
)

// defaultSend hands a message to a program of which nothing is known: as an
// agent takes one.
var defaultSend = agent.Send{Paste: true, Pause: time.Second}

// message types what is kept for the agent, now or once it waits.
func (s *supervisor) message() (wire.Reply, error) {
	t := s.screen()
	switch {
	case t == nil && s.start.TTY: // it has not begun; await looks for it then
		return wire.Reply{Text: session.KeptWaits}, nil
	case t == nil:
		return wire.Reply{Text: session.KeptResume}, nil
	}
	s.msgMu.Lock()
	defer s.msgMu.Unlock()
	typed, left, err := s.deliver(t)
	if err != nil {
		return wire.Reply{}, err
	}
	if left {
		s.awaitLocked(t)
	}
	if typed {
		return wire.Reply{Text: session.SentTyped}, nil
	}
	return wire.Reply{Text: session.KeptWaits}, nil
}

// await looks for a kept message at the start of the session's own command.
func (s *supervisor) await(t *term.Terminal) {
	if _, err := os.Lstat(s.dir.Message()); err != nil {
		return // as nearly always
	}
	s.msgMu.Lock()
	defer s.msgMu.Unlock()
	s.awaitLocked(t)
}

// awaitLocked starts the one goroutine that hands a kept message over when the
// agent waits; it ends with the message or the session. msgMu is held.
func (s *supervisor) awaitLocked(t *term.Terminal) {
	if s.msgWaits {
		return
	}
	s.msgWaits = true
	s.conns.Add(1)
	go func() {
		defer s.conns.Done()
		look := time.NewTicker(messageLook)
		defer look.Stop()
		for {
			select {
			case <-s.endOnce:
				return
			case <-look.C:
			}
			if s.look(t) {
				return
			}
		}
	}()
}

// look hands a kept message over if it can, and tells whether that was all.
func (s *supervisor) look(t *term.Terminal) (done bool) {
	s.msgMu.Lock()
	defer s.msgMu.Unlock()
	_, left, err := s.deliver(t)
	if err != nil {
		s.log.Printf("message to the agent: %v", err)
		_ = s.event("send", "the comments can't be handed over: "+err.Error(), nil)
	}
	s.msgWaits = left && err == nil
	return !s.msgWaits
}

// deliver types the kept message if there is one and the agent waits. left says
// that one is kept still. msgMu is held.
func (s *supervisor) deliver(t *term.Terminal) (typed, left bool, err error) {
	m, err := session.PendingMessage(s.dir)
	if m == nil || err != nil {
		return false, false, err
	}
	if !takes(t, s.start.Waits, time.Now()) {
		return false, true, nil
	}
	if err := s.say(t, m.Text); err != nil {
		return false, true, err
	}
	return true, m.More > 0, session.MessageSent(s.dir, m, time.Now())
}

// say types a text as the agent's profile wants it, and enters it.
func (s *supervisor) say(t *term.Terminal, text string) error {
	how := defaultSend
	if s.start.Send != nil {
		how = *s.start.Send
	}
	brackets := false
	t.Look(func(sc *term.Screen) { brackets = sc.Pastes() })
	if !how.Paste || !brackets {
		text = oneLine(text) // each line end would be an Enter
	}
	if err := t.Paste(text); err != nil {
		return err
	}
	select {
	case <-time.After(how.Pause):
	case <-s.endOnce:
		return term.ErrEnded
	}
	return t.Key(term.Key{Code: term.KeyEnter})
}

// takes tells whether an agent would take a message now: it said that it waits,
// or, when it is one that never says so, it is quiet and reads pastes. A person
// who is typing comes first: an agent may say again that it waits meanwhile.
func takes(t *term.Terminal, w *agent.Waits, now time.Time) bool {
	out, in := t.Activity()
	if t.Draft() || now.Sub(in) < typingRest {
		return false
	}
	if w == nil || len(w.Signals) > 0 {
		return waits(t)
	}
	pastes := false
	t.Look(func(sc *term.Screen) { pastes = sc.Pastes() })
	return pastes && now.Sub(out) >= quietRest
}

// oneLine joins the lines of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
